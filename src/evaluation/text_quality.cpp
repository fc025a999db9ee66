#include "evaluation/text_quality.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostEntries = 20'000;  // Of the vocabulary that texts are judged with.

Tokenizer tokenizer_of(std::span<const std::string> texts) {
  TokenizerTrainer trainer(TokenizerTrainer::kMostWords, true);
  for (const std::string& text : texts) trainer.add(text);
  return trainer.make(TokenizerKind::words, kMostEntries);
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<TokenId> ids = {Vocabulary::kBos};
  for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
  ids.push_back(Vocabulary::kEos);
  return ids;
}

// Ids alone.
class IdDataset : public Dataset {
 public:
  IdDataset(const Tokenizer& tokenizer, std::span<const std::string> texts) {
    for (const std::string& text : texts) ids_.push_back(ids_of(tokenizer, text));
  }
  std::size_t size() const override { return ids_.size(); }
  std::span<const TokenId> ids(std::size_t text) const override { return ids_[text]; }
  std::size_t num_features() const override { return 0; }
  void copy_features(std::size_t, std::span<float>) const override {}
  KnobLabel label(std::size_t, std::size_t) const override { return {}; }
  std::uint64_t num_bytes() const override { return 0; }

 private:
  std::vector<std::vector<TokenId>> ids_;
};

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    const std::string_view word = text.substr(0, length);
    const std::size_t begin = word.find_first_not_of(" \t\r\n");
    if (begin != word.npos) words.emplace_back(word.substr(begin));
    text.remove_prefix(length);
  }
  return words;
}

std::array<double, 3> distinct_sequences(std::span<const std::string> texts, std::size_t most_texts) {
  std::array<std::set<std::vector<std::string>>, 3> different;
  std::array<std::size_t, 3> all{};
  for (const std::string& text : texts.first(std::min(texts.size(), most_texts))) {
    const std::vector<std::string> words = words_of(text);
    for (std::size_t n = 1; n <= different.size(); ++n) {
      for (std::size_t i = 0; i + n <= words.size(); ++i) {
        different[n - 1].emplace(words.begin() + static_cast<std::ptrdiff_t>(i),
                                 words.begin() + static_cast<std::ptrdiff_t>(i + n));
        ++all[n - 1];
      }
    }
  }
  std::array<double, 3> shares{};
  for (std::size_t n = 0; n < shares.size(); ++n) {
    if (all[n] > 0) shares[n] = static_cast<double>(different[n].size()) / static_cast<double>(all[n]);
  }
  return shares;
}

double mean_length(std::span<const std::string> texts) {
  std::size_t words = 0;
  for (const std::string& text : texts) words += words_of(text).size();
  return texts.empty() ? 0.0 : static_cast<double>(words) / static_cast<double>(texts.size());
}

FluencyModel::FluencyModel(std::span<const std::string> texts)
    : tokenizer_(tokenizer_of(texts)),
      model_(std::make_unique<const NgramModel>(IdDataset(tokenizer_, texts), tokenizer_.size())) {}

double FluencyModel::perplexity(std::span<const std::string> texts) const {
  if (texts.empty()) throw Error("there is no text to measure the fluency of");
  double loss = 0.0;
  std::size_t positions = 0;
  for (const std::string& text : texts) {
    const std::vector<TokenId> ids = ids_of(tokenizer_, text);
    for (std::size_t i = 1; i < ids.size(); ++i) loss -= std::log(model_->probability(std::span(ids).first(i), ids[i]));
    positions += words_of(text).size() + 1;
  }
  return std::exp(loss / static_cast<double>(positions));
}

}  // namespace semfuse
