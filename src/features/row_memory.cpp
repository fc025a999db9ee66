#include "features/row_memory.h"

#include <algorithm>
#include <utility>

#include "core/lower_case.h"

namespace semfuse {
namespace {

// Beyond these begin_text() forgets.
constexpr std::size_t kMostStates = std::size_t{1} << 12;
constexpr std::size_t kMostRows = std::size_t{1} << 14;
constexpr std::size_t kMostKeys = std::size_t{1} << 18;

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{a} << 32 | b;
}

bool begins_with(std::span<const std::uint32_t> words, std::span<const std::uint32_t> those) {
  return those.size() <= words.size() && std::equal(those.begin(), those.end(), words.begin());
}

}  // namespace

RowMemory::RowMemory(const NaturalBank& bank, std::size_t max_types)
    : bank_(&bank),
      annotator_(&bank.annotator_),
      max_types_(max_types),
      num_atoms_(bank.terms_.size()),
      longest_phrase_(std::max(bank.longest_phrase_, bank.annotator_.longest_phrase_)),
      atoms_(num_atoms_),
      row_(bank.size()) {
  for (const NaturalBank::Alternatives& alternatives : bank.features_) {
    for (const std::vector<NaturalBank::Literal>& literals : alternatives) {
      for (const NaturalBank::Literal& literal : literals) {
        if (literal.back > 0) later_atoms_.push_back(literal.atom);
      }
    }
  }
  for (const std::vector<std::size_t>& atoms : bank.of_begun_) {
    begun_atoms_.insert(begun_atoms_.end(), atoms.begin(), atoms.end());
  }
  if (annotator_->tagger() != nullptr) start_.emplace(*annotator_->tagger());
  for (const auto& [last, phrases] : bank.phrases_) {
    for (const NaturalBank::Phrase& phrase : phrases)
      std::ranges::for_each(phrase.before, [this](const std::string& word) { phrase_word(word); });
  }
  for (const auto& [last, phrases] : annotator_->phrases_) {
    for (const Annotator::Phrase& phrase : phrases)
      std::ranges::for_each(phrase.before, [this](const std::string& word) { phrase_word(word); });
  }
  forget_rows();
}

std::uint32_t RowMemory::phrase_word(const std::string& lower) {
  const auto [found, added] = phrase_words_.try_emplace(lower, static_cast<std::uint32_t>(phrase_texts_.size()));
  if (added) phrase_texts_.push_back(lower);
  return found->second;
}

void RowMemory::forget_types() {
  types_.clear();
  tokens_.clear();
  after_tags_.clear();
  after_tag_.clear();
  after_word_.clear();
}

void RowMemory::forget_rows() {
  ++generation_;
  states_.clear();
  state_of_.clear();
  later_.clear();
  begun_.clear();
  earlier_.assign(1, {});
  rows_.clear();
  row_of_bytes_.clear();
  for (NumberMap* map : {&after_word_, &with_unfinished_, &earlier_of_, &row_of_}) map->clear();
  const auto state_after = [this](const auto& read) {
    std::ranges::fill(atoms_, 0.0f);
    read();
    return state_of(atoms_);
  };
  state_after([] {});  // 0
  start_state_ = state_after([this] { bank_->read_start(atoms_); });
  end_state_ = state_after([this] { bank_->read_end(atoms_); });
}

void RowMemory::begin_text() {
  if (types_.size() >= max_types_ || std::max(after_word_.size(), after_tag_.size()) >= kMostKeys) forget_types();
  const std::size_t most_keys = std::max({with_unfinished_.size(), earlier_of_.size(), row_of_.size()});
  if (later_.size() >= kMostStates || row_of_bytes_.size() >= kMostRows || most_keys >= kMostKeys) forget_rows();
}

const RowMemory::WordType& RowMemory::type_of(std::string_view text) {
  const auto found = types_.find(text);
  if (found != types_.end()) return found->second;
  const bool has_room = types_.size() < max_types_;
  WordType type = {.number = has_room ? static_cast<std::uint32_t>(types_.size()) : kNoNumber,
                   .lower = lower_case(text)};
  const Annotator::Meaning& meaning = annotator_->meaning_of(text);
  type.word.surface = Surface::of(text);
  type.word.lexicon_class = meaning.lexicon_class;
  type.word.attributes = annotator_->values_.data() + meaning.attributes;
  if (annotator_->tagger() != nullptr) type.tag = annotator_->tagger()->type_of(text);
  if (const auto word = phrase_words_.find(type.lower); word != phrase_words_.end()) type.phrase_word = word->second;
  const auto numbers = [this](const std::vector<std::string>& words) {
    std::vector<std::uint32_t> result;
    result.reserve(words.size());
    for (const std::string& word : words) result.push_back(phrase_word(word));
    return result;
  };
  if (const auto phrases = bank_->phrases_.find(type.lower); phrases != bank_->phrases_.end()) {
    for (const NaturalBank::Phrase& phrase : phrases->second) {
      if (!phrase.before.empty()) type.of_bank.push_back({numbers(phrase.before)});
    }
  }
  if (const auto phrases = annotator_->phrases_.find(type.lower); phrases != annotator_->phrases_.end()) {
    for (const Annotator::Phrase& phrase : phrases->second)
      type.of_lexicon.push_back({numbers(phrase.before), &phrase});
  }
  if (has_room) return types_.emplace(text, std::move(type)).first->second;
  other_type_ = std::move(type);
  return other_type_;
}

