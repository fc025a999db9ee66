#include "semfuse/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "batching/encoded_corpus.h"
#include "core/random.h"
#include "semfuse/error.h"
#include "training/adamw.h"
#include "training/request_sampler.h"
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
  require(t.knob_share >= 0.0 && t.knob_share <= 1.0, "knob_share must be in [0, 1]");
  require(t.knob_noise >= 0.0 && t.knob_noise <= 1.0, "knob_noise must be in [0, 1]");
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

// Learned memberships are those of the step, so they grade the features of a batch, not of the corpus.
EncodedCorpus encoded(const LanguageModel& model, std::span<const Sentence> sentences, bool count_end,
                      std::size_t max_length) {
  const FeatureBank& bank = model.feature_bank();
  if (model.network().memberships()) {
    const FeatureBank ungraded = bank.ungraded();
    return EncodedCorpus(sentences, model.vocabulary(), &ungraded, count_end, max_length);
  }
  return EncodedCorpus(sentences, model.vocabulary(), model.options().fusion ? &bank : nullptr, count_end, max_length);
}

std::vector<NamedParameter> named(const ParameterLayout& layout, const ParameterBlock& block) {
  std::vector<NamedParameter> parameters;
  for (const ParameterInfo& info : layout.entries()) {
    parameters.push_back({.name = info.name, .shape = info.shape, .values = {block.vector(info), info.size}});
  }
  return parameters;
}

[[noreturn]] void refuse_state(const std::string& what) {
  throw Error(fmt::format("the training state does not fit: {}; name the experiment that it belongs to", what));
}

ParameterBlock block_of(const ParameterLayout& layout, const std::vector<NamedParameter>& parameters) {
  if (parameters.size() != layout.entries().size()) refuse_state("it has another number of parameters");
  ParameterBlock block(layout);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterInfo& info = layout.entries()[i];
    if (parameters[i].name != info.name || parameters[i].values.size() != info.size) {
      refuse_state(fmt::format("the moments of {} are missing", info.name));
    }
    std::copy(parameters[i].values.begin(), parameters[i].values.end(), block.vector(info));
  }
  return block;
}

}  // namespace

struct Trainer::State {
  State(LanguageModel& trained, std::span<const Sentence> sentences, const TrainingOptions& training_options,
        const TrainerOptions& options)
      : model(trained),
        training(training_options),
        seed(options.seed),
        max_skipped(options.max_skipped),
        corpus(encoded(trained, sentences, training.count_end, options.max_length)),
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
        order(sentences.size()) {
    if (trained.options().knobs.empty()) return;
    requests.emplace(trained.options().knobs, sentences, trained.feature_bank().lexicon(),
                     RequestSamplerOptions{.stated = training.knob_share, .noise = training.knob_noise, .seed = seed});
  }

  std::uint64_t steps_per_epoch() const { return (corpus.size() + training.batch - 1) / training.batch; }
  std::uint64_t total_steps() const { return steps_per_epoch() * training.epochs; }
  std::uint64_t warmup_steps() const {
    // The tiny term undoes the rounding of products such as 0.29 · 100.
    return static_cast<std::uint64_t>(training.warmup * static_cast<double>(total_steps()) + 1e-9);
  }

