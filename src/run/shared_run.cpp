#include "run/shared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "io/checksum.h"
#include "io/file.h"
#include "kernels/instruction_set.h"

namespace semfuse {
namespace {

enum Wish : int { kGoOn, kStop, kFailed };

std::uint32_t checksum_of(std::string_view bytes) {
  Crc32 checksum;
  checksum.add(bytes);
  return checksum.value();
}

// What has to be the same everywhere, in the order in which differences are worth telling.
struct Trait {
  const char* name;
  const char* remedy;
};
constexpr std::array kTraits = {
    Trait{"program", "start the same build on every host"},
    Trait{"configuration", "give every process the same command line and files"},
    Trait{"data", "copy the same files to every host"},
    Trait{"instruction set",
          "results agree bit by bit only within one; name one that all have with --instruction-set"}};

}  // namespace

void require_first(Exchange& exchange, bool worked) {
  if (largest(exchange, worked ? kGoOn : kFailed) == kFailed && exchange.rank() > 0) {
    throw LostProcess(fmt::format("rank 0 on {} could not go on", exchange.host(0)));
  }
}

bool all_go_on(Exchange& exchange, const std::function<bool()>& work) {
  Wish own = kGoOn;
  std::exception_ptr failure;
  try {
    if (!work()) own = kStop;
  } catch (...) {
    failure = std::current_exception();
    own = kFailed;
  }
  const int all = largest(exchange, own);
  if (failure) std::rethrow_exception(failure);
  if (all == kFailed) throw LostProcess("another process could not go on");
  return all == kGoOn;
}

void require_alike(Exchange& exchange, const Experiment& experiment, std::string_view data_fingerprint) {
  if (exchange.size() == 1) return;
  std::array<std::string, kTraits.size()> traits = {
      fmt::format("{:08x}", checksum_of(read_text("/proc/self/exe"))),
      fmt::format("{:08x}", checksum_of(to_toml(experiment))),
      data_fingerprint.empty() ? "that of the configuration" : std::string(data_fingerprint), instruction_set()};
  std::array<std::vector<std::string>, kTraits.size()> all;
  for (std::size_t t = 0; t < kTraits.size(); ++t) all[t] = gather_texts(exchange, traits[t]);
  for (std::size_t t = 0; t < kTraits.size(); ++t) {
    for (std::size_t rank = 1; rank < exchange.size(); ++rank) {
      if (all[t][rank] == all[t][0]) continue;
      throw Error(fmt::format("rank {} on {} has another {} than rank 0 on {} ({}, not {}); {}", rank,
                              exchange.host(rank), kTraits[t].name, exchange.host(0), all[t][rank], all[t][0],
                              kTraits[t].remedy));
    }
  }
}

void share_state(Exchange& exchange, LanguageModel& model, Trainer& trainer) {
  if (exchange.size() == 1) return;
  TrainingState state = trainer.state();
  std::array<std::uint64_t, 3> counts = {state.step, state.skipped, state.skipped_in_a_row};
  broadcast(exchange, std::as_writable_bytes(std::span(counts)));
  state.step = counts[0];
  state.skipped = counts[1];
  state.skipped_in_a_row = counts[2];

  std::vector<std::vector<float>> numbers;  // That views of a state on its way look at.
  numbers.reserve(2 * state.first_moments.size());
  const auto share = [&](NamedParameter& parameter) {
    std::vector<float> values(parameter.values.begin(), parameter.values.end());
    broadcast(exchange, std::as_writable_bytes(std::span(values)));
    return values;
  };
  for (NamedParameter& parameter : model.parameters()) {
    const std::vector<float> values = share(parameter);
    if (exchange.rank() > 0) model.set_parameter(parameter.name, values);
  }
  for (auto* moments : {&state.first_moments, &state.second_moments}) {
    for (NamedParameter& moment : *moments) moment.values = numbers.emplace_back(share(moment));
  }
  if (exchange.rank() > 0) trainer.restore(state);
}

}  // namespace semfuse