const std::vector<RowMemory::TokenWord>* RowMemory::words_of(const TokenText& token) {
  if (token.id == TokenText::kNoId) return nullptr;
  const auto id = static_cast<std::size_t>(token.id);
  if (id >= tokens_.size()) tokens_.resize(id + 1);
  TokenWords& words = tokens_[id];
  if (words.known) return &words.words;
  scanner_ = {};
  for (const bool at_end : {false, true}) {
    if (at_end) {
      scanner_.end_word();
    } else {
      scanner_.append(token.bytes);
    }
    for (const ScannedWord& place : scanner_.words()) {
      const WordType& type = type_of(scanner_.text(place));
      if (type.number == kNoNumber) {
        words.words.clear();
        return nullptr;
      }
      words.words.push_back({&type, place.joined});
    }
  }
  words.known = true;
  return &words.words;
}

UniversalTag RowMemory::tag_next(const WordType& type, Tagger::TypeHistory& history) {
  const Tagger& tagger = *annotator_->tagger();
  if (type.number == kNoNumber) {
    return tagger.tag_next(type.tag, tagger.after_tag(type.tag, history.tag_before()), history);
  }
  const std::uint64_t key = pair_of(type.number, history.tag_before());
  std::uint32_t place = after_tag_.find(key);
  if (place == NumberMap::kAbsent) {
    place = static_cast<std::uint32_t>(after_tags_.size());
    after_tags_.push_back(tagger.after_tag(type.tag, history.tag_before()));
    after_tag_.add(key, place);
  }
  return tagger.tag_next(type.tag, after_tags_[place], history);
}

RowMemory::State RowMemory::state_of(std::span<const float> atoms) {
  const std::string_view bytes = bytes_of(atoms);
  if (const auto found = state_of_.find(bytes); found != state_of_.end()) return found->second;
  const auto state = static_cast<State>(later_.size());
  state_of_.emplace(bytes, state);
  const auto is_true = [&](std::size_t atom) { return atoms[atom] != 0.0f; };
  begun_.push_back(std::ranges::any_of(begun_atoms_, is_true));
  later_.push_back(0);
  states_.insert(states_.end(), atoms.begin(), atoms.end());
  if (std::ranges::any_of(later_atoms_, is_true)) {
    std::vector<float> later(num_atoms_);
    for (const std::size_t atom : later_atoms_) later[atom] = atoms_of(state)[atom];
    const bool is_all = std::ranges::equal(later, atoms_of(state));
    later_[state] = is_all ? state : state_of(later);
  }
  return state;
}

RowMemory::State RowMemory::after_word(State base, const WordType& type, UniversalTag tag, bool first,
                                       std::span<const std::uint32_t> before, std::size_t& num_free) {
  const auto matches = [](const std::vector<Phrase>& phrases, std::span<const std::uint32_t> words) {
    return std::ranges::find_if(phrases, [&](const Phrase& phrase) { return begins_with(words, phrase.before); });
  };
  const auto of_lexicon = matches(type.of_lexicon, before.first(num_free));
  const bool has_meaning = of_lexicon != type.of_lexicon.end();
  const bool is_known = type.number != kNoNumber && !has_meaning && matches(type.of_bank, before) == type.of_bank.end();
  num_free = has_meaning ? 0 : num_free + 1;
  const std::uint64_t key = pair_of(base, type.number << 6 | std::uint32_t{tag} << 1 | std::uint32_t{first});
  if (is_known) {
    if (const State state = after_word_.find(key); state != NumberMap::kAbsent) return state;
  }
  std::ranges::copy(atoms_of(base), atoms_.begin());
  AnnotatedWord word = type.word;
  word.tag = tag;
  word.first = first;
  if (has_meaning) {
    const Annotator::Meaning& meaning = of_lexicon->of_lexicon->meaning;
    word.lexicon_class = meaning.lexicon_class;
    word.attributes = annotator_->values_.data() + meaning.attributes;
  }
  std::vector<std::string> words;
  for (const std::uint32_t number : before) words.push_back(phrase_texts_[number]);
  bank_->read(word, type.lower, words, atoms_);
  const State state = state_of(atoms_);
  if (is_known) after_word_.add(key, state);
  return state;
}

