#include "study/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "core/nearest_word.h"
#include "core/random.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "study/arena_writers.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPromptWords = 3;
constexpr double kCoinGuidance = 2.0;

double share_positive(const Judge& judge, std::span<const std::string> texts) {
  const std::vector<double> values = judge.judge(texts);
  const auto positive = std::ranges::count_if(values, [](double value) { return value > 0.5; });
  return values.empty() ? 0.0 : static_cast<double>(positive) / static_cast<double>(values.size());
}

double share_as_asked(const Judge& judge, std::span<const std::string> texts, bool positive) {
  const double share = share_positive(judge, texts);
  return positive ? share : 1.0 - share;
}

struct Written {
  std::vector<std::string> texts;
  std::size_t tokens = 0;
  double seconds = 0.0;
};

class Desk {
 public:
  explicit Desk(const ArenaSettings& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  // The request's own prompt is left out of what is judged as little as of what a reader sees.
  Written write(const Writer& writer, std::size_t n, std::span<const std::string> prompts, std::uint64_t first = 0) {
    std::vector<GenerationRequest> requests(n, writer.request);
    for (std::size_t i = 0; i < n; ++i) {
      requests[i].seed = seed_;
      requests[i].index = first + i;
      requests[i].max_tokens = settings_.max_tokens;
      if (!prompts.empty()) requests[i].prompt = prompts[i % prompts.size()];
    }
    if (writer.model != model_) {
      generator_.emplace(*writer.model, settings_.threads);
      model_ = writer.model;
    }
    const Clock::time_point begin = Clock::now();
    std::vector<Generation> generations = writer.best_of > 1
                                              ? best_of(*generator_, requests, writer.best_of, writer.judge)
                                              : generator_->generate(requests);
    Written written;
    written.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (Generation& generation : generations) {
      if (generation.error) throw Error(*generation.error);
      written.tokens += generation.tokens.size();
      written.texts.push_back(std::move(generation.text));
    }
    return written;
  }

 private:
  const ArenaSettings& settings_;
  std::uint64_t seed_;
  const LanguageModel* model_ = nullptr;
  std::optional<Generator> generator_;
};

ArenaEnd measured(const ArenaJury& jury, std::span<const std::string> texts, bool positive) {
  return {.control = share_as_asked(jury.judge_b(), texts, positive),
          .perplexity = jury.fluency().perplexity(texts),
          .length = mean_length(texts),
          .distinct = distinct_sequences(texts)};
}

std::vector<std::string> prompts_of(const ArenaTexts& texts, bool positive, std::size_t most) {
  std::vector<std::string> prompts;
  for (const std::string& text : texts_of(texts.test, positive)) {
    if (prompts.size() == most) break;
    prompts.push_back(first_words(text, kPromptWords));
  }
  return prompts;
}

// A coin between the two ends of a control code, as often as judge A's shares of both say. No method, but what every
// calibrated share must be compared with.
ArenaLevels coin_levels(ArenaWriter& method, const ArenaJury& jury, const ArenaSettings& settings, Desk& desk) {
  const std::vector<std::string> yes = desk.write(method.writer(1.0, kCoinGuidance), settings.n, {}).texts;
  const std::vector<std::string> no = desk.write(method.writer(0.0, kCoinGuidance), settings.n, {}).texts;
  const double high = share_positive(jury.judge_a(), yes);
  const double low = share_positive(jury.judge_a(), no);
  const double yes_b = share_positive(jury.judge_b(), yes);
  const double no_b = share_positive(jury.judge_b(), no);
  ArenaLevels levels;
  for (std::size_t i = 0; i < settings.levels; ++i) {
    const double asked = static_cast<double>(i) / static_cast<double>(settings.levels - 1);
    const double coin = high > low ? std::clamp((asked - low) / (high - low), 0.0, 1.0) : 0.5;
    levels.asked.push_back(asked);
    levels.got.push_back(coin * yes_b + (1.0 - coin) * no_b);
  }
  return levels;
}

}  // namespace

const std::vector<ArenaMethod>& arena_methods() {
  static const std::vector<ArenaMethod> methods = {
      {"unconditional", "nothing asked", "1", {1}},
      {"ctrl", "CTRL: control code", "1", {1}, true},
      {"guidance", "CTRL + classifier-free guidance", "2", {2, 3, 5}},
      {"gedi", "GeDi", "3", {3, 8, 20}},
      {"dexperts", "DExperts", "3", {0.5, 1, 2}},
      {"fudge", "FUDGE", "1 + a classifier", {2, 4, 8}},
      {"lm-steer", "LM-Steer", "1 + a product", {1, 2, 4}},
      {"pplm", "PPLM", "5 + 3 backward", {0.4, 1, 2}, false, true},
      {"best-of", "best of n", "n", {4, 8}},
      {"knob", "semfuse knob", "1", {1}, true},
      {"knob-guided", "semfuse knob, guided", "2", {1.5, 2, 3}},
      {"value", "semfuse value head", "1 + a product", {1, 3, 4, 8}, true},
      {"calibrated", "semfuse knob, calibrated", "1 + a product", {1}, true},
      {"coin", "a coin between two codes", "2", {}, true},
  };
  return methods;
}

