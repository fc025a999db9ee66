// Measures generation: one stream and 64 streams on one thread, with and without a grammar. bench/run calls it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "semfuse/checkpoint.h"
#include "semfuse/class_words.h"
#include "semfuse/generator.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Best window of several: sentences per second of `streams` requests at a time.
json measure(const Generator& generator, const GenerationRequest& request, std::size_t streams, double seconds,
             std::size_t parameters) {
  constexpr int kWindows = 8;
  std::vector<double> rates;
  double tokens = 0.0;
  double sentences = 0.0;
  std::uint64_t next = 0;
  std::vector<GenerationRequest> requests(streams == 1 ? 1 : 4 * streams, request);  // Ended streams are refilled.
  for (int window = 0; window <= kWindows; ++window) {                               // The first one warms up.
    const auto begin = Clock::now();
    double done = 0.0;
    while (seconds_since(begin) < seconds / kWindows) {
      for (GenerationRequest& one : requests) one.index = next++;
      for (const Generation& generation : generator.generate(requests)) {
        tokens += static_cast<double>(generation.words.size());
        done += 1.0;
      }
    }
    sentences += done;
    if (window > 0) rates.push_back(done / seconds_since(begin));
  }
  std::sort(rates.begin(), rates.end());
  return {{"sentences_per_second", rates.back()},
          {"median", rates[rates.size() / 2]},
          {"spread", (rates.back() - rates.front()) / rates.back()},
          {"tokens_per_sentence", tokens / sentences},
          {"parameters", parameters}};
}

int run(int argc, char** argv) {
  CLI::App app{"Measures generation on one thread; prints JSON."};
  std::string path;
  double seconds = 4.0;
  app.add_option("RUN", path, "A run folder")->required();
  app.add_option("--seconds", seconds, "Of each measurement");
  CLI11_PARSE(app, argc, argv);

  const Checkpoint checkpoint = load_checkpoint(path);
  const Generator generator(checkpoint.model, 1);
  const std::size_t parameters = checkpoint.model.parameter_count();
  GenerationRequest request{.seed = 1};
  request.max_tokens = 26;
  json result;
  for (const bool with_grammar : {false, true}) {
    if (with_grammar) {
      request.grammar = std::make_shared<CompiledGrammar>(
          Grammar::builtin("one-clause", words_of(checkpoint.model.feature_bank().lexicon())),
          TokenSurfaces::of(checkpoint.model.vocabulary()));
    }
    json& row = result[with_grammar ? "one-clause" : "free"];
    row["one_stream"] = measure(generator, request, 1, seconds, parameters);
    row["batch_64"] = measure(generator, request, 64, seconds, parameters);
  }
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  try {
    return semfuse::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_decoding: {}\n", error.what());
    return 2;
  }
}