RowMemory::State RowMemory::with_unfinished(State state, std::string_view letters) {
  if (begun_atoms_.empty() || (letters.empty() && begun_[state] == 0)) return state;
  const Surface surface = Surface::of(letters);
  std::uint32_t bits = letters.empty() ? 0 : 1;
  for (const bool bit :
       {surface.capital, surface.upper, surface.digit, surface.number, surface.letter, surface.mark, surface.stop}) {
    bits = bits << 1 | static_cast<std::uint32_t>(bit);
  }
  const std::uint64_t key = pair_of(state, bits);
  if (const State found = with_unfinished_.find(key); found != NumberMap::kAbsent) return found;
  std::ranges::copy(atoms_of(state), atoms_.begin());
  bank_->read_unfinished(letters, atoms_);
  const State result = state_of(atoms_);
  with_unfinished_.add(key, result);
  return result;
}

void RowMemory::shift(States& states) const {
  for (std::size_t back = bank_->most_back_; back > 0; --back) states[back] = states[back - 1];
  states[0] = 0;
}

std::uint32_t RowMemory::row_of(const States& states) {
  std::uint32_t earlier = 0;
  for (std::size_t back = bank_->most_back_; back > 0; --back) {
    const State later = later_[states[back]];
    if (later == 0 && earlier == 0) continue;
    const std::uint64_t key = pair_of(later, earlier);
    std::uint32_t found = earlier_of_.find(key);
    if (found == NumberMap::kAbsent) {
      found = static_cast<std::uint32_t>(earlier_.size());
      earlier_.push_back({later, earlier});
      earlier_of_.add(key, found);
    }
    earlier = found;
  }
  const std::uint64_t key = pair_of(states[0], earlier);
  if (const std::uint32_t found = row_of_.find(key); found != NumberMap::kAbsent) return found;
  NaturalBank::AtomsOfWords of;
  of.fill(atoms_of(0).data());
  of[0] = atoms_of(states[0]).data();
  for (std::size_t back = 1; earlier != 0; ++back, earlier = earlier_[earlier].rest) {
    of[back] = atoms_of(earlier_[earlier].nearest).data();
  }
  bank_->evaluate(of, row_);
  const auto [found, added] = row_of_bytes_.try_emplace(std::string(bytes_of(std::span<const float>(row_))),
                                                        static_cast<std::uint32_t>(row_of_bytes_.size()));
  if (added) rows_.insert(rows_.end(), row_.begin(), row_.end());
  row_of_.add(key, found->second);
  return found->second;
}

RememberedCursor::RememberedCursor(RowMemory& memory) : memory_(&memory), history_(memory.start_) {
  states_[0] = memory.start_state_;
  row_ = memory.row_of(states_);
}

void RememberedCursor::add(const RowMemory::WordType& type, bool joined) {
  const UniversalTag tag = history_ ? memory_->tag_next(type, *history_) : TagFeatureList::kNoTag;
  if (first_) {
    states_.fill(0);
    before_.clear();
    num_free_ = 0;
  } else if (!joined) {
    memory_->shift(states_);
  }
  states_[0] = memory_->after_word(states_[0], type, tag, first_, before_, num_free_);
  if (memory_->longest_phrase_ > 1) {
    if (before_.size() + 1 >= memory_->longest_phrase_) before_.pop_back();
    before_.insert(before_.begin(), type.phrase_word);
    num_free_ = std::min(num_free_, before_.size());
  }
  first_ = type.word.surface.stop;
  if (first_) history_ = memory_->start_;
}

void RememberedCursor::add_scanned() {
  for (const ScannedWord& place : scanner_.words()) add(memory_->type_of(scanner_.text(place)), place.joined);
}

std::uint32_t RememberedCursor::append(const TokenText& token) {
  const bool is_whole = token.ends_word && scanner_.unfinished().empty();
  if (const auto* words = is_whole ? memory_->words_of(token) : nullptr) {
    for (const RowMemory::TokenWord& word : *words) add(*word.type, word.joined);
  } else {
    scanner_.append(token.bytes);
    add_scanned();
    if (token.ends_word) {
      scanner_.end_word();
      add_scanned();
    }
  }
  states_[0] = memory_->with_unfinished(states_[0], scanner_.unfinished());
  row_ = memory_->row_of(states_);
  return row_;
}

std::uint32_t RememberedCursor::end() {
  states_.fill(0);
  states_[0] = memory_->end_state_;
  row_ = memory_->row_of(states_);
  return row_;
}

}  // namespace semfuse
