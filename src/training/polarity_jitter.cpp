#include "training/polarity_jitter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/random.h"

namespace semfuse {
namespace {

constexpr double kNoneShare = 0.1;  // Of the changed words: as many of each sign, so that none is a word of both.

}  // namespace

PolarityJitter::PolarityJitter(Vocabulary vocabulary, FeatureBank bank, double share, std::uint64_t seed)
    : vocabulary_(std::move(vocabulary)), bank_(std::move(bank)), share_(share), seed_(seed) {}

StepWords PolarityJitter::apply(std::span<const std::uint8_t> identity, std::uint64_t step, Batch& batch) const {
  const RandomStream random(seed_, RandomPurpose::polarity_jitter, step);
  StepWords words;
  std::vector<LexiconEntry> entries;
  for (std::size_t id = Vocabulary::kEos + 1; id < identity.size(); ++id) {
    if (identity[id] != 0 || random.uniform(2 * id) >= share_) continue;
    const LexiconEntry* entry = bank_.lexicon().find(vocabulary_.entries()[id]);
    if (entry == nullptr || entry->polarity == 0.0) continue;
    words.ids.push_back(static_cast<TokenId>(id));
    entries.push_back(*entry);
    // None is drawn by itself, since features may tell it from every polarity, however small.
    entries.back().polarity *= std::max(0.0, random.uniform(2 * id + 1) - kNoneShare) / (1.0 - kNoneShare);
  }
  if (words.ids.empty()) return words;

  std::vector<std::string> changed(vocabulary_.entries().begin(), vocabulary_.entries().begin() + Vocabulary::kEos + 1);
  for (const LexiconEntry& entry : entries) changed.push_back(entry.word);
  const auto is_changed = [&](TokenId id) { return std::ranges::binary_search(words.ids, id); };
  const auto tokens_of = [&](std::size_t s) {
    return std::span(batch.inputs).subspan(batch.first_token[s], batch.length(s));
  };
  // Of the other words only those beside a changed one matter.
  std::set<TokenId> others;
  std::vector<std::size_t> sentences;
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    if (std::ranges::none_of(tokens_of(s), is_changed)) continue;
    sentences.push_back(s);
    others.insert(tokens_of(s).begin(), tokens_of(s).end());
    others.insert(batch.targets[batch.first_token[s + 1] - 1]);
  }
  for (const TokenId id : others) {
    const LexiconEntry* entry = bank_.lexicon().find(vocabulary_.word(id));
    if (entry != nullptr && !is_changed(id)) entries.push_back(*entry);
  }

  const FeatureBank bank = bank_.with_lexicon(Lexicon(std::move(entries)));
  const FeatureMatrix rows = bank.word_rows(Vocabulary(std::move(changed)));
  words.features.assign(rows.values.begin() + (Vocabulary::kEos + 1) * static_cast<std::ptrdiff_t>(rows.num_features),
                        rows.values.end());
  for (const std::size_t s : sentences) {
    Sentence sentence;
    for (const TokenId id : tokens_of(s)) {
      if (id > Vocabulary::kEos) sentence.push_back(vocabulary_.word(id));
    }
    const TokenId last = batch.targets[batch.first_token[s + 1] - 1];
    if (last > Vocabulary::kEos) sentence.push_back(vocabulary_.word(last));
    const FeatureMatrix own = bank.rows(sentence);
    std::copy_n(own.values.begin(), batch.length(s) * batch.num_features,
                batch.features.begin() + static_cast<std::ptrdiff_t>(batch.first_token[s] * batch.num_features));
  }
  return words;
}

}  // namespace semfuse
