// An arena: methods of control side by side, on the same texts, models and judges.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/text_quality.h"
#include "judge/judge.h"
#include "study/arena_parts.h"
#include "study/arena_texts.h"

namespace semfuse {

struct ArenaMethod {
  std::string_view name;   // "gedi"
  std::string_view title;  // "GeDi"
  std::string_view cost;   // Passes of a model a token.
  std::vector<double> strengths;
  bool graded = false;  // It can be asked for what is between the ends.
  bool slow = false;    // It is measured on a fifth of the texts.
};

// In the order of the report; the first is the model with nothing asked.
const std::vector<ArenaMethod>& arena_methods();
// Throws Error that lists the methods if there is none of that name.
const ArenaMethod& arena_method(std::string_view name);

// Texts that were asked to have the label, or not to have it.
struct ArenaEnd {
  double control = 0.0;              // Share that judge B finds as asked,
  double flip = 0.0;                 // and of texts that begin with three words of the opposite label.
  double perplexity = 0.0;           // Of words, under a model of other texts.
  double length = 0.0;               // In words.
  std::array<double, 3> distinct{};  // One-, two- and three-word sequences.
};

// A method at one strength.
struct ArenaPoint {
  double strength = 0.0;
  ArenaEnd positive;
  ArenaEnd negative;
  double microseconds = 0.0;  // A token took, with all threads. Only times differ from run to run.

  // Of both ends the worse.
  double control() const { return std::min(positive.control, negative.control); }
  double flip() const { return std::min(positive.flip, negative.flip); }
};

// Asked for shares from 0 to 1, and the share that judge B found.
struct ArenaLevels {
  std::vector<double> asked;
  std::vector<double> got;
  double mean_error() const;
  double largest_error() const;
};

// A method on one seed.
struct ArenaRun {
  std::string method;
  std::uint64_t seed = 0;
  std::string judge;  // Fingerprint of who measured it.
  std::vector<ArenaPoint> points;
  std::optional<ArenaLevels> levels;
  std::size_t parameters = 0;     // More than the model itself has.
  double training_seconds = 0.0;  // Of what it needs besides the model.
};

std::string to_json(const ArenaRun& run);
// Throws Error if the text is something else.
ArenaRun parse_arena_run(std::string_view json, std::string_view origin);

// Who measures. `texts` must outlive it.
class ArenaJury {
 public:
  // `judge_b` is any judge of the knob; null: one that is trained on texts of its own.
  explicit ArenaJury(const ArenaTexts& texts, std::shared_ptr<const Judge> judge_b = nullptr);

  const ArenaTexts& texts() const { return texts_; }
  const LinearJudge& judge_a() const { return judge_a_; }
  const Judge& judge_b() const { return *judge_b_; }
  const FluencyModel& fluency() const { return fluency_; }

  // Of the test texts, for comparison: what judge B makes of them, and their fluency.
  const ArenaEnd& real(bool positive) const { return positive ? real_positive_ : real_negative_; }
  double real_perplexity() const { return real_perplexity_; }

  // A ratio of perplexities to `unconditional` ones, corrected by what texts of that label have by nature.
  double corrected(const ArenaEnd& end, bool positive, double unconditional) const {
    return end.perplexity / unconditional / (real(positive).perplexity / real_perplexity_);
  }

 private:
  const ArenaTexts& texts_;
  LinearJudge judge_a_;
  std::shared_ptr<const Judge> judge_b_;
  FluencyModel fluency_;
  ArenaEnd real_positive_, real_negative_;
  double real_perplexity_ = 0.0;
};

struct ArenaSettings {
  std::size_t n = 1000;  // Texts of each end and level; half as many that are flipped.
  std::size_t levels = 11;
  std::size_t max_tokens = 64;
  std::size_t threads = 0;
  std::span<const double> strengths = {};  // Instead of the method's own.
};

// The strengths that a method is run at.
std::span<const double> strengths_of(const ArenaMethod& method, const ArenaSettings& settings);

// Generates and measures. Depends on the seed's parts and the settings alone, besides times. `go_on` is told the share
// that is done; false ends it with an Error. Throws Error like generator and parts.
ArenaRun run_method(const ArenaMethod& method, ArenaParts& parts, const ArenaJury& jury, const ArenaSettings& settings,
                    const std::function<bool(double done)>& go_on);

}  // namespace semfuse
