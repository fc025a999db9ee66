// A small Transformer language model: its options, its parameters, its logits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/feature_bank.h"
#include "semfuse/knobs.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Which positions a token may read. Stored with the model: a perplexity means nothing without it.
enum class AttentionMask { causal, bidirectional };

std::string_view to_string(AttentionMask mask);

struct ModelOptions {
  std::size_t width = 128;         // Size of a token's vector; a multiple of `heads` and even.
  std::size_t layers = 4;          // Encoder layers.
  std::size_t heads = 4;           // Attention heads of a layer.
  std::size_t feed_forward = 256;  // Inner size of the feed-forward block.
  double dropout = 0.1;            // In [0, 1): attention weights, attention output, feed-forward inner and output.
  AttentionMask attention = AttentionMask::bidirectional;  // The paper's encoder reads both ways.
  bool fusion = true;             // Fuse features into the embedding and learn to read them back.
  std::size_t feature_head = 64;  // Inner size of the head that reads features back.
  bool gate = true;               // Fusion is e + u + g ∘ u for features u and their gate g; without it e + u.

  // The output row of a word w is E[w] + W_s·lex(w), not E[w] alone: lex(w) is its feature row outside of any sentence,
  // W_s the map that fuses features into the embedding. Needs fusion.
  bool output_features = false;

  // A word that training never shows has no identity: E[w] is 0, it takes no part in the training softmax, and it
  // speaks through its features alone. Needs fusion.
  bool open_vocabulary = false;

  // What the model can be asked for; needs fusion.
  std::vector<Knob> knobs = {};
};

// A parameter by the name that it has in the equivalent PyTorch module.
struct NamedParameter {
  std::string_view name;
  std::span<const std::size_t> shape;
  std::span<const float> values;  // Row-major.
};

class Network;         // Internal.
class ParameterBlock;  // Internal.

// Weights with everything that is needed to use them: options, vocabulary, lexicon and features. Movable, not copyable.
// const functions may be called from several threads at once.
class LanguageModel {
 public:
  // A new model with initial values drawn by the seed. The bank is used for features if options.fusion is on, and its
  // lexicon for the classes of adjectives in any case. Throws Error if the options are impossible.
  LanguageModel(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank, std::uint64_t seed);
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  const ModelOptions& options() const;
  const Vocabulary& vocabulary() const;
  // If memberships are learned, the bank has those of the weights.
  const FeatureBank& feature_bank() const;

  std::size_t parameter_count() const;
  std::vector<NamedParameter> parameters() const;
  // Throws Error if there is no such parameter or the number of values differs.
  void set_parameter(std::string_view name, std::span<const float> values);

  // Logits of the next token at <bos> and after every word: [words + 1, vocab_size], row-major. <eos> is not read.
  std::vector<float> logits(const Sentence& sentence) const;

  // The positive and the negative adjectives of the lexicon that the vocabulary has.
  std::vector<std::vector<TokenId>> adjective_classes() const;

  // Which entries have an identity of their own, by id. All do unless the vocabulary is open and training, or
  // with_words(), left some out.
  const std::vector<bool>& seen() const;
  // Entries that are not seen lose their identity: their rows of tok.weight become 0. Throws Error if the number of
  // flags is not that of the entries, or if <pad>, <bos> or <eos> is not among the seen.
  void set_seen(std::vector<bool> seen);

  // A copy that knows more words, each by its description alone: ids are appended, every other weight stays. Throws
  // Error if the model's output rows do not read features, if a word is in the vocabulary already, or if the lexicon
  // describes it differently.
  LanguageModel with_words(const std::vector<LexiconEntry>& words) const;

  // For the library itself.
  const Network& network() const;
  const ParameterBlock& weights() const;
  // Changes the weights, and what is computed from them.
  void change_weights(const std::function<void(ParameterBlock&)>& change);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
