// The layers between the embedding and the heads, post-norm or pre-norm as the options say; after pre-norm layers,
// whose sums nothing has normalised yet, a last norm.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "model/encoder_layer.h"
#include "model/pre_norm_layer.h"

namespace semfuse {

class Encoder {
 public:
  Encoder(ParameterLayout& layout, LinearList& linears, const ModelOptions& options);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    std::vector<std::variant<EncoderLayer::Cache, PreNormLayer::Cache>> layers;
    std::optional<LayerNorm::Cache> last_norm;
    Matrix last_sum;  // [num_tokens, width], what the last norm reads.
    Matrix output;    // [num_tokens, width]
  };
  Cache allocate(const Batch& batch, Matrix input, Workspace& workspace) const;
  // Floats of scratch for one worker.
  std::size_t scratch_size(const Batch& batch) const;

  void forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const;
  // d_x: the gradient of the output becomes that of the input.
  void backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, float* scratch) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;

 private:
  std::size_t width_;
  std::vector<std::variant<EncoderLayer, PreNormLayer>> layers_;
  std::optional<LayerNorm> last_norm_;
};

}  // namespace semfuse
