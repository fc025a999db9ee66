#include "semfuse/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "batching/encoded_corpus.h"
#include "core/random.h"
#include "semfuse/error.h"
#include "training/adamw.h"
#include "training/training_step.h"

namespace semfuse {

namespace {

void check(const TrainingOptions& t) {
  const auto require = [](bool good, const char* rule) {
    if (!good) throw Error(fmt::format("training options: {}", rule));
  };
  require(t.epochs > 0 && t.batch > 0, "epochs and batch must be above 0");
  require(t.learning_rate > 0.0 && std::isfinite(t.learning_rate), "learning_rate must be above 0");
  require(t.warmup >= 0.0 && t.warmup <= 1.0, "warmup must be in [0, 1]");
  require(t.weight_decay >= 0.0 && std::isfinite(t.weight_decay), "weight_decay must not be negative");
  require(t.beta1 >= 0.0 && t.beta1 < 1.0 && t.beta2 >= 0.0 && t.beta2 < 1.0, "beta1 and beta2 must be in [0, 1)");
  require(t.epsilon > 0.0 && t.clip_norm > 0.0 && std::isfinite(t.epsilon), "epsilon and clip_norm must be above 0");
  require(t.label_smoothing >= 0.0 && t.label_smoothing < 1.0, "label_smoothing must be in [0, 1)");
  require(t.feature_loss >= 0.0 && t.uniformity_loss >= 0.0 && t.class_loss >= 0.0,
          "feature_loss, uniformity_loss and class_loss must not be negative");
  require(t.identity_dropout >= 0.0 && t.identity_dropout < 1.0, "identity_dropout must be in [0, 1)");
}

// The entries that the sentences show, and the special ones; all if the vocabulary is not open.
std::vector<TokenId> shown_words(const LanguageModel& model, std::span<const Sentence> sentences) {
  if (!model.options().open_vocabulary) return {};
  std::set<TokenId> shown = {Vocabulary::kPad, Vocabulary::kBos, Vocabulary::kEos};
  for (const Sentence& sentence : sentences) {
    for (const std::string& word : sentence) {
      if (const auto id = model.vocabulary().find(word)) shown.insert(*id);
    }
  }
  return {shown.begin(), shown.end()};
}

}  // namespace

struct Trainer::State {
  State(LanguageModel& trained, std::span<const Sentence> sentences, const TrainingOptions& training_options,
        const TrainerOptions& options)
      : model(trained),
        training(training_options),
        seed(options.seed),
        corpus(sentences, trained.vocabulary(), trained.options().fusion ? &trained.feature_bank() : nullptr,
               training.count_end, options.max_length),
        pool(thread_count(options.threads)),
        step(trained.network(),
             {.label_smoothing = training.label_smoothing,
              .feature_loss = training.feature_loss,
              .uniformity_loss = training.uniformity_loss,
              .classes = trained.adjective_classes(),
              .class_loss = training.class_loss,
              .identity_dropout = training.identity_dropout,
              .words = shown_words(trained, sentences)},
             pool),
        optimizer(trained.network().layout(), {.beta1 = training.beta1,
                                               .beta2 = training.beta2,
                                               .epsilon = training.epsilon,
                                               .weight_decay = training.weight_decay,
                                               .clip_norm = training.clip_norm}),
        gradients(trained.network().layout()),
        order(sentences.size()) {}

  std::uint64_t steps_per_epoch() const { return (corpus.size() + training.batch - 1) / training.batch; }
  std::uint64_t total_steps() const { return steps_per_epoch() * training.epochs; }
  std::uint64_t warmup_steps() const {
    // The tiny term undoes the rounding of products such as 0.29 · 100.
    return static_cast<std::uint64_t>(training.warmup * static_cast<double>(total_steps()) + 1e-9);
  }

  // The order of the sentences in an epoch: a function of (seed, epoch).
  void shuffle(std::uint64_t epoch) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    RandomStream random(seed, RandomPurpose::shuffle, epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  }

  LanguageModel& model;
  TrainingOptions training;
  std::uint64_t seed;
  EncodedCorpus corpus;
  ThreadPool pool;
  TrainingStep step;
  AdamW optimizer;
  ParameterBlock gradients;
  std::vector<std::size_t> order;
  std::uint64_t next_step = 0;
};

Trainer::Trainer(LanguageModel& model, std::span<const Sentence> sentences, const TrainingOptions& training,
                 const TrainerOptions& options) {
  check(training);
  if (sentences.empty()) throw Error("there is no sentence to train on");
  state_ = std::make_unique<State>(model, sentences, training, options);
  if (!model.options().open_vocabulary) return;
  std::vector<bool> seen(model.vocabulary().size());
  for (const TokenId word : shown_words(model, sentences)) seen[static_cast<std::size_t>(word)] = true;
  model.set_seen(std::move(seen));
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

std::uint64_t Trainer::total_steps() const {
  return state_->total_steps();
}
bool Trainer::done() const {
  return state_->next_step >= state_->total_steps();
}

StepReport Trainer::step() {
  State& s = *state_;
  if (done()) throw Error(fmt::format("all {} steps are done", s.total_steps()));
  const std::uint64_t index = s.next_step;
  const std::uint64_t epoch = index / s.steps_per_epoch();
  const std::uint64_t in_epoch = index % s.steps_per_epoch();
  if (in_epoch == 0) s.shuffle(epoch);
  const std::size_t first = in_epoch * s.training.batch;
  const std::size_t count = std::min(s.training.batch, s.corpus.size() - first);
  const Batch batch =
      s.corpus.batch(std::span(s.order).subspan(first, count), shard_tokens_for(s.model.network().options().width));

  const Losses losses = s.step.run(batch, s.model.weights(),
                                   {.rate = s.model.options().dropout, .seed = s.seed, .step = index}, s.gradients);
  const double norm = AdamW::norm(s.gradients, s.pool);
  if (!std::isfinite(losses.total) || !std::isfinite(norm)) {
    throw Error(fmt::format(
        "training stopped at step {} of {} (epoch {}): the {} is not finite; try a lower training.learning_rate",
        index + 1, s.total_steps(), epoch + 1, std::isfinite(losses.total) ? "gradient" : "loss"));
  }
  const double rate = learning_rate(s.training.learning_rate, index, s.warmup_steps(), s.total_steps());
  s.optimizer.step(rate, norm, s.gradients, s.model.weights(), s.pool);
  ++s.next_step;
  return {.step = index + 1,
          .epoch = static_cast<std::size_t>(epoch + 1),
          .ends_epoch = in_epoch + 1 == s.steps_per_epoch(),
          .loss = losses.total,
          .loss_tokens = losses.tokens,
          .loss_features = losses.features,
          .loss_uniformity = losses.uniformity,
          .loss_classes = losses.classes,
          .gradient_norm = norm,
          .learning_rate = rate,
          .num_tokens = batch.num_tokens(),
          .flops = s.model.network().training_flops(batch)};
}

}  // namespace semfuse