const ArenaMethod& arena_method(std::string_view name) {
  std::vector<std::string> names;
  for (const ArenaMethod& method : arena_methods()) {
    if (method.name == name) return method;
    names.emplace_back(method.name);
  }
  throw Error(fmt::format("there is no method \"{}\"{}; methods are {}", name, did_you_mean(std::string(name), names),
                          fmt::join(names, ", ")));
}

double ArenaLevels::mean_error() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < asked.size(); ++i) sum += std::abs(got[i] - asked[i]);
  return asked.empty() ? 0.0 : sum / static_cast<double>(asked.size());
}

double ArenaLevels::largest_error() const {
  double largest = 0.0;
  for (std::size_t i = 0; i < asked.size(); ++i) largest = std::max(largest, std::abs(got[i] - asked[i]));
  return largest;
}

namespace {

std::vector<std::string> texts_of_judges(const ArenaTexts& texts) {
  std::vector<std::string> all = texts_of(texts.judge_a);
  for (std::string& text : texts_of(texts.judge_b)) all.push_back(std::move(text));
  return all;
}

}  // namespace

ArenaJury::ArenaJury(const ArenaTexts& texts, std::shared_ptr<const Judge> judge_b)
    : texts_(texts),
      judge_a_(arena_judge(texts.knob, texts.judge_a)),
      judge_b_(judge_b ? std::move(judge_b)
                       : std::make_shared<const LinearJudge>(arena_judge(texts.knob, texts.judge_b))),
      fluency_(texts_of_judges(texts)) {
  real_positive_ = measured(*this, texts_of(texts.test, true), true);
  real_negative_ = measured(*this, texts_of(texts.test, false), false);
  real_perplexity_ = fluency_.perplexity(texts_of(texts.test));
}

std::span<const double> strengths_of(const ArenaMethod& method, const ArenaSettings& settings) {
  const bool has_own = settings.strengths.empty() || method.strengths.size() < 2;
  return has_own ? std::span(method.strengths) : settings.strengths;
}

ArenaRun run_method(const ArenaMethod& method, ArenaParts& parts, const ArenaJury& jury, const ArenaSettings& settings,
                    const std::function<bool(double done)>& go_on) {
  ArenaRun run{.method = std::string(method.name), .seed = parts.seed(), .judge = jury.judge_b().fingerprint()};
  Desk desk(settings, parts.seed());
  const bool is_coin = method.name == "coin";
  ArenaWriter how(is_coin ? "guidance" : method.name, parts,
                  [&jury](std::span<const std::string> texts) { return jury.judge_a().judge(texts); });
  const std::span<const double> strengths = strengths_of(method, settings);
  const auto units = static_cast<double>(4 * strengths.size() + (method.graded ? settings.levels : 0));
  const std::size_t n = method.slow ? std::max<std::size_t>(settings.n / 5, 2) : settings.n;
  double done = 0.0;
  const auto step = [&] {
    if (!go_on(done++ / units)) throw Error("the arena was stopped");
  };
  for (const double strength : strengths) {
    ArenaPoint point{.strength = strength};
    double seconds = 0.0;
    std::size_t tokens = 0;
    for (const bool positive : {true, false}) {
      const Writer writer = how.writer(positive ? 1.0 : 0.0, strength);
      step();
      const Written free = desk.write(writer, n, {});
      seconds += free.seconds;
      tokens += free.tokens;
      ArenaEnd end = measured(jury, free.texts, positive);
      step();
      const std::vector<std::string> prompts = prompts_of(jury.texts(), !positive, n / 2);
      end.flip = share_as_asked(jury.judge_b(), desk.write(writer, n / 2, prompts).texts, positive);
      (positive ? point.positive : point.negative) = end;
    }
    point.microseconds = seconds / static_cast<double>(std::max<std::size_t>(tokens, 1)) * 1e6;
    run.points.push_back(point);
  }
  if (is_coin) {
    step();
    run.levels = coin_levels(how, jury, settings, desk);
  } else if (method.graded) {
    run.levels.emplace();
    for (std::size_t i = 0; i < settings.levels; ++i) {
      step();
      const double asked = static_cast<double>(i) / static_cast<double>(settings.levels - 1);
      // Other texts than those of the ends above.
      const Written written =
          desk.write(how.writer(asked, method.strengths.front()), settings.n, {}, (i + 1) * settings.n);
      run.levels->asked.push_back(asked);
      run.levels->got.push_back(share_positive(jury.judge_b(), written.texts));
    }
  }
  run.parameters = how.parameters();
  run.training_seconds = how.seconds();
  return run;
}

}  // namespace semfuse
