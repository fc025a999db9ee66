#include "semfuse/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "backbone/adapted_model.h"
#include "batching/dataset_batch.h"
#include "core/random.h"
#include "core/random_order.h"
#include "data/sentence_dataset.h"
#include "features/feature_bank_access.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "training/adamw.h"
#include "training/adapter_step.h"
#include "training/polarity_jitter.h"
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
  require(t.final_rate >= 0.0 && t.final_rate <= 1.0, "final_rate must be in [0, 1]");
  require(t.weight_decay >= 0.0 && std::isfinite(t.weight_decay), "weight_decay must not be negative");
  require(t.beta1 >= 0.0 && t.beta1 < 1.0 && t.beta2 >= 0.0 && t.beta2 < 1.0, "beta1 and beta2 must be in [0, 1)");
  require(t.epsilon > 0.0 && t.clip_norm > 0.0 && std::isfinite(t.epsilon), "epsilon and clip_norm must be above 0");
  require(t.label_smoothing >= 0.0 && t.label_smoothing < 1.0, "label_smoothing must be in [0, 1)");
  require(t.feature_loss >= 0.0 && t.uniformity_loss >= 0.0 && t.class_loss >= 0.0,
          "feature_loss, uniformity_loss and class_loss must not be negative");
  require(t.identity_dropout >= 0.0 && t.identity_dropout < 1.0, "identity_dropout must be in [0, 1)");
  require(t.polarity_jitter >= 0.0 && t.polarity_jitter <= 1.0, "polarity_jitter must be in [0, 1]");
  require(t.knob_share >= 0.0 && t.knob_share <= 1.0, "knob_share must be in [0, 1]");
  require(t.knob_noise >= 0.0 && t.knob_noise <= 1.0, "knob_noise must be in [0, 1]");
  require(t.knob_ends >= 0.0 && t.knob_ends <= 1.0, "knob_ends must be in [0, 1]");
}

// The entries that the texts show, and the special ones; all if the vocabulary is not open.
std::vector<TokenId> shown_words(const LanguageModel& model, const Dataset& dataset) {
  if (!model.options().open_vocabulary) return {};
  std::set<TokenId> shown = {Vocabulary::kPad, Vocabulary::kBos, Vocabulary::kEos};
  // Bytes are no words: what they are is learned, if only that they are rare.
  const std::size_t num_bytes_end = model.tokenizer() != nullptr ? Tokenizer::kSmallestSize : 0;
  for (std::size_t id = 0; id < num_bytes_end; ++id) shown.insert(static_cast<TokenId>(id));
  for (std::size_t text = 0; text < dataset.size(); ++text) {
    for (const TokenId id : dataset.ids(text)) shown.insert(id);
  }
  return {shown.begin(), shown.end()};
}

// Learned memberships are those of the step, so they grade the features of a batch, not of the corpus.
std::shared_ptr<const Dataset> encoded(const LanguageModel& model, std::span<const Sentence> sentences,
                                       std::size_t max_length) {
  SentenceDatasetOptions options = {.features = model.options().fusion ? &ModelAccess::features(model) : nullptr,
                                    .max_length = max_length,
                                    .knobs = model.options().knobs,
                                    .lexicon = &model.feature_bank().lexicon()};
  if (!ModelAccess::network(model).memberships()) {
    return std::make_shared<SentenceDataset>(sentences, model.vocabulary(), options);
  }
  const FeatureBank ungraded = FeatureBankAccess::ungraded(model.feature_bank());
  const TokenFeatures features(ungraded, model.vocabulary(), model.tokenizer());
  options.features = &features;
  return std::make_shared<SentenceDataset>(sentences, model.vocabulary(), options);
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

std::unique_ptr<GradientStep> new_step(const LanguageModel& model, const Dataset& dataset,
                                       const TrainingOptions& training, ThreadPool& pool, Exchange& exchange) {
  if (const BackboneNetwork* network = adapted_network(model)) {
    return std::make_unique<AdapterStep>(*network, training.feature_loss, pool, training.grain, &exchange);
  }
  LossOptions losses = {.label_smoothing = training.label_smoothing,
                        .feature_loss = training.feature_loss,
                        .uniformity_loss = training.uniformity_loss,
                        .classes = adjective_classes(model.vocabulary(), model.feature_bank().lexicon()),
                        .class_loss = training.class_loss,
                        .identity_dropout = training.identity_dropout,
                        .words = shown_words(model, dataset)};
  return std::make_unique<TrainingStep>(ModelAccess::network(model), std::move(losses), pool,
                                        TrainingStep::kChunkLogits, training.grain, &exchange);
}

}  // namespace

std::string_view to_string(OptimizerKind optimizer) {
  return optimizer == OptimizerKind::adamw ? "adamw" : "muon";
}

struct Trainer::State {
  static constexpr std::size_t kMostShuffled = 4'000'000;  // 32 MB of places.

