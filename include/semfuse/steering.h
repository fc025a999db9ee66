// Other ways to steer a model than to ask it: heads that are trained on the frozen model, and other models beside it.
// Each is a LogitSource, to be named in GenerationRequest::source; docs/steering.md says when to take which.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/dataset.h"
#include "semfuse/language_model.h"
#include "semfuse/steering_head.h"

namespace semfuse {

class LogitSource;
class Generator;
struct Generation;
struct GenerationRequest;

// Of the weights and tokens of a model.
std::string steering_fingerprint(const LanguageModel& model);

// A judge says of texts how much they are what is wanted, a number for each.
using TextJudge = std::function<std::vector<double>(std::span<const std::string> texts)>;

struct SteeringTraining {
  // 0: four visits of each text that has a label, sixteen by a pretrained model, from 100 to 2000 steps.
  std::uint64_t steps = 0;
  std::size_t batch = 192;      // Texts a step.
  double learning_rate = 4e-3;  // At the first step; falls to 0 in a straight line.
  std::uint64_t seed = 1;
  std::size_t threads = 0;  // 0: one for each processor; the result is the same.
  // How probable the label is of a text. With it a value head also learns from texts that it has a part in: the model
  // writes under it, from beginnings of the opposite label too, and the judge says what came of that. Without, it knows
  // texts of people alone, and overrates what it writes against its beginning.
  TextJudge judge = {};
  // Texts that are written each time; at most as many as have a label, of a pretrained model four times as many. 0:
  // 6000, of a model of more than 20 million numbers so many times fewer as it has more, down to 600.
  std::size_t written = 0;
  // The dataset's labels are those of the model's knobs, and texts are asked for what they show of the others: the head
  // then knows what is left to it where these are set.
  bool others = false;
  // Told after each of the steps; false stops the training with an Error.
  std::function<bool(std::uint64_t step, std::uint64_t steps, double loss)> on_step = {};
};

// Learns to steer towards a label: `labels` has one in [0, 1] for each text of `dataset`, which must be encoded for
// `model`; NaN leaves a text out. The model stays as it is. Throws Error for options out of range, and if the labels
// are all the same.
SteeringHead train_steering(const LanguageModel& model, const Dataset& dataset, std::span<const float> labels,
                            SteeringMethod method, const std::string& knob, const SteeringTraining& training = {});

// Writes atomically, with a checksum. Throws Error.
void save_steering(const std::filesystem::path& path, const SteeringHead& head);
// Throws Error that names the file and what is wrong.
SteeringHead load_steering(const std::filesystem::path& path);

// Steers towards `target` in [0, 1] of the head's knob: 1 for texts that have the label, 0 for those that have not,
// between for a share of both. `strength` 0 changes nothing, 1 is Bayes' rule (of lm-steer: as trained; of pplm the
// length of a step). Throws Error if the head is for another model or damaged.
std::shared_ptr<const LogitSource> steering_source(const LanguageModel& model, const SteeringHead& head, double target,
                                                   double strength);

// GeDi: how probable the text is where `knob_model` is asked for `target` of a probability knob, against where it is
// asked for the opposite, to the power `strength`. Null: the generator's own model. The log-odds are those of the whole
// text by Bayes' rule, or, with a `scale`, times that over its number of tokens, as the paper has them.
std::shared_ptr<const LogitSource> posterior_source(std::shared_ptr<const LanguageModel> knob_model,
                                                    const LanguageModel& model, const std::string& knob, double target,
                                                    double strength, std::optional<double> scale = std::nullopt);

// DExperts: logits of the model + strength · (expert - anti-expert). Throws Error if they have other tokens.
std::shared_ptr<const LogitSource> experts_source(const LanguageModel& model,
                                                  std::shared_ptr<const LanguageModel> expert,
                                                  std::shared_ptr<const LanguageModel> anti, double strength);

// The classifier of a fudge head as a judge: the log-odds of `target`, 1 or 0. `model` must outlive it. Throws Error if
// the head is of another kind or model.
TextJudge head_judge(const LanguageModel& model, const SteeringHead& head, double target);

// Of n texts for each request, the one that the judge likes most, the first of equals. Text j of the request with index
// i has the index i · n + j, so that a request gets the same text in any company. A request that fails, fails as in
// Generator::generate(). Throws Error if the judge does not say a number for each text.
std::vector<Generation> best_of(const Generator& generator, std::span<const GenerationRequest> requests, std::size_t n,
                                const TextJudge& judge);

}  // namespace semfuse
