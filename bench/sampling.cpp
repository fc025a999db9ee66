// Measures a draw from the logits of a large vocabulary: with top-k and top-p beside a plain one; one JSON line at the
// end. bench/run calls it.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/random.h"
#include "generation/large_draw.h"

namespace semfuse {
namespace {

// Of this thread alone, so that a busy machine does not count.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// As a model's are: most tokens hardly possible, a few likely.
std::vector<float> logits_of(std::size_t vocab_size, RandomStream& random) {
  std::vector<float> logits(vocab_size);
  for (float& logit : logits) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += random.next_uniform();
    logit = static_cast<float>(2.5 * sum);
  }
  return logits;
}

int run() {
  constexpr std::size_t kVocabulary = 32'000;
  constexpr int kWindows = 15, kDraws = 20;
  struct Case {
    const char* name;
    SamplingOptions options;
  };
  const std::vector<Case> cases = {{"plain", {}},
                                   {"top_k 40", {.top_k = 40}},
                                   {"top_p 0.9", {.top_p = 0.9}},
                                   {"top_p 0.5", {.top_p = 0.5}},
                                   {"top_k 1000, top_p 0.9", {.top_k = 1000, .top_p = 0.9}},
                                   {"temperature 0.7", {.temperature = 0.7}}};
  RandomStream random(1, RandomPurpose::corpus_val);
  std::vector<std::vector<float>> logits;
  for (int i = 0; i < kDraws; ++i) logits.push_back(logits_of(kVocabulary, random));
  std::vector<double> best(cases.size(), 1e9);  // Microseconds of a draw, the least of several windows in turns.
  double checksum = 0.0;
  LargeDraw draw;
  for (int window = 0; window < kWindows; ++window) {
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const double begin = processor_seconds();
      for (const std::vector<float>& one : logits) {
        checksum += draw.draw(one, nullptr, cases[c].options, random.next_uniform())->probability;
      }
      best[c] = std::min(best[c], (processor_seconds() - begin) / kDraws * 1e6);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t c = 0; c < cases.size(); ++c) {
    rows.push_back({{"kind", cases[c].name}, {"microseconds", best[c]}, {"of_plain", best[c] / best[0]}});
  }
  fmt::print("{}\n", nlohmann::json({{"vocabulary", kVocabulary}, {"rows", rows}, {"checksum", checksum}}).dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main() {
  return semfuse::run();
}
