// What a pretrained model is besides its numbers and its tokenizer: family, sizes, and which variant of each part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

enum class BackboneFamily { llama, gpt2 };
enum class BackboneNorm { rms, layer };
enum class BackboneActivation { swiglu, gelu_tanh, gelu_erf, relu };
enum class BackbonePositions { rotary, learned };
// Which two numbers of a head turn together: (2i, 2i + 1), or (i, i + head_width / 2).
enum class RotaryPairs { adjacent, halves };

// As the JSON has them: "llama", "gelu_tanh", "halves".
std::string_view to_string(BackboneFamily family);
std::string_view to_string(BackboneNorm norm);
std::string_view to_string(BackboneActivation activation);
std::string_view to_string(BackbonePositions positions);
std::string_view to_string(RotaryPairs pairs);

// Llama has RMS norms, rotary positions and SwiGLU, and as a rule no biases; GPT-2 has layer norms, learned positions,
// one of the other activations, and biases. Which biases there are, the tensors say.
struct BackboneSpec {
  BackboneFamily family = BackboneFamily::llama;
  std::size_t vocab_size = 0;
  std::size_t model_width = 0;
  std::size_t num_layers = 0;
  std::size_t num_heads = 0;      // Of queries: num_heads * head_width values; need not be model_width.
  std::size_t num_key_heads = 0;  // Of keys and values; divides num_heads.
  std::size_t head_width = 0;     // Even if positions are rotary.
  std::size_t hidden_width = 0;
  std::size_t context = 0;  // Tokens that the model can look at.
  BackboneNorm norm = BackboneNorm::rms;
  double norm_epsilon = 1e-5;
  BackboneActivation activation = BackboneActivation::swiglu;
  BackbonePositions positions = BackbonePositions::rotary;
  double rotary_base = 10000;
  RotaryPairs rotary_pairs = RotaryPairs::adjacent;
  bool tied = false;           // The head is the embedding.
  std::optional<TokenId> bos;  // Below vocab_size, as are those of eos.
  std::vector<TokenId> eos;    // Each ends a text.
  bool adds_bos = false;       // A text is read with bos before it.
  std::string source;          // What was imported, in a line.
  std::string source_sha256;   // Of its numbers, 64 hexadecimal digits.

  bool operator==(const BackboneSpec&) const = default;

  std::size_t query_width() const { return num_heads * head_width; }
  std::size_t key_width() const { return num_key_heads * head_width; }
};

// Throws Error (origin: what; what to do) for sizes that no model has or that do not fit each other, and for a mixture
// of the two families.
void check(const BackboneSpec& spec, std::string_view origin);

// The metadata `semfuse.backbone` of a model file.
std::string to_json(const BackboneSpec& spec);

// The inverse. Every field must be there and no other; throws Error (origin: what; what to do), also where check()
// does.
BackboneSpec parse_backbone_spec(std::string_view json, std::string_view origin);

}  // namespace semfuse
