// A pretrained model of Llama's or GPT-2's shape, ready to run: its weights where they lie in the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "backbone/imported_model.h"
#include "kernels/stored_matrix.h"

namespace semfuse {

// y = x · Wᵀ + b
struct StoredLinear {
  StoredMatrix weight;      // [outputs, inputs]
  std::vector<float> bias;  // [outputs], or empty.
};

struct NormWeights {
  std::vector<float> weight;
  std::vector<float> bias;  // Empty: none.
};

struct BackboneLayer {
  NormWeights attention_norm;
  StoredLinear query, key, value, output;
  NormWeights hidden_norm;
  StoredLinear up, gate, down;  // The gate only with SwiGLU.
};

// Immutable: any number of passes may read it at once. The file stays mapped and must not change.
class Backbone {
 public:
  // `path` is a model.safetensors that `semfuse import` wrote, or its folder. Throws Error (path: what; what to do).
  explicit Backbone(const std::filesystem::path& path);

  const BackboneSpec& spec() const { return model_.spec(); }
  const std::string& origin() const { return model_.origin(); }
  // nullptr if the model came without one.
  const Tokenizer* tokenizer() const { return model_.tokenizer(); }

  const StoredMatrix& embedding() const { return embedding_; }
  const StoredMatrix& positions() const { return positions_; }  // Only if they are learned.
  const std::vector<BackboneLayer>& layers() const { return layers_; }
  const NormWeights& final_norm() const { return final_norm_; }
  const StoredMatrix& head() const { return head_; }  // The embedding if they are tied.

  // Numbers of all tensors, and bytes that they take.
  std::size_t parameter_count() const;
  std::size_t stored_bytes() const;

 private:
  ImportedModel model_;
  StoredMatrix embedding_, positions_, head_;
  std::vector<BackboneLayer> layers_;
  NormWeights final_norm_;
};

}  // namespace semfuse