  State(LanguageModel& trained, std::shared_ptr<const Dataset> texts, const TrainingOptions& training_options,
        const TrainerOptions& options)
      : model(trained),
        training(training_options),
        seed(options.seed),
        max_skipped(options.max_skipped),
        dataset(std::move(texts)),
        exchange(options.exchange ? options.exchange : std::make_shared<LocalExchange>()),
        pool(thread_count(options.threads)),
        step(new_step(trained, *dataset, training, pool, *exchange)),
        optimizer(ModelAccess::layout(trained),
                  {.beta1 = training.beta1,
                   .beta2 = training.beta2,
                   .epsilon = training.epsilon,
                   .weight_decay = training.weight_decay,
                   .clip_norm = training.clip_norm},
                  training.optimizer == OptimizerKind::muon ? layer_matrices(ModelAccess::layout(trained))
                                                            : std::vector<MatrixPlace>()),
        gradients(ModelAccess::layout(trained)) {
    if (training.polarity_jitter > 0.0 && training.identity_dropout > 0.0 && trained.options().fusion &&
        trained.feature_bank().options().bank != FeatureSet::natural &&
        FeatureBankAccess::num_vector_columns(trained.feature_bank()) == 0) {
      const FeatureBank& bank = trained.feature_bank();
      jitter.emplace(trained.vocabulary(),
                     ModelAccess::network(trained).memberships() ? FeatureBankAccess::ungraded(bank) : bank,
                     training.polarity_jitter, seed);
    }
    if (trained.options().knobs.empty()) return;
    requests.emplace(
        trained.options().knobs, *dataset,
        RequestSamplerOptions{
            .stated = training.knob_share, .noise = training.knob_noise, .ends = training.knob_ends, .seed = seed});
    trained.set_knob_support(requests->support());
  }

  std::uint64_t steps_per_epoch() const { return (dataset->size() + training.batch - 1) / training.batch; }
  std::uint64_t total_steps() const {
    return training.steps > 0 ? training.steps : steps_per_epoch() * training.epochs;
  }
  std::uint64_t warmup_steps() const {
    // The tiny term undoes the rounding of products such as 0.29 · 100.
    return static_cast<std::uint64_t>(training.warmup * static_cast<double>(total_steps()) + 1e-9);
  }

