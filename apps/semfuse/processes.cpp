#include "processes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "semfuse/error.h"
#include "terminal.h"
#ifdef SEMFUSE_MPI
#include "mpi/mpi_exchange.h"
#endif

namespace semfuse {
namespace {

std::optional<unsigned long> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  return end == text || *end != '\0' ? std::nullopt : std::optional(number);
}

struct Launch {
  unsigned long processes = 1;
  unsigned long rank = 0;
};

// As the launcher says it, before MPI is asked. A batch script of Slurm has SLURM_NTASKS too, and is one process.
Launch launch() {
  for (const auto& [size, rank] : {std::pair{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                   {"PMI_SIZE", "PMI_RANK"},
                                   {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}}) {
    if (const auto number = number_in(size)) return {*number, number_in(rank).value_or(0)};
  }
  const auto slurm = number_in("SLURM_NTASKS"), place = number_in("SLURM_PROCID");
  return slurm && place.value_or(0) > 0 ? Launch{*slurm, *place} : Launch{};
}

#ifdef SEMFUSE_MPI

constexpr double kPatience = 3.0;  // Seconds for the others to fail too.
constexpr int kProcessFailure = 2;

int run_with_mpi(const std::function<int(std::shared_ptr<Exchange>)>& command) {
  const auto exchange = std::make_shared<MpiExchange>();
  std::string failure;
  bool is_lost = false;               // Another one failed,
  std::optional<std::size_t> silent;  // and this one without a word.
  try {
    if (exchange->size() == 1) {
      throw Error(
          fmt::format("{} processes were started, but MPI sees one; start them with the mpirun of the MPI that "
                      "semfuse was built with, or with `srun --mpi=pmix`",
                      launch().processes));
    }
    const int code = command(exchange);
    // A launcher takes any other code for a failure, so one process tells it.
    return exchange->rank() == 0 ? code : 0;
  } catch (const BrokenPipe&) {
    exchange->abort(141);
  } catch (const LostProcess& error) {
    failure = error.what();
    is_lost = true;
    silent = error.rank();
  } catch (const std::bad_alloc&) {
    failure = "not enough memory; ask for less";
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (silent) {  // The launcher ends all others in a moment.
    if (exchange->rank() == (*silent == 0 ? 1 : 0)) notify(failure);
    exchange->abort(kProcessFailure);
  }
  const auto words = exchange->last_words((is_lost ? "?" : "!") + failure, kPatience);
  if (!words) {
    if (!is_lost) notify(fmt::format("rank {} on {}: {}", exchange->rank(), exchange->host(exchange->rank()), failure));
    exchange->abort(kProcessFailure);
  }
  if (exchange->rank() > 0) return 0;
  std::size_t speaker = 0;
  for (std::size_t rank = exchange->size(); rank-- > 0;) {
    if ((*words)[rank].starts_with('!')) speaker = rank;
  }
  const std::string said = (*words)[speaker].substr(1);
  notify(speaker == 0 ? said : fmt::format("rank {} on {}: {}", speaker, exchange->host(speaker), said));
  return kProcessFailure;
}

#endif

}  // namespace

bool is_follower() {
  return launch().processes > 1 && launch().rank > 0;
}

int run_in_processes(const std::function<int(std::shared_ptr<Exchange>)>& command) {
  if (launch().processes <= 1) return command(std::make_shared<LocalExchange>());
#ifdef SEMFUSE_MPI
  return run_with_mpi(command);
#else
  if (is_follower()) return 2;
  throw Error(
      fmt::format("{} processes were started, but this build of semfuse has no MPI; configure it with "
                  "-DSEMFUSE_MPI=ON (scripts/install-deps mpi installs it), or start one process",
                  launch().processes));
#endif
}

}  // namespace semfuse
