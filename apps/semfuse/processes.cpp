#include "processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "interrupt.h"
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

constexpr double kPatience = 3.0;       // Seconds for the others to fail too,
constexpr double kShortPatience = 0.4;  // and if the launcher kills this one in a moment.
constexpr int kProcessFailure = 2;
constexpr int kProcessLost = 75;  // "Try again", as sysexits.h has it.

// Another process has ended without a word, while this one computes or waits.
[[noreturn]] void end_after(const MpiExchange& exchange, std::size_t lost, bool speaks, const HowToGoOn& how_to_go_on) {
  try {
    if (speaks) {
      notify(fmt::format("rank {} on {} has ended before its work was done; {}", lost, exchange.host(lost),
                         how_to_go_on()));
    }
  } catch (...) {  // There is nowhere to say it; the exit code does.
  }
  // So that all see the first that ended, and none tells of others.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::_exit(kProcessLost);
}

int run_with_mpi(const std::function<int(std::shared_ptr<Exchange>)>& command, const HowToGoOn& how_to_go_on) {
  // A launcher that ends all because one has died sends SIGTERM first: the time until it kills is for a last line.
  const InterruptGuard interrupt;
  const auto exchange = std::make_shared<MpiExchange>();
  exchange->watch(
      [&, mpi = exchange.get()](std::size_t lost, bool speaks) { end_after(*mpi, lost, speaks, how_to_go_on); });
  // If one dies on another machine, all that reaches this one is the launcher's SIGTERM.
  bool told = false;
  exchange->on_long_wait([&, mpi = exchange.get()](std::size_t awaited) {
    if (told || interrupt.signal() != SIGTERM || mpi->rank() > 0) return;
    told = true;
    notify(fmt::format("told to end while it waits for rank {} on {}; if that has died, {}", awaited,
                       mpi->host(awaited), how_to_go_on()));
  });
  std::string failure;
  bool is_lost = false;  // Another one failed.
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
  } catch (const std::bad_alloc&) {
    failure = "not enough memory; ask for less";
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const auto words = exchange->last_words((is_lost ? "?" : "!") + failure, [&](double seconds) {
    return seconds < (interrupt.signal() == SIGTERM ? kShortPatience : kPatience);
  });
  const std::size_t own = exchange->rank();
  if (!words && !is_lost) notify(fmt::format("rank {} on {}: {}", own, exchange->host(own), failure));
  if (!words && is_lost && own == 0 && !told) notify(fmt::format("{}; {}", failure, how_to_go_on()));
  if (!words) exchange->abort(is_lost ? kProcessLost : kProcessFailure);
  if (own > 0) return 0;
  for (std::size_t rank = 0; rank < exchange->size(); ++rank) {
    if (!(*words)[rank].starts_with('!')) continue;
    const std::string said = (*words)[rank].substr(1);
    notify(rank == 0 ? said : fmt::format("rank {} on {}: {}", rank, exchange->host(rank), said));
    return kProcessFailure;
  }
  notify(fmt::format("{}; {}", failure, how_to_go_on()));
  return kProcessLost;
}

#endif

}  // namespace

bool is_follower() {
  return launch().processes > 1 && launch().rank > 0;
}

int run_in_processes(const std::function<int(std::shared_ptr<Exchange>)>& command,
                     [[maybe_unused]] const HowToGoOn& how_to_go_on) {
  if (launch().processes <= 1) return command(std::make_shared<LocalExchange>());
#ifdef SEMFUSE_MPI
  return run_with_mpi(command, how_to_go_on);
#else
  throw Error(
      fmt::format("{} processes were started, but this build of semfuse has no MPI; configure it with "
                  "-DSEMFUSE_MPI=ON (scripts/install-deps mpi installs it), or start one process",
                  launch().processes));
#endif
}

}  // namespace semfuse