  // The order of the texts in an epoch: a function of (seed, epoch), and so the same after a pause. Of very many texts
  // it is computed place by place.
  void shuffle(std::uint64_t epoch) {
    if (shuffled_epoch == epoch || dataset->size() > kMostShuffled) return;
    shuffled_epoch = epoch;
    order.resize(dataset->size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    RandomStream random(seed, RandomPurpose::shuffle, epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  }

  std::vector<std::size_t> texts_at(std::uint64_t epoch, std::size_t first, std::size_t count) const {
    if (dataset->size() <= kMostShuffled) {
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
      return {begin, begin + static_cast<std::ptrdiff_t>(count)};
    }
    const RandomOrder far(dataset->size(), seed, epoch);
    std::vector<std::size_t> texts;
    for (std::size_t place = first; place < first + count; ++place) texts.push_back(far(place));
    return texts;
  }

  // Some sentences of an epoch, with what each is asked for if the model has knobs. Of what other processes compute
  // only the ids are read.
  BatchShare batch(std::uint64_t epoch, std::size_t first, std::size_t count) {
    std::vector<std::size_t> sentences = texts_at(epoch, first, count);
    std::vector<float> rows(requests ? count * requests->num_columns() : 0);
    const Matrix asked(rows.data(), count, requests ? requests->num_columns() : 0);
    for (std::size_t i = 0; requests && i < count; ++i) {
      requests->draw(epoch, first + i, sentences[i], {asked.row(i), asked.cols()});
    }
    std::vector<std::size_t> first_token = {0};
    for (const std::size_t sentence : sentences) {
      first_token.push_back(first_token.back() + num_positions(*dataset, sentence, training.count_end));
    }
    BatchShare share;
    share.leaves = step->leaves(first_token);
    share.num_tokens = first_token.back();
    if (step->counts_targets()) share.targets = targets_of(*dataset, sentences, training.count_end);
    const LeafRange own = step->own_leaves(share.leaves.size());
    const std::size_t begin = own.size() == 0 ? 0 : share.leaves[own.first].first;
    const std::size_t end = own.size() == 0 ? 0 : share.leaves[own.end - 1].first + share.leaves[own.end - 1].count;
    share.batch = make_batch(*dataset, std::span(sentences).subspan(begin, end - begin), training.count_end,
                             shard_tokens_for(model.options().width), asked.row_range(begin, end - begin));
    share.batch.first_row = first_token[begin];
    return share;
  }

  // A step that is ready to be computed.
  struct Prepared {
    std::uint64_t step;
    BatchShare share;
    StepWords words;
  };

  Prepared prepare(std::uint64_t index) {
    const std::uint64_t epoch = index / steps_per_epoch();
    shuffle(epoch);
    const std::size_t first = index % steps_per_epoch() * training.batch;
    Prepared result{
        .step = index, .share = batch(epoch, first, std::min(training.batch, dataset->size() - first)), .words = {}};
    if (jitter) {
      const std::vector<std::uint8_t> identity =
          identities_of_step(model.vocabulary().size(), training.identity_dropout, seed, index);
      result.words = jitter->apply(identity, index, result.share.batch);
    }
    return result;
  }

  LanguageModel& model;
  TrainingOptions training;
  std::uint64_t seed;
  std::size_t max_skipped;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<Exchange> exchange;
  ThreadPool pool;
  std::unique_ptr<GradientStep> step;
  AdamW optimizer;
  ParameterBlock gradients;
  std::vector<std::size_t> order;  // Of `shuffled_epoch`.
  std::optional<RequestSampler> requests;
  std::optional<PolarityJitter> jitter;
  std::optional<std::uint64_t> shuffled_epoch;
  std::optional<Prepared> prepared;  // While gradients were on their way.
  std::uint64_t next_step = 0;
  std::uint64_t skipped = 0;
  std::uint64_t skipped_in_a_row = 0;
};

Trainer::Trainer(LanguageModel& model, std::span<const Sentence> sentences, const TrainingOptions& training,
                 const TrainerOptions& options)
    : Trainer(model, encoded(model, sentences, options.max_length), training, options) {}

Trainer::Trainer(LanguageModel& model, std::shared_ptr<const Dataset> dataset, const TrainingOptions& training,
                 const TrainerOptions& options) {
  check(training);
  const Dataset& texts = *dataset;
  if (texts.size() == 0) throw Error("there is no sentence to train on");
  if (texts.num_features() != ModelAccess::num_features(model)) {
    throw Error(fmt::format("the texts have {} features and the model reads {}; prepare them with its features",
                            texts.num_features(), ModelAccess::num_features(model)));
  }
  state_ = std::make_unique<State>(model, std::move(dataset), training, options);
  if (!model.options().open_vocabulary) return;
  std::vector<bool> seen(model.vocabulary().size());
  for (const TokenId word : shown_words(model, texts)) seen[static_cast<std::size_t>(word)] = true;
  model.set_seen(std::move(seen));
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

std::uint64_t Trainer::total_steps() const {
  return state_->total_steps();
}
std::size_t Trainer::total_epochs() const {
  return static_cast<std::size_t>((total_steps() + state_->steps_per_epoch() - 1) / state_->steps_per_epoch());
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
  const State::Prepared now = s.prepared && s.prepared->step == index ? std::move(*s.prepared) : s.prepare(index);
  s.prepared.reset();
  const auto prepare_next = [&] {
    if (s.exchange->size() > 1 && index + 1 < s.total_steps()) s.prepared = s.prepare(index + 1);
  };

  const Losses losses = s.step->run(now.share, ModelAccess::weights(s.model),
                                    {.rate = s.model.options().dropout, .seed = s.seed, .step = index}, s.gradients,
                                    now.words, prepare_next);
  const double norm = AdamW::norm(s.gradients, s.pool);
  const bool finite = std::isfinite(losses.total) && std::isfinite(norm);
  if (!finite && s.skipped_in_a_row >= s.max_skipped) {
    throw Error(fmt::format(
        "training stopped at step {} of {} (epoch {}): the {} is not finite{}; try a lower training.learning_rate",
        index + 1, s.total_steps(), epoch + 1, std::isfinite(losses.total) ? "gradient" : "loss",
        s.max_skipped == 0 ? "" : fmt::format(", as in the {} steps before, which were skipped", s.skipped_in_a_row)));
  }
  const double rate =
      learning_rate(s.training.learning_rate, index, s.warmup_steps(), s.total_steps(), s.training.final_rate);
  if (finite) {
    ModelAccess::change_weights(
        s.model, [&](ParameterBlock& weights) { s.optimizer.step(rate, norm, s.gradients, weights, s.pool); });
  }
  s.skipped += finite ? 0 : 1;
  s.skipped_in_a_row = finite ? 0 : s.skipped_in_a_row + 1;
  ++s.next_step;
  return {.step = index + 1,
          .epoch = static_cast<std::size_t>(epoch + 1),
          .ends_epoch = in_epoch + 1 == s.steps_per_epoch() || s.next_step == s.total_steps(),
          .skipped = !finite,
          .loss = losses.total,
          .loss_tokens = losses.tokens,
          .loss_features = losses.features,
          .loss_uniformity = losses.uniformity,
          .loss_classes = losses.classes,
          .gradient_norm = norm,
          .learning_rate = rate,
          .num_tokens = now.share.num_tokens,
          .flops = s.step->flops(now.share.batch),
          .num_leaves = now.share.leaves.size()};
}

TrainingState Trainer::state() const {
  const State& s = *state_;
  const ParameterLayout& layout = ModelAccess::layout(s.model);
  return {.step = s.next_step,
          .skipped = s.skipped,
          .skipped_in_a_row = s.skipped_in_a_row,
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
  const ParameterLayout& layout = ModelAccess::layout(s.model);
  ParameterBlock first = block_of(layout, state.first_moments);
  ParameterBlock second = block_of(layout, state.second_moments);
  s.optimizer.restore(state.step - state.skipped, std::move(first), std::move(second));
  s.next_step = state.step;
  s.skipped = state.skipped;
  s.skipped_in_a_row = state.skipped_in_a_row;
}

}  // namespace semfuse
