#include "generation/word_slot.h"

#include <bit>

namespace semfuse {

std::vector<std::size_t> word_classes(const Vocabulary& vocabulary, const Lexicon& lexicon) {
  std::vector<std::size_t> classes(vocabulary.size(), Lexicon::kOtherClass);
  for (std::size_t id = Vocabulary::kEos + 1; id < classes.size(); ++id) {
    classes[id] = lexicon.class_of(vocabulary.entries()[id]);
  }
  return classes;
}

std::size_t slot_of(const TokenSet& allowed, std::span<const std::size_t> classes) {
  std::size_t slot = Lexicon::kOtherClass;
  for (std::size_t word = 0; word < allowed.words().size(); ++word) {
    for (std::uint64_t bits = allowed.words()[word]; bits != 0; bits &= bits - 1) {
      const std::size_t word_class = classes[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      if (word_class == Lexicon::kOtherClass) continue;
      if (slot != Lexicon::kOtherClass && slot != word_class) return Lexicon::kOtherClass;
      slot = word_class;
    }
  }
  return slot;
}

std::string_view slot_name(std::size_t slot, const Lexicon& lexicon) {
  return slot == Lexicon::kOtherClass ? std::string_view() : lexicon.class_names()[slot];
}

}  // namespace semfuse
