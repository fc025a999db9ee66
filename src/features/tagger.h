// Finds the parts of speech of words: an averaged perceptron that goes from left to right. It has two readings, each
// with weights of its own: in the order of the text, where a tag depends on nothing that follows, for features; and of
// whole sentences, which also looks two words ahead and is right more often, for labels and for measuring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/tag_weights.h"
#include "features/universal_tag.h"

namespace semfuse {

// All that the features of taggers see of a word, as hashes.
struct TagForm {
  std::uint64_t text = 0;
  std::uint64_t lower = 0;
  std::array<std::uint64_t, 4> endings{};  // The last one to four bytes in lower case.
  std::uint64_t first = 0;                 // Likewise the first byte
  std::uint64_t first_three = 0;           // and the first three.
  std::uint64_t shape = 0;                 // Where capitals, small letters, digits and marks are.

  static TagForm of(std::string_view word);
  static const TagForm& before_sentence();
  static const TagForm& after_sentence();
};

// The features of a word between its neighbours; the first two tags are those of the words before it.
class TagFeatureList {
 public:
  static constexpr UniversalTag kNoTag = 31;

  // In the order of the text.
  TagFeatureList(const TagForm& word, const TagForm& before, const TagForm& before_that, UniversalTag tag_before,
                 UniversalTag tag_before_that);
  // Those of the two words that follow too.
  void look_ahead(const TagForm& word, const TagForm& next, const TagForm& after_next, UniversalTag tag_before);

  std::span<const std::uint32_t> hashes() const { return std::span(hashes_).first(size_); }

  // Kinds of features, by their place in the list.
  enum Place : std::size_t {
    kAloneEnd = 10,  // Those before it depend on the word alone.
    kShapeAtStart = kAloneEnd,
    kTagBefore,
    kTagsBefore,
    kWordTag,
    kBefore,
    kBeforeWord,
    kBeforeThat,
    kBeforeEnding,
    kEndingTag,
    kEndingTags,
    kShapeTag
  };
  static std::uint32_t hash_of(std::size_t place, std::uint64_t a = 0, std::uint64_t b = 0, UniversalTag tag = kNoTag,
                               UniversalTag second_tag = kNoTag);

 private:
  void add(std::uint64_t a = 0, std::uint64_t b = 0, UniversalTag tag = kNoTag, UniversalTag second_tag = kNoTag);

  std::array<std::uint32_t, 32> hashes_;
  std::size_t size_ = 0;
};

// A word without its place: its form, and what its features come to that need no other word.
struct TagType {
  TagForm form;
  TagScores alone{};        // Of the word itself,
  TagScores before{};       // of the word after it,
  TagScores before_that{};  // and of the one after that.
};

// Immutable, so safe to share between threads.
class Tagger {
 public:
  Tagger(TagWeights in_order, TagWeights whole);

  // Reads what bytes() wrote. Throws Error as "origin: what" for anything else.
  static Tagger parse(std::string_view bytes, std::string_view origin);
  static Tagger load(const std::filesystem::path& path);
  // The English one, which the library carries (taggers/english.tagger).
  static std::shared_ptr<const Tagger> english();

  std::string bytes() const;

  // The part of a sentence that was read in its order; as constructed nothing of it. Its size does not grow.
  class History {
   public:
    History();

   private:
    friend class Tagger;
    void advance(const TagForm& word, UniversalTag tag);
    TagFeatureList features(const TagForm& word) const;

    TagForm before_;
    TagForm before_that_;
    UniversalTag tag_before_ = TagFeatureList::kNoTag;
    UniversalTag tag_before_that_ = TagFeatureList::kNoTag;
  };

  // The tag of the sentence's next word.
  UniversalTag tag_next(std::string_view word, History& history) const;

  // The same from words whose types are known, which is several times as fast.
  TagType type_of(std::string_view word) const;
  class TypeHistory {
   public:
    explicit TypeHistory(const Tagger& tagger);
    UniversalTag tag_before() const { return tag_before_; }

   private:
    friend class Tagger;
    std::uint64_t lower_before_ = 0;
    TagScores before_{};            // What the word before says of the next one,
    TagScores before_that_{};       // what the one before that says,
    TagScores next_before_that_{};  // and what the word before will say then.
    UniversalTag tag_before_ = TagFeatureList::kNoTag;
    UniversalTag tag_before_that_ = TagFeatureList::kNoTag;
  };
  // What its features come to that depend on the word and on the tag before it, those of the word alone among them.
  TagScores after_tag(const TagType& word, UniversalTag before) const;
  // `after` is after_tag() of the history's tag.
  UniversalTag tag_next(const TagType& word, const TagScores& after, TypeHistory& history) const;

  // The tags of a whole sentence, looking ahead.
  std::vector<UniversalTag> tag_sentence(std::span<const std::string_view> words) const;

  const TagWeights& in_order() const { return in_order_; }
  const TagWeights& whole() const { return whole_; }

 private:
  const TagScores& of_tags(UniversalTag before, UniversalTag before_that) const {
    return of_tags_[place_of(before) * kTagPlaces + place_of(before_that)];
  }
  static constexpr std::size_t kTagPlaces = kUniversalTags.size() + 1;
  static std::size_t place_of(UniversalTag tag) { return std::min<std::size_t>(tag, kUniversalTags.size()); }

  TagWeights in_order_;
  TagWeights whole_;
  std::vector<TagScores> of_tags_;  // In order: what two tags before a word say, by place_of() each.
};

}  // namespace semfuse
