// A small Transformer language model: its options, its parameters, its logits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/calibration.h"
#include "semfuse/feature_bank.h"
#include "semfuse/knobs.h"
#include "semfuse/steering_head.h"
#include "semfuse/tokenizer.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Which positions a token may read. Stored with the model: a perplexity means nothing without it.
enum class AttentionMask { causal, bidirectional };

std::string_view to_string(AttentionMask mask);

// Where a layer normalises: after each of its halves, or before it and once more after the last layer.
enum class NormPlace { post, pre };

std::string_view to_string(NormPlace norm);

// As constructed: the paper's fusion model.
struct ModelOptions {
  // Size of a token's vector: a multiple of `heads` and even. The first to raise when a model learns a large corpus too
  // little, the first to lower for speed: the time of a step grows with its square.
  std::size_t width = 128;
  std::size_t layers = 4;  // Encoder layers. More when sentences are long and what matters is far apart.
  std::size_t heads = 4;   // Attention heads of a layer. Change it with the width: 16 to 64 columns a head are usual.
  std::size_t feed_forward = 256;  // Inner size of the feed-forward block, usually 2 to 4 times the width.
  // In [0, 1): attention weights, attention output, feed-forward inner and output. Raise it when validation gets worse
  // while training gets better; 0 for a corpus that is drawn anew for ever.
  double dropout = 0.1;
  // The paper's encoder reads both ways, and so sees the word that it is to predict. Choose causal for every model that
  // is to write.
  AttentionMask attention = AttentionMask::bidirectional;
  // The paper's layers normalise after each half. Choose pre for texts of one's own: it learns at the high rates that a
  // short training needs.
  NormPlace norm = NormPlace::post;
  // Token vectors and fused features begin at 1 / √width of the usual and enter the encoder times √width; output rows
  // are not scaled, so an untrained model guesses evenly. Choose it for any vocabulary of more than some hundred words.
  bool scaled_embedding = false;
  // A causal layer's attention falls with the distance, in each head at a rate of its own, so that near words are read
  // first. Choose it for texts of one's own; the fewer they are the more it helps.
  bool distance_bias = false;
  // Fuse features into the embedding and learn to read them back. Off for the baseline that fusion is compared with.
  bool fusion = true;
  // Inner size of the head that reads features back. It serves training only; change it if the feature loss stays high.
  std::size_t feature_head = 64;
  // Fusion is e + u + g ∘ u for features u and their gate g; without it e + u. Off to see what the gate does.
  bool gate = true;

  // The output row of a word w is E[w] + W_s·lex(w), not E[w] alone: lex(w) is its feature row outside of any sentence,
  // W_s the map that fuses features into the embedding. On if words are to be added later (with_words). Needs fusion.
  bool output_features = false;

  // A word that training never shows has no identity: E[w] is 0, it takes no part in the training softmax, and it
  // speaks through its features alone. On if the vocabulary has words that the corpus lacks. Needs fusion.
  bool open_vocabulary = false;

  // Words that training never shows, held out or added later, share the probability of their kind (class, and sign of
  // polarity) instead of adding to it, so that it does not matter how many there are. On if words are to be
  // added later. Only with output_features.
  bool share_class_mass = false;

  // What the model can be asked for; decided before training. Needs fusion.
  std::vector<Knob> knobs = {};
};

// A parameter by the name that it has in the equivalent PyTorch module.
struct NamedParameter {
  std::string_view name;
  std::span<const std::size_t> shape;
  std::span<const float> values;  // Row-major.
};

class ModelAccess;  // Internal.

// Weights with everything that is needed to use them: options, vocabulary, lexicon and features. Movable, not copyable.
// const functions may be called from several threads at once.
class LanguageModel {
 public:
  // A new model with initial values drawn by the seed. The bank is used for features if options.fusion is on; its
  // lexicon says what words mean in any case. Throws Error if the options are impossible.
  LanguageModel(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank, std::uint64_t seed);
  // The same for any text: tokens are the tokenizer's.
  LanguageModel(const ModelOptions& options, Tokenizer tokenizer, FeatureBank bank, std::uint64_t seed);
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  const ModelOptions& options() const;
  const Vocabulary& vocabulary() const;
  // Null: texts are words that split_words() finds and the vocabulary has.
  const Tokenizer* tokenizer() const;
  // If memberships are learned, the bank has those of the weights.
  const FeatureBank& feature_bank() const;

  std::size_t parameter_count() const;
  std::vector<NamedParameter> parameters() const;
  // Throws Error if there is no such parameter or the number of values differs.
  void set_parameter(std::string_view name, std::span<const float> values);

  // The ids of a text, without <bos> and <eos>. Throws Error, without a tokenizer, for a word that the vocabulary
  // lacks.
  std::vector<TokenId> encode(std::string_view text) const;
  // The text of ids: what the tokenizer decodes, or words joined as English does. Special entries are no text.
  std::string decode(std::span<const TokenId> ids) const;

  // Logits of the next token at <bos> and after every word: [words + 1, vocab_size], row-major. <eos> is not read.
  std::vector<float> logits(const Sentence& sentence) const;

  // Which entries have an identity of their own, by id. All do unless the vocabulary is open and training, or
  // with_words(), left some out.
  const std::vector<bool>& seen() const;
  // Entries that are not seen lose their identity: their rows of tok.weight become 0. Throws Error if the number of
  // flags is not that of the entries, or if <pad>, <bos> or <eos> is not among the seen.
  void set_seen(std::vector<bool> seen);

  // What training has shown of the scalar knobs; nothing of a knob if that is not known.
  const KnobSupport& knob_support() const;
  void set_knob_support(KnobSupport support);

  // What knobs have to be asked for; nothing of a knob that was not calibrated.
  const Calibration& calibration() const;
  // Throws Error if a map is of no knob of the model, or is none.
  void set_calibration(Calibration calibration);

  // Heads that turn knobs when texts are generated, instead of what the model is asked for; none of other knobs. Where
  // weights change, they are gone: a head is for the weights that it was trained on.
  const KnobHeads& heads() const;
  // Throws Error if a head is of no probability knob of the model, of another method than value, or of another model.
  void set_heads(KnobHeads heads);

  // A copy that knows more words, each by its description alone: ids are appended, every other weight stays. With a
  // tokenizer, which must be of words, a word has two ids: with a space before it, and without. If words have vectors,
  // it has that of its spelling, or the mean of those that it is `like`. Throws Error if the model's output rows do not
  // read features, if a word is in the vocabulary already, or if the lexicon describes it differently.
  LanguageModel with_words(const std::vector<LexiconEntry>& words) const;

 private:
  friend ModelAccess;
  struct State;
  static std::unique_ptr<State> make_state(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank,
                                           std::optional<Tokenizer> tokenizer);
  explicit LanguageModel(std::unique_ptr<State> state);
  void draw_weights(std::uint64_t seed);

  std::unique_ptr<State> state_;
};

// Of words to be added, those that the model may use or read wrongly, a line for each: its class or a value of it was
// not shown in training, or no feature says what it is. `grades` says whether training drew polarities between those of
// its words (TrainingOptions::polarity_jitter).
std::vector<std::string> unfamiliar_words(const LanguageModel& model, const std::vector<LexiconEntry>& words,
                                          bool grades);

}  // namespace semfuse
