#include "features/tagger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/lower_case.h"
#include "core/random.h"
#include "features/taggers.h"
#include "io/checksum.h"
#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kMagic = "semfuse tagger 1\n";
constexpr std::size_t kMaxTaggerBytes = std::size_t{64} << 20;

// FNV-1a.
constexpr std::uint64_t kEmptyText = 0xcbf29ce484222325ULL;
std::uint64_t with_byte(std::uint64_t h, char c) {
  return (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
}

char shape_of(char c) {
  if (c >= 'A' && c <= 'Z') return 'X';
  if (c >= 'a' && c <= 'z') return 'x';
  if (c >= '0' && c <= '9') return 'd';
  return static_cast<unsigned char>(c) >= 0x80 ? 'u' : c;
}

}  // namespace

TagForm TagForm::of(std::string_view word) {
  TagForm form;
  std::uint64_t text = kEmptyText, lower = kEmptyText, shape = kEmptyText;
  char last = 0, before_last = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    text = with_byte(text, word[i]);
    lower = with_byte(lower, lower_case(word[i]));
    if (i == 0) form.first = mix_bits(lower);
    if (i <= 2) form.first_three = mix_bits(lower);
    // Two of a kind say "several".
    const char kind = shape_of(word[i]);
    if (kind == last && kind == before_last) continue;
    shape = with_byte(shape, kind);
    before_last = last;
    last = kind;
  }
  form.text = mix_bits(text);
  form.lower = mix_bits(lower);
  form.shape = mix_bits(shape);
  for (std::size_t n = 1; n <= form.endings.size(); ++n) {
    // A word that is no longer than its ending is not meant by the ending.
    std::uint64_t ending = word.size() > n ? kEmptyText : with_byte(kEmptyText, '$');
    for (const char c : word.substr(word.size() - std::min(n, word.size()))) ending = with_byte(ending, lower_case(c));
    form.endings[n - 1] = mix_bits(ending);
  }
  return form;
}

const TagForm& TagForm::before_sentence() {
  static const TagForm form = of("<s>");
  return form;
}

const TagForm& TagForm::after_sentence() {
  static const TagForm form = of("</s>");
  return form;
}

// Each call is a kind of feature, known by its place in the list.
TagFeatureList::TagFeatureList(const TagForm& word, const TagForm& before, const TagForm& before_that,
                               UniversalTag tag_before, UniversalTag tag_before_that) {
  add();
  add(word.text);
  add(word.lower);
  for (const std::uint64_t ending : word.endings) add(ending);
  add(word.first);
  add(word.first_three);
  add(word.shape);
  add(word.shape, tag_before == kNoTag ? 1 : 2);  // The first word of a sentence?
  add(0, 0, tag_before);
  add(0, 0, tag_before, tag_before_that);
  add(word.lower, 0, tag_before);
  add(before.lower);
  add(before.lower, word.lower);
  add(before_that.lower);
  add(before.endings[2]);
  add(word.endings[2], 0, tag_before);
  add(word.endings[1], 0, tag_before, tag_before_that);
  add(word.shape, 0, tag_before);
}

void TagFeatureList::look_ahead(const TagForm& word, const TagForm& next, const TagForm& after_next,
                                UniversalTag tag_before) {
  add(next.lower);
  add(next.endings[2]);
  add(next.shape);
  add(word.lower, next.lower);
  add(after_next.lower);
  add(next.lower, 0, tag_before);
}

std::uint32_t TagFeatureList::hash_of(std::size_t place, std::uint64_t a, std::uint64_t b, UniversalTag tag,
                                      UniversalTag second_tag) {
  std::uint64_t h = (place + 1) * 0x9E3779B97F4A7C15ULL ^ (std::uint64_t{tag} << 8 | second_tag);
  h = mix_bits(mix_bits(h + a) + b);
  return static_cast<std::uint32_t>(h >> (64 - kTagFeatureBits));
}

void TagFeatureList::add(std::uint64_t a, std::uint64_t b, UniversalTag tag, UniversalTag second_tag) {
  hashes_[size_] = hash_of(size_, a, b, tag, second_tag);
  ++size_;
}

Tagger::Tagger(TagWeights in_order, TagWeights whole)
    : in_order_(std::move(in_order)), whole_(std::move(whole)), of_tags_(kTagPlaces * kTagPlaces) {
  const auto tag_at = [](std::size_t place) {
    return place < kUniversalTags.size() ? static_cast<UniversalTag>(place) : TagFeatureList::kNoTag;
  };
  for (std::size_t i = 0; i < of_tags_.size(); ++i) {
    const UniversalTag before = tag_at(i / kTagPlaces), before_that = tag_at(i % kTagPlaces);
    in_order_.add(std::array{TagFeatureList::hash_of(TagFeatureList::kTagBefore, 0, 0, before),
                             TagFeatureList::hash_of(TagFeatureList::kTagsBefore, 0, 0, before, before_that)},
                  of_tags_[i]);
  }
}

std::string Tagger::bytes() const {
  std::string bytes(kMagic);
  in_order_.append_to(bytes);
  whole_.append_to(bytes);
  return bytes + checksum_bytes(bytes);
}

