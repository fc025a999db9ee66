#include "training/training_step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/random.h"
#include "losses/feature_reconstruction.h"
#include "losses/token_cross_entropy.h"

namespace semfuse {

namespace {

std::vector<TokenId> all_words(std::size_t vocab_size) {
  std::vector<TokenId> words(vocab_size);
  std::iota(words.begin(), words.end(), TokenId{0});
  return words;
}

std::vector<TokenId> softmax_words(const LossOptions& losses, std::size_t vocab_size) {
  return losses.words.empty() ? all_words(vocab_size) : losses.words;
}

OutputRows rows_of(const Network& network, const LossOptions& losses) {
  // A word without identity in some step has a row that is not the table's.
  if (losses.identity_dropout > 0.0) return output_rows(network, softmax_words(losses, network.vocab_size()));
  return output_rows(network, losses.words);
}

std::vector<TokenId> make_row_of(const LossOptions& losses, std::size_t vocab_size) {
  std::vector<TokenId> row_of(vocab_size, -1);
  TokenId next = 0;
  for (const TokenId word : softmax_words(losses, vocab_size)) row_of[static_cast<std::size_t>(word)] = next++;
  return row_of;
}

std::vector<std::vector<TokenId>> classes_as_rows(const LossOptions& losses, const std::vector<TokenId>& row_of) {
  std::vector<std::vector<TokenId>> classes;
  for (const std::vector<TokenId>& words : losses.classes) {
    classes.emplace_back();
    for (const TokenId word : words) {
      if (row_of[static_cast<std::size_t>(word)] >= 0) classes.back().push_back(row_of[static_cast<std::size_t>(word)]);
    }
  }
  return classes;
}

}  // namespace

std::vector<std::uint8_t> identities_of_step(std::size_t vocab_size, double identity_dropout, std::uint64_t seed,
                                             std::uint64_t step) {
  std::vector<std::uint8_t> identities(vocab_size, 1);
  const RandomStream random(seed, RandomPurpose::identity_dropout, step);
  for (std::size_t id = Vocabulary::kEos + 1; id < vocab_size; ++id) {
    identities[id] = random.uniform(id) >= identity_dropout ? 1 : 0;
  }
  return identities;
}

TrainingStep::TrainingStep(const Network& network, LossOptions losses, ThreadPool& pool, std::size_t chunk_logits,
                           std::size_t grain, Exchange* exchange)
    : network_(network),
      losses_(std::move(losses)),
      head_(network, rows_of(network, losses_), TokenHead::Use::training),
      row_of_(make_row_of(losses_, network.vocab_size())),
      uniformity_(classes_as_rows(losses_, row_of_)),
      pool_(pool),
      chunk_logits_(chunk_logits),
      grain_(grain),
      exchange_(exchange == nullptr ? alone_ : *exchange),
      tree_(network.layout(), exchange_, pool),
      packed_(network.layout(), network.linears()),
      positions_(network.options().width) {
  if (losses_.class_loss == 0.0 || network.word_features().data() == nullptr) return;
  // A class is what one feature row describes; its prior is the number of its words.
  std::map<std::vector<float>, TokenId> known;
  std::vector<float> features;
  std::vector<float> counts;
  class_of_.assign(network.vocab_size(), -1);
  for (const TokenId word : softmax_words(losses_, network.vocab_size())) {
    const float* row = network.word_features().row(static_cast<std::size_t>(word));
    const std::vector<float> key(row, row + network.num_word_columns());
    const auto [found, added] = known.emplace(key, static_cast<TokenId>(counts.size()));
    if (added) {
      features.insert(features.end(), key.begin(), key.end());
      counts.push_back(0.0f);
    }
    class_of_[static_cast<std::size_t>(word)] = found->second;
    counts[static_cast<std::size_t>(found->second)] += 1.0f;
  }
  for (float& count : counts) count = std::log(count);
  class_head_.emplace(network, OutputRows{.words = {}, .features = std::move(features), .bias = std::move(counts)},
                      TokenHead::Use::training);
}

std::size_t TrainingStep::peak_bytes() const {
  return workspace_.peak_bytes();
}

std::size_t TrainingStep::number_of_leaves(std::size_t num_tokens, std::size_t longest) const {
  const auto parts = [](std::size_t whole, std::size_t part) { return (whole + part - 1) / part; };
  std::size_t logits = chunk_logits_;
  if (longest > kShardTokens)
    logits = std::max(logits, std::min(kLongTexts * longest * head_.size(), kMoreLogits * logits));
  const std::size_t needed =
      std::max(parts(num_tokens, chunk_tokens(longest)), parts(num_tokens * head_.size(), logits));
  return grain_ == 0 ? needed : std::max(needed, parts(num_tokens, grain_));
}

std::vector<SentenceRange> TrainingStep::leaves(std::span<const std::size_t> first_token) const {
  std::size_t longest = 0;
  for (std::size_t s = 1; s < first_token.size(); ++s) longest = std::max(longest, first_token[s] - first_token[s - 1]);
  return cut_sentences(first_token, number_of_leaves(first_token.back(), longest));
}

LeafRange TrainingStep::own_leaves(std::size_t num_leaves) const {
  return leaves_of_rank(num_leaves, exchange_.rank(), exchange_.size());
}

std::vector<TokenId> TrainingStep::as_rows(std::span<const TokenId> targets) const {
  std::vector<TokenId> rows;
  for (const TokenId target : targets) {
    rows.push_back(row_of_[static_cast<std::size_t>(target)]);
    assert(rows.back() >= 0);
  }
  return rows;
}

std::optional<Batch> TrainingStep::graded(const Batch& batch, const ParameterBlock& weights) const {
  if (!network_.memberships()) return std::nullopt;
  Batch result = batch;
  network_.memberships()->grade(weights, batch.feature_rows(),
                                {result.features.data(), result.num_tokens(), result.num_features});
  return result;
}

void TrainingStep::use_features_of(const StepWords& words) {
  if (!network_.options().output_features) return;
  const ConstMatrix own = network_.word_features();
  for (const TokenId word : changed_) {
    head_.set_features(static_cast<std::size_t>(row_of_[static_cast<std::size_t>(word)]),
                       {own.row(static_cast<std::size_t>(word)), own.cols()});
  }
  changed_.clear();
  for (std::size_t i = 0; i < words.ids.size(); ++i) {
    const TokenId row = row_of_[static_cast<std::size_t>(words.ids[i])];
    if (row < 0) continue;
    head_.set_features(static_cast<std::size_t>(row), std::span(words.features).subspan(i * own.cols(), own.cols()));
    changed_.push_back(words.ids[i]);
  }
}

Losses TrainingStep::run(const Batch& batch, const ParameterBlock& weights, const DropoutPlan& dropout,
                         ParameterBlock& gradients, const StepWords& words) {
  const std::vector<SentenceRange> all = leaves(batch.first_token);
  return run(batch, {.leaves = all, .num_tokens = batch.num_tokens(), .targets = batch.targets}, weights, dropout,
             gradients, words, {});
}

Losses TrainingStep::run(const BatchShare& share, const ParameterBlock& weights, const DropoutPlan& dropout,
                         ParameterBlock& gradients, const StepWords& words, const std::function<void()>& meanwhile) {
  return run(share.batch, {.leaves = share.leaves, .num_tokens = share.num_tokens, .targets = share.targets}, weights,
             dropout, gradients, words, meanwhile);
}

Losses TrainingStep::run(const Batch& given, const Whole& whole, const ParameterBlock& weights,
                         const DropoutPlan& dropout, ParameterBlock& gradients, const StepWords& words,
                         const std::function<void()>& meanwhile) {
  const std::optional<Batch> graded_batch = graded(given, weights);
  const Batch& batch = graded_batch ? *graded_batch : given;
  ungraded_ = given.feature_rows();
  if (losses_.identity_dropout > 0.0) {
    identity_ = identities_of_step(network_.vocab_size(), losses_.identity_dropout, dropout.seed, dropout.step);
  }
  use_features_of(words);
  packed_.refresh(weights, pool_);
  head_.refresh(weights, identity_, pool_);
  if (class_head_) class_head_->refresh(weights, {}, pool_);
  positions_.reserve(batch.longest());
  first_row_ = batch.first_row;
  targets_ = as_rows(batch.targets);
  class_targets_.clear();
  for (std::size_t t = 0; class_head_ && t < batch.num_tokens(); ++t) {
    class_targets_.push_back(class_of_[static_cast<std::size_t>(batch.targets[t])]);
  }
  const Scales scales{.per_token = 1.0f / static_cast<float>(whole.num_tokens),
                      .uniformity_position_weights = uniformity_.position_weights(
                          whole.targets.size() == targets_.size() ? targets_ : as_rows(whole.targets))};

  const std::size_t num_leaves = whole.leaves.size();
  const LeafRange own = own_leaves(num_leaves);
  std::vector<LossSums> sums(num_leaves);
  GradientTree::Share sums_of_ranks;
  for (std::size_t rank = 0; rank < exchange_.size(); ++rank) {
    const LeafRange range = leaves_of_rank(num_leaves, rank, exchange_.size());
    sums_of_ranks.of_rank.push_back(std::as_writable_bytes(std::span(sums).subspan(range.first, range.size())));
  }
  const auto compute = [&](std::size_t leaf, ParameterBlock& into) {
    if (own.size() == 1) {
      sums[leaf] = run_leaf(batch, scales, weights, dropout, into);
      return;
    }
    const std::size_t first = whole.leaves[leaf].first - whole.leaves[own.first].first;
    const Batch part = part_of(batch, {first, whole.leaves[leaf].count});
    sums[leaf] = run_leaf(part, scales, weights, dropout, into);
  };
  tree_.sum(num_leaves, compute, gradients, sums_of_ranks, meanwhile);

  const LossSums sum = tree_sum<LossSums>({0, num_leaves}, [&](std::size_t leaf) { return sums[leaf]; });
  const auto num_tokens = static_cast<double>(whole.num_tokens);
  Losses result{.tokens = sum.tokens / num_tokens,
                .features = sum.features / num_tokens,
                .uniformity = sum.uniformity,
                .classes = sum.classes / num_tokens};
  result.total = result.tokens + losses_.feature_loss * result.features + losses_.uniformity_loss * result.uniformity +
                 losses_.class_loss * result.classes;
  return result;
}

TrainingStep::LossSums TrainingStep::run_leaf(const Batch& leaf, const Scales& scales, const ParameterBlock& weights,
                                              const DropoutPlan& dropout, ParameterBlock& gradients) {
  workspace_.reset();
  Network::Activations activations = network_.allocate(leaf, workspace_);
  const Matrix d_x = workspace_.matrix(leaf.num_tokens(), network_.options().width);
  HeadLogits logits{.tokens = workspace_.matrix(leaf.num_tokens(), head_.size()), .classes = {}};
  if (class_head_) logits.classes = workspace_.matrix(leaf.num_tokens(), class_head_->size());
  const std::size_t scratch_size = whole_lines(activations.scratch_size);
  float* scratch = workspace_.floats(scratch_size * pool_.num_threads());
  const Pass pass{.batch = leaf,
                  .layout = network_.layout(),
                  .weights = weights,
                  .packed = packed_,
                  .attention = network_.options().attention,
                  .dropout = dropout,
                  .identity = identity_};

  // A shard goes all the way without waiting for the others.
  std::vector<LossSums> shard_sums(leaf.shards.size());
  pool_.run(leaf.shards.size(), [&](std::size_t index, std::size_t worker) {
    const Shard& shard = leaf.shards[index];
    float* own_scratch = scratch + worker * scratch_size;
    network_.forward(pass, shard, positions_.rows(), activations, own_scratch);
    const HeadLogits own_logits{.tokens = shard.rows_of(logits.tokens),
                                .classes = class_head_ ? shard.rows_of(logits.classes) : Matrix()};
    shard_sums[index] = run_heads(pass, shard, scales, activations, own_logits, shard.rows_of(d_x));
    network_.backward(pass, shard, activations, shard.rows_of(d_x), own_scratch);
  });

  GradientTasks tasks(network_.layout(), gradients, /*accumulate=*/false);
  const ParameterInfo& table = network_.layout()[network_.token_table()];
  head_.gradients(logits.tokens, activations.hidden(), tasks);
  // The table's gradient then begins with the embeddings' part alone.
  if (!head_.is_table()) std::fill_n(gradients.vector(table), table.size, 0.0f);
  if (class_head_) class_head_->gradients(logits.classes, activations.hidden(), tasks);
  network_.gradients(activations, tasks);
  tasks.run(pool_);
  network_.embedding().scatter_gradient(pass, d_x, gradients.matrix(table), pool_);
  head_.add_gradients(identity_, gradients);
  if (class_head_) class_head_->add_gradients({}, gradients);
  if (const std::optional<MembershipLayer>& memberships = network_.memberships()) {
    MembershipLayer::Gradient gradient = {};
    memberships->add_rows(weights, ungraded_.row_range(leaf.first_row - first_row_, leaf.num_tokens()),
                          network_.embedding().d_features(activations.embedding), gradient);
    head_.add_gradients(weights, gradient);
    if (class_head_) class_head_->add_gradients(weights, gradient);
    memberships->write_gradients(weights, gradient, gradients);
  }

  LossSums sums;
  for (const LossSums& shard : shard_sums) sums += shard;
  return sums;
}

TrainingStep::LossSums TrainingStep::run_heads(const Pass& pass, const Shard& shard, const Scales& scales,
                                               Network::Activations& activations, const HeadLogits& head_logits,
                                               Matrix d_hidden) const {
  const ConstMatrix hidden = shard.rows_of(activations.hidden());
  const std::size_t first = pass.batch.first_row - first_row_ + shard.first_token;
  LossSums sums;

  if (network_.feature_head()) network_.feature_head()->forward(pass, shard, hidden, *activations.feature_head);
  const std::size_t parts = (shard.num_tokens + kHeadTokens - 1) / kHeadTokens;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = shard.num_tokens * part / parts;
    const std::size_t count = shard.num_tokens * (part + 1) / parts - begin;
    const Matrix logits = head_logits.tokens.row_range(begin, count);
    const std::span<const TokenId> targets = std::span(targets_).subspan(first + begin, count);
    head_.forward(hidden.row_range(begin, count), logits);
    if (on_logits) {
      on_logits(
          first_row_ + first + begin, logits,
          network_.feature_head() ? shard.rows_of(activations.feature_head->logits).row_range(begin, count) : Matrix());
    }
    std::vector<ClassUniformity::LogitGradient> uniformity_gradient;
    sums.uniformity += uniformity_.evaluate(logits, targets, scales.uniformity_position_weights,
                                            losses_.uniformity_loss, uniformity_gradient);
    sums.tokens += token_cross_entropy(logits, targets, losses_.label_smoothing, scales.per_token);
    for (const auto& [row, token, value] : uniformity_gradient) logits(row, static_cast<std::size_t>(token)) += value;
    head_.backward(logits, d_hidden.row_range(begin, count), false);
  }

  if (class_head_) {
    class_head_->forward(hidden, head_logits.classes);
    sums.classes = token_cross_entropy(head_logits.classes, std::span(class_targets_).subspan(first, shard.num_tokens),
                                       /*smoothing=*/0.0, static_cast<float>(losses_.class_loss) * scales.per_token);
    class_head_->backward(head_logits.classes, d_hidden, true);
  }

  if (network_.feature_head()) {
    sums.features = feature_reconstruction(shard.rows_of(activations.feature_head->logits),
                                           shard.rows_of(pass.batch.feature_rows()),
                                           static_cast<float>(losses_.feature_loss) * scales.per_token);
    network_.feature_head()->backward(pass, shard, *activations.feature_head, d_hidden);
  }
  return sums;
}

}  // namespace semfuse
