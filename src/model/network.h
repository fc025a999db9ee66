// The whole network as one line per box: embedding, encoder, feature head; TokenHead is its fourth. Holds parameter ids
// and no numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/workspace.h"
#include "model/encoder.h"
#include "model/feature_head.h"
#include "model/fused_embedding.h"
#include "model/membership_layer.h"

namespace semfuse {

class Network {
 public:
  // `num_features` is 0 for a model without fusion. `word_features` [vocab_size, num_features + num_vector_columns] are
  // the rows lex(w) of the output rows and the class loss; a network without them serves for its layout, or if neither
  // is used. The last columns are the word's vector, which batches do not have: the embedding finds it by the token. If
  // `features` says that memberships are learned, both they and the batches of training are ungraded.
  Network(const ModelOptions& options, std::size_t vocab_size, std::size_t num_features,
          std::vector<float> word_features = {}, const FeatureOptions& features = {},
          std::size_t num_vector_columns = 0);

  const ModelOptions& options() const { return options_; }
  std::size_t vocab_size() const { return vocab_size_; }
  // Of the rows of a batch,
  std::size_t num_features() const { return num_features_; }
  // and of lex(w).
  std::size_t num_word_columns() const { return num_features_ + num_vector_columns_; }
  std::size_t num_request_columns() const { return num_request_columns_; }
  const ParameterLayout& layout() const { return layout_; }
  const std::vector<Linear>& linears() const { return linears_.all(); }
  ParameterId token_table() const { return embedding_.table(); }
  // The map W_s of the features and, in its last columns, of the request; only with features.
  ParameterId feature_map() const { return embedding_.feature_map(); }
  // Added to the logits of all words outside of training, by id; empty: nothing is.
  const std::vector<float>& logit_offsets() const { return logit_offsets_; }
  void set_logit_offsets(std::vector<float> offsets) { logit_offsets_ = std::move(offsets); }
  // lex(w), a row for each id, ungraded if memberships are learned; empty if there are none.
  ConstMatrix word_features() const {
    return word_features_.empty() ? ConstMatrix() : ConstMatrix(word_features_.data(), vocab_size_, num_word_columns());
  }

  // PyTorch's default initial values, all post-norm layers equal; number i of a parameter depends on (seed, parameter,
  // i).
  ParameterBlock initial_weights(std::uint64_t seed) const;

  // What a pass over one batch stores, until the workspace is reset.
  struct Activations {
    FusedEmbedding::Cache embedding;
    Encoder::Cache encoder;
    std::optional<FeatureHead::Cache> feature_head;
    std::size_t scratch_size = 0;  // Floats that each worker needs.

    Matrix hidden() const { return encoder.output; }
  };
  Activations allocate(const Batch& batch, Workspace& workspace) const;

  // Hidden states of a shard.
  void forward(const Pass& pass, const Shard& shard, ConstMatrix positions, Activations& activations,
               float* scratch) const;
  // d_x [shard tokens, width]: from the gradient of the hidden states to that of the embeddings.
  void backward(const Pass& pass, const Shard& shard, Activations& activations, Matrix d_x, float* scratch) const;
  // Every weight gradient but that of the token table.
  void gradients(const Activations& activations, GradientTasks& tasks) const;

  const FusedEmbedding& embedding() const { return embedding_; }
  const Encoder& encoder() const { return encoder_; }
  const std::optional<MembershipLayer>& memberships() const { return memberships_; }
  const std::optional<FeatureHead>& feature_head() const { return feature_head_; }

  // Floating-point operations of the matrix products of forward and backward on real tokens: 2mnk each, backward twice
  // forward.
  double training_flops(const Batch& batch) const;

 private:
  ModelOptions options_;
  std::size_t vocab_size_;
  std::size_t num_features_;
  std::size_t num_vector_columns_;
  std::size_t num_request_columns_;
  std::vector<float> word_features_;
  std::vector<float> logit_offsets_;
  ParameterLayout layout_;
  LinearList linears_{layout_};
  FusedEmbedding embedding_;
  std::optional<MembershipLayer> memberships_;
  Encoder encoder_;
  std::optional<FeatureHead> feature_head_;

 public:
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
};

}  // namespace semfuse