  // The order of the sentences in an epoch: a function of (seed, epoch), and so the same after a pause.
  void shuffle(std::uint64_t epoch) {
    if (shuffled_epoch == epoch) return;
    shuffled_epoch = epoch;
    std::iota(order.begin(), order.end(), std::size_t{0});
    RandomStream random(seed, RandomPurpose::shuffle, epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  }

  // Some sentences of an epoch, with what each is asked for if the model has knobs.
  Batch batch(std::uint64_t epoch, std::size_t first, std::size_t count) {
    std::vector<std::size_t> sentences(order.begin() + static_cast<std::ptrdiff_t>(first),
                                       order.begin() + static_cast<std::ptrdiff_t>(first + count));
    std::vector<float> rows(requests ? count * requests->num_columns() : 0);
    const Matrix asked(rows.data(), count, requests ? requests->num_columns() : 0);
    for (std::size_t i = 0; requests && i < count; ++i) {
      requests->draw(epoch, first + i, sentences[i], {asked.row(i), asked.cols()});
    }
    return corpus.batch(sentences, shard_tokens_for(model.network().options().width), asked);
  }

  LanguageModel& model;
  TrainingOptions training;
  std::uint64_t seed;
  std::size_t max_skipped;
  EncodedCorpus corpus;
  ThreadPool pool;
  TrainingStep step;
  AdamW optimizer;
  ParameterBlock gradients;
  std::vector<std::size_t> order;
  std::optional<RequestSampler> requests;
  std::optional<std::uint64_t> shuffled_epoch;  // The epoch that `order` is of.
  std::uint64_t next_step = 0;
  std::uint64_t skipped = 0;
  std::uint64_t skipped_in_a_row = 0;
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
  s.shuffle(epoch);
  const std::size_t first = in_epoch * s.training.batch;
  const std::size_t count = std::min(s.training.batch, s.corpus.size() - first);
  const Batch batch = s.batch(epoch, first, count);

  const Losses losses = s.step.run(batch, s.model.weights(),
                                   {.rate = s.model.options().dropout, .seed = s.seed, .step = index}, s.gradients);
  const double norm = AdamW::norm(s.gradients, s.pool);
  const bool finite = std::isfinite(losses.total) && std::isfinite(norm);
  if (!finite && s.skipped_in_a_row >= s.max_skipped) {
    throw Error(fmt::format(
        "training stopped at step {} of {} (epoch {}): the {} is not finite{}; try a lower training.learning_rate",
        index + 1, s.total_steps(), epoch + 1, std::isfinite(losses.total) ? "gradient" : "loss",
        s.max_skipped == 0 ? "" : fmt::format(", as in the {} steps before, which were skipped", s.skipped_in_a_row)));
  }
  const double rate = learning_rate(s.training.learning_rate, index, s.warmup_steps(), s.total_steps());
  if (finite) {
    s.model.change_weights(
        [&](ParameterBlock& weights) { s.optimizer.step(rate, norm, s.gradients, weights, s.pool); });
  }
  s.skipped += finite ? 0 : 1;
  s.skipped_in_a_row = finite ? 0 : s.skipped_in_a_row + 1;
  ++s.next_step;
  return {.step = index + 1,
          .epoch = static_cast<std::size_t>(epoch + 1),
          .ends_epoch = in_epoch + 1 == s.steps_per_epoch(),
          .skipped = !finite,
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

TrainingState Trainer::state() const {
  const State& s = *state_;
  const ParameterLayout& layout = s.model.network().layout();
  return {.step = s.next_step,
          .skipped = s.skipped,
          .skipped_in_a_row = s.skipped_in_a_row,
          .epoch = static_cast<std::size_t>(s.next_step / s.steps_per_epoch() + 1),
          .sentence = static_cast<std::size_t>(s.next_step % s.steps_per_epoch()) * s.training.batch,
          .first_moments = named(layout, s.optimizer.first_moments()),
          .second_moments = named(layout, s.optimizer.second_moments())};
}

void Trainer::restore(const TrainingState& state) {
  State& s = *state_;
  if (state.step > s.total_steps()) {
    refuse_state(fmt::format("it is at step {}, past the last, {}", state.step, s.total_steps()));
  }
  if (state.skipped > state.step || state.skipped_in_a_row > state.skipped) {
    refuse_state(fmt::format("it counts {} of {} steps as skipped, {} of them in a row", state.skipped, state.step,
                             state.skipped_in_a_row));
  }
  const std::uint64_t epoch = state.step / s.steps_per_epoch() + 1;
  const std::uint64_t sentence = state.step % s.steps_per_epoch() * s.training.batch;
  if (state.epoch != epoch || state.sentence != sentence) {
    refuse_state(fmt::format("step {} begins at sentence {} of epoch {}, not at sentence {} of epoch {}",
                             state.step + 1, sentence, epoch, state.sentence, state.epoch));
  }
  const ParameterLayout& layout = s.model.network().layout();
  ParameterBlock first = block_of(layout, state.first_moments);
  ParameterBlock second = block_of(layout, state.second_moments);
  s.optimizer.restore(state.step - state.skipped, std::move(first), std::move(second));
  s.next_step = state.step;
  s.skipped = state.skipped;
  s.skipped_in_a_row = state.skipped_in_a_row;
}

}  // namespace semfuse