Tagger Tagger::parse(std::string_view bytes, std::string_view origin) {
  try {
    if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kChecksumSize) {
      throw Error("is no tagger; `semfuse tagger train` makes one");
    }
    std::string_view rest = bytes.substr(0, bytes.size() - kChecksumSize);
    if (checksum_bytes(rest) != bytes.substr(rest.size())) {
      throw Error("is damaged: its checksum differs; copy or train it again");
    }
    rest.remove_prefix(kMagic.size());
    TagWeights in_order = TagWeights::take_from(rest);
    TagWeights whole = TagWeights::take_from(rest);
    if (!rest.empty()) throw Error(fmt::format("has {} bytes after its last feature", rest.size()));
    return Tagger(std::move(in_order), std::move(whole));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  }
}

Tagger Tagger::load(const std::filesystem::path& path) {
  return parse(read_text(path, kMaxTaggerBytes), path.string());
}

std::shared_ptr<const Tagger> Tagger::english() {
  static const std::shared_ptr<const Tagger> tagger = [] {
    for (const EmbeddedText& file : embedded_taggers()) {
      if (file.name == "english") return std::make_shared<const Tagger>(parse(file.text, "taggers/english.tagger"));
    }
    throw Error("this semfuse was built without taggers/english.tagger");
  }();
  return tagger;
}

Tagger::History::History() : before_(TagForm::before_sentence()), before_that_(TagForm::before_sentence()) {}

void Tagger::History::advance(const TagForm& word, UniversalTag tag) {
  before_that_ = before_;
  before_ = word;
  tag_before_that_ = tag_before_;
  tag_before_ = tag;
}

TagFeatureList Tagger::History::features(const TagForm& word) const {
  return {word, before_, before_that_, tag_before_, tag_before_that_};
}

UniversalTag Tagger::tag_next(std::string_view word, History& history) const {
  const TagForm form = TagForm::of(word);
  const UniversalTag tag = in_order_.best(history.features(form).hashes());
  history.advance(form, tag);
  return tag;
}

TagType Tagger::type_of(std::string_view word) const {
  using List = TagFeatureList;
  TagType type = {.form = TagForm::of(word)};
  const List list(type.form, {}, {}, List::kNoTag, List::kNoTag);
  in_order_.add(list.hashes().first(List::kAloneEnd), type.alone);
  in_order_.add(std::array{List::hash_of(List::kBefore, type.form.lower),
                           List::hash_of(List::kBeforeEnding, type.form.endings[2])},
                type.before);
  in_order_.add(std::array{List::hash_of(List::kBeforeThat, type.form.lower)}, type.before_that);
  return type;
}

Tagger::TypeHistory::TypeHistory(const Tagger& tagger) {
  const TagType start = tagger.type_of("<s>");
  lower_before_ = start.form.lower;
  before_ = start.before;
  before_that_ = next_before_that_ = start.before_that;
}

TagScores Tagger::after_tag(const TagType& word, UniversalTag before) const {
  using List = TagFeatureList;
  TagScores scores = word.alone;
  in_order_.add(std::array{List::hash_of(List::kShapeAtStart, word.form.shape, before == List::kNoTag ? 1 : 2),
                           List::hash_of(List::kWordTag, word.form.lower, 0, before),
                           List::hash_of(List::kEndingTag, word.form.endings[2], 0, before),
                           List::hash_of(List::kShapeTag, word.form.shape, 0, before)},
                scores);
  return scores;
}

UniversalTag Tagger::tag_next(const TagType& word, const TagScores& after, TypeHistory& history) const {
  using List = TagFeatureList;
  const UniversalTag before = history.tag_before_, before_that = history.tag_before_that_;
  const TagScores& tags = of_tags(before, before_that);
  TagScores scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<std::int16_t>(after[i] + tags[i] + history.before_[i] + history.before_that_[i]);
  }
  in_order_.add(std::array{List::hash_of(List::kBeforeWord, history.lower_before_, word.form.lower),
                           List::hash_of(List::kEndingTags, word.form.endings[1], 0, before, before_that)},
                scores);
  const UniversalTag tag = TagWeights::best_of(scores);
  history.lower_before_ = word.form.lower;
  history.before_ = word.before;
  history.before_that_ = std::exchange(history.next_before_that_, word.before_that);
  history.tag_before_that_ = before;
  history.tag_before_ = tag;
  return tag;
}

std::vector<UniversalTag> Tagger::tag_sentence(std::span<const std::string_view> words) const {
  std::vector<UniversalTag> tags;
  tags.reserve(words.size());
  const auto form_of = [&](std::size_t i) {
    return i < words.size() ? TagForm::of(words[i]) : TagForm::after_sentence();
  };
  History history;
  TagForm word = form_of(0), next = form_of(1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const TagForm after_next = form_of(i + 2);
    TagFeatureList features = history.features(word);
    features.look_ahead(word, next, after_next, history.tag_before_);
    tags.push_back(whole_.best(features.hashes()));
    history.advance(word, tags.back());
    word = next;
    next = after_next;
  }
  return tags;
}

}  // namespace semfuse
