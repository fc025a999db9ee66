#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "core/random.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "steering/frozen_states.h"
#include "steering/head_training.h"
#include "steering/written_texts.h"
#include "training/adamw.h"

namespace semfuse {

namespace {

// Texts are written, judged and learned from so many times, each in so many steps of a hundred of the first training
// and at this share of its rate.
constexpr std::size_t kRounds = 2;
constexpr std::uint64_t kRoundPart = 50;
constexpr double kRoundRate = 0.5;
constexpr std::uint64_t kVisits = 4;  // Of each text by the first training.
// A pretrained model has not learned from the labelled texts, so the head learns more from what it writes; and what was
// read of a text is kept, so that it may be visited more often.
constexpr std::size_t kMoreOfPretrained = 4;
constexpr double kDecayOfPretrained = 1.0;                    // Its many states say much of few texts by chance.
constexpr double kLeastShare = 0.01;                          // Of a label in what a model writes.
constexpr std::uint64_t kOfWritten = std::uint64_t{1} << 60;  // Draws of the texts of these steps count from here.

double log_odds(double share) {
  return std::log(share / (1.0 - share));
}

// A judge that learned from clear texts is as sure of unclear ones. In units of so many times its own usual sureness of
// what a model writes (its mean log-odds, sign apart) it says how clear they are: a head that learns this goes for
// clear texts, which other judges find as they are asked for too.
constexpr double kTemper = 2.0;
constexpr double kMostLogOdds = 16.0;
constexpr double kLeastSureness = 1.25, kMostSureness = 8.0;

double bounded_log_odds(float label) {
  return std::clamp(log_odds(static_cast<double>(label)), -kMostLogOdds, kMostLogOdds);
}

double sureness_for(const std::vector<float>& labels) {
  double sum = 0.0;
  for (const float label : labels) sum += std::abs(bounded_log_odds(label));
  return std::clamp(sum / static_cast<double>(labels.size()), kLeastSureness, kMostSureness);
}

void temper_labels(double sureness, std::vector<float>& labels) {
  const double unit = kTemper * sureness;
  for (float& label : labels) label = static_cast<float>(1.0 / (1.0 + std::exp(-bounded_log_odds(label) / unit)));
}

std::vector<std::size_t> indices(std::size_t size) {
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::unique_ptr<HeadTraining> training_of(SteeringMethod method, const ReadModel& model) {
  switch (method) {
    case SteeringMethod::value:
      return value_training(model);
    case SteeringMethod::fudge:
      return prefix_training(model);
    case SteeringMethod::lm_steer:
      return steer_training(model);
    case SteeringMethod::pplm:
      return mean_training(model);
  }
  return nullptr;
}

void check(const LanguageModel& model, const SteeringTraining& training) {
  const auto require = [](bool good, std::string_view rule) {
    if (!good) throw Error(fmt::format("steering: {}", rule));
  };
  require(training.batch > 0, "batch must be above 0");
  require(training.learning_rate > 0.0 && std::isfinite(training.learning_rate), "the learning rate must be above 0");
  require(model.options().attention == AttentionMask::causal,
          "the model reads both ways, so no state of it stands before a token; name a causal one");
}

// Texts that are written each time: what a model writes takes the longer the more numbers it has.
std::size_t texts_to_write(const LanguageModel& model, const SteeringTraining& training, std::size_t num_labelled) {
  constexpr std::size_t kMost = 6000, kFewest = 600, kNumbers = 20'000'000;
  if (ModelAccess::pretrained(model) != nullptr) num_labelled *= kMoreOfPretrained;
  if (training.written > 0) return std::min(training.written, num_labelled);
  const double share = static_cast<double>(kNumbers) / static_cast<double>(model.parameter_count());
  const auto affordable = static_cast<std::size_t>(static_cast<double>(kMost) * std::min(1.0, share));
  return std::min(std::max(affordable, kFewest), num_labelled);
}

// 1 for tokens that end a text at least every other time that they come.
SteeringHead::Tensor last_tokens(const Dataset& dataset, std::size_t vocab_size) {
  std::vector<std::size_t> count(vocab_size);
  std::vector<std::size_t> last(vocab_size);
  for (std::size_t text = 0; text < dataset.size(); ++text) {
    const std::span<const TokenId> ids = dataset.ids(text);
    for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
      ++count[static_cast<std::size_t>(ids[i])];
      if (ids[i + 1] == Vocabulary::kEos) ++last[static_cast<std::size_t>(ids[i])];
    }
  }
  SteeringHead::Tensor tensor{.name = "ends", .shape = {vocab_size}, .values = std::vector<float>(vocab_size)};
  for (std::size_t id = Vocabulary::kEos + 1; id < vocab_size; ++id) {
    tensor.values[id] = last[id] > 0 && 2 * last[id] >= count[id] ? 1.0f : 0.0f;
  }
  return tensor;
}

}  // namespace

SteeringHead train_steering(const LanguageModel& model, const Dataset& dataset, std::span<const float> labels,
                            SteeringMethod method, const std::string& knob, const SteeringTraining& training) {
  check(model, training);
  std::vector<std::size_t> labelled;
  double sum = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(labels[i])) continue;
    if (labels[i] < 0.0f || labels[i] > 1.0f) throw Error("steering: a label must be from 0 to 1");
    labelled.push_back(i);
    sum += labels[i];
  }
  double share = labelled.empty() ? 0.0 : sum / static_cast<double>(labelled.size());
  if (share <= 0.0 || share >= 1.0) {
    throw Error(fmt::format("steering: {} texts have a label of {}, and all the same one; bring texts of both sides",
                            labelled.size(), knob));
  }

  ThreadPool pool(thread_count(training.threads));
  FrozenStates states(model, dataset, pool);
  const std::unique_ptr<HeadTraining> head = training_of(method, states.model());
  ParameterBlock weights(head->layout());
  head->initialise(training.seed, weights);
  double sureness = 1.0;
  const bool keeps_ends = method == SteeringMethod::value || method == SteeringMethod::fudge;
  const auto result = [&] {
    SteeringHead made{
        .method = method, .knob = knob, .share = share, .model = steering_fingerprint(model), .tensors = {}};
    for (const ParameterInfo& info : head->layout().entries()) {
      const float* numbers = weights.vector(info);
      made.tensors.push_back({.name = info.name, .shape = info.shape, .values = {numbers, numbers + info.size}});
    }
    if (keeps_ends) made.tensors.push_back(last_tokens(dataset, model.vocabulary().size()));
    return made;
  };
  const bool is_pretrained = ModelAccess::pretrained(model) != nullptr;
  const double decay = is_pretrained && method == SteeringMethod::value ? kDecayOfPretrained : 0.0;
  const std::uint64_t visits = kVisits * (is_pretrained ? kMoreOfPretrained : 1);
  const std::uint64_t steps = training.steps > 0
                                  ? training.steps
                                  : std::clamp<std::uint64_t>(visits * labelled.size() / training.batch, 100, 2000);
  const std::size_t rounds = training.judge && method == SteeringMethod::value ? kRounds : 0;
  const std::uint64_t round_steps = std::max<std::uint64_t>(1, steps * kRoundPart / 100);
  const std::uint64_t all_steps = steps + rounds * round_steps;
  std::uint64_t done = 0;
  const std::vector<Knob>& knobs = model.options().knobs;
  std::optional<OtherKnobs> others;
  if (training.others) others.emplace(knobs, knob, dataset, labels);
  std::vector<WrittenTexts> written;
  std::deque<FrozenStates> written_states;
  const auto write = [&](const SteeringHead* under, std::size_t count, std::uint64_t round) {
    written.push_back(written_texts(model, dataset, labels, under, training.judge, others ? &*others : nullptr, count,
                                    mix_bits(training.seed) + round, training.threads));
    if (under == nullptr) sureness = sureness_for(written.back().labels);
    if (sureness > 1.0) temper_labels(sureness, written.back().labels);
    written_states.emplace_back(model, *written.back().dataset, pool);
  };
  const std::size_t num_written = texts_to_write(model, training, labelled.size());
  // A model that has not learned from these texts has the label another share of the time: what it writes alone says
  // how much, and the head learns from that too.
  float shift = 0.0f;
  if (rounds > 0 && is_pretrained) {
    write(nullptr, (num_written + 1) / 2, kRounds);
    const std::vector<float>& found = written.back().labels;
    const double own = std::accumulate(found.begin(), found.end(), 0.0) / static_cast<double>(found.size());
    const double of_texts = std::exchange(share, std::clamp(own, kLeastShare, 1.0 - kLeastShare));
    shift = static_cast<float>(log_odds(of_texts) - log_odds(share));
  }
  // On texts of people and, once there are some, as many that were written by the model.
  const auto train_round = [&](std::uint64_t num_steps, double rate) {
    AdamW optimizer(head->layout(), {.weight_decay = decay, .clip_norm = 1.0});
    for (std::uint64_t step = 0; step < num_steps; ++step, ++done) {
      const std::size_t batch = written.empty() ? training.batch : (training.batch + 1) / 2;
      ParameterBlock gradients(head->layout());
      const auto add = [&](FrozenStates& of, std::span<const float> all_labels, const std::vector<std::size_t>& texts,
                           std::span<const float> requests, std::span<const std::size_t> silent, float by) {
        std::vector<float> step_labels;
        step_labels.reserve(texts.size());
        for (const std::size_t text : texts) step_labels.push_back(all_labels[text]);
        const FrozenStates::States read = of.of(texts, requests);
        return head->step(
            {.batch = read.batch, .hidden = read.hidden, .labels = step_labels, .silent = silent, .shift = by}, weights,
            gradients);
      };
      std::vector<std::size_t> texts = texts_of_step(labelled, batch, training.seed, done);
      std::vector<float> requests;
      const auto ask = [&](std::span<const KnobSetting> settings) {
        const std::vector<float> row = request_row(knobs, settings);
        requests.insert(requests.end(), row.begin(), row.end());
      };
      for (std::size_t i = 0; others && i < texts.size(); ++i) {
        const OtherKnobs::Visit visit = others->visit(training.seed, done * batch + i);
        texts[i] = visit.text;
        ask(visit.asked);
      }
      const double loss = add(states, labels, texts, requests, {}, shift);
      if (!written.empty()) {
        const std::size_t which = step % written.size();
        texts = texts_of_step(indices(written[which].labels.size()), batch, training.seed, done + kOfWritten);
        requests.clear();
        for (std::size_t i = 0; others && i < texts.size(); ++i) ask(written[which].asked[texts[i]]);
        std::vector<std::size_t> silent;
        silent.reserve(texts.size());
        for (const std::size_t text : texts) silent.push_back(written[which].silent[text]);
        add(written_states[which], written[which].labels, texts, requests, silent, 0.0f);
      }
      const double left = 1.0 - static_cast<double>(step) / static_cast<double>(num_steps);
      optimizer.step(rate * left, AdamW::norm(gradients, pool), gradients, weights, pool);
      if (training.on_step && !training.on_step(done + 1, all_steps, loss))
        throw Error("steering: the training was stopped");
    }
  };
  train_round(steps, training.learning_rate);
  for (std::size_t round = 0; round < rounds; ++round) {
    const SteeringHead so_far = result();
    write(&so_far, num_written, round);
    train_round(round_steps, kRoundRate * training.learning_rate);
  }
  SteeringHead trained = result();
  if (sureness > 1.0)
    trained.tensors.push_back({.name = "sureness", .shape = {1}, .values = {static_cast<float>(sureness)}});
  return trained;
}

}  // namespace semfuse
