// One training step of a network of our own up to the gradients: forward, losses, backward.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "core/workspace.h"
#include "losses/class_uniformity.h"
#include "model/token_head.h"
#include "training/gradient_step.h"
#include "training/polarity_jitter.h"

namespace semfuse {

struct LossOptions {
  double label_smoothing = 0.0;
  double feature_loss = 0.0;     // Weight λ of the feature reconstruction.
  double uniformity_loss = 0.0;  // Weight λ of the class uniformity.
  std::vector<std::vector<TokenId>> classes;

  double class_loss = 0.0;        // Weight λ of the class loss; needs a network with word features.
  double identity_dropout = 0.0;  // Share of the words without identity in a step.
  // The entries that the softmax ranges over, ascending; every target is one of them. Empty: all entries.
  std::vector<TokenId> words;
};

// By token id, whether a word has its identity in a step: a function of (seed, step, id). Special entries always have
// theirs.
std::vector<std::uint8_t> identities_of_step(std::size_t vocab_size, double identity_dropout, std::uint64_t seed,
                                             std::uint64_t step);

// Owns the memory that a step needs, so that steps after the first allocate nothing of size.
class TrainingStep : public GradientStep {
 public:
  // A batch is worked on in leaves of about at most so many tokens and logits: what a step needs of memory hardly grows
  // with the batch, and stays in the last-level cache.
  static constexpr std::size_t kChunkTokens = 1536;
  static constexpr std::size_t kChunkLogits = std::size_t{1} << 23;
  // Shards are whole texts. So that there are enough of them for several threads, a chunk of texts that are longer than
  // a shard has room for so many, if that takes no more than so many times the logits.
  static constexpr std::size_t kLongTexts = 4;
  static constexpr std::size_t kMoreLogits = 8;
  // The logits of a long text are made into gradients so many tokens at a time, while they are still in a cache.
  static constexpr std::size_t kHeadTokens = 320;
  static constexpr std::size_t chunk_tokens(std::size_t longest) {
    return longest <= kShardTokens ? kChunkTokens : std::max(kChunkTokens, kLongTexts * longest);
  }

  // `network`, `pool` and `exchange` must outlive the step. With a `grain` above 0 leaves have about so many tokens, if
  // that is less than they would have; without an exchange this process computes all of them.
  TrainingStep(const Network& network, LossOptions losses, ThreadPool& pool, std::size_t chunk_logits = kChunkLogits,
               std::size_t grain = 0, Exchange* exchange = nullptr);

  // Overwrites the gradients. The result is the same for any number of threads. If the network learns its memberships,
  // the batch's features are ungraded, and so are those of `words`, which mean something else in this step.
  Losses run(const Batch& batch, const ParameterBlock& weights, const DropoutPlan& dropout, ParameterBlock& gradients,
             const StepWords& words = {});

  Losses run(const BatchShare& share, const ParameterBlock& weights, const DropoutPlan& dropout,
             ParameterBlock& gradients, const StepWords& words = {},
             const std::function<void()>& meanwhile = {}) override;

  std::vector<SentenceRange> leaves(std::span<const std::size_t> first_token) const override;
  LeafRange own_leaves(std::size_t num_leaves) const override;
  bool counts_targets() const override { return !uniformity_.classes().empty(); }
  double flops(const Batch& batch) const override { return network_.training_flops(batch); }

  std::size_t peak_bytes() const;

  // Called with the logits of some tokens of the batch before the losses turn them into gradients, from several
  // threads; for the parity check.
  std::function<void(std::size_t first_token, ConstMatrix logits, ConstMatrix feature_logits)> on_logits;

 private:
  // What makes sums over the batch means; known before any leaf is computed.
  struct Scales {
    float per_token;                                  // 1 / tokens of the batch
    std::vector<double> uniformity_position_weights;  // As ClassUniformity::position_weights gives them.
  };
  // The sums of a shard, or of more.
  struct LossSums {
    double tokens = 0.0;
    double features = 0.0;
    double uniformity = 0.0;
    double classes = 0.0;

    void operator+=(const LossSums& other) {
      tokens += other.tokens;
      features += other.features;
      uniformity += other.uniformity;
      classes += other.classes;
    }
  };
  // What a leaf's heads write.
  struct HeadLogits {
    Matrix tokens;   // [num_tokens, head size]
    Matrix classes;  // [num_tokens, num_classes], empty without a class loss
  };

  // The batch as the network reads it; nothing if that is as it is.
  std::optional<Batch> graded(const Batch& batch, const ParameterBlock& weights) const;
  void use_features_of(const StepWords& words);
  std::size_t number_of_leaves(std::size_t num_tokens, std::size_t longest) const;
  std::vector<TokenId> as_rows(std::span<const TokenId> targets) const;
  struct Whole {
    std::span<const SentenceRange> leaves;
    std::size_t num_tokens;
    std::span<const TokenId> targets;
  };
  Losses run(const Batch& own, const Whole& whole, const ParameterBlock& weights, const DropoutPlan& dropout,
             ParameterBlock& gradients, const StepWords& words, const std::function<void()>& meanwhile);
  LossSums run_leaf(const Batch& leaf, const Scales& scales, const ParameterBlock& weights, const DropoutPlan& dropout,
                    ParameterBlock& gradients);
  LossSums run_heads(const Pass& pass, const Shard& shard, const Scales& scales, Network::Activations& activations,
                     const HeadLogits& logits, Matrix d_hidden) const;

  const Network& network_;
  LossOptions losses_;
  TokenHead head_;
  std::vector<TokenId> row_of_;  // Of the head, by token id; -1 outside of the softmax.
  std::optional<TokenHead> class_head_;
  std::vector<TokenId> class_of_;  // By token id.
  ClassUniformity uniformity_;
  std::vector<TokenId> changed_;        // Words whose output rows have the features of this step.
  std::vector<std::uint8_t> identity_;  // Of this step; empty: every word has its own.
  std::vector<TokenId> targets_;        // Of this process' part of the step, as rows.
  std::vector<TokenId> class_targets_;
  std::size_t first_row_ = 0;  // Of that part in the batch.
  ConstMatrix ungraded_;       // Its features as they were given.
  ThreadPool& pool_;
  std::size_t chunk_logits_;
  std::size_t grain_;
  LocalExchange alone_;
  Exchange& exchange_;
  GradientTree tree_;
  PackedWeights packed_;
  PositionTable positions_;
  Workspace workspace_;
};

}  // namespace semfuse
