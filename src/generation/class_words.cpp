#include "semfuse/class_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/nearest_word.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

WordsOfClass words_of(const Lexicon& lexicon) {
  return [shared = std::make_shared<const Lexicon>(lexicon)](std::string_view name) {
    const std::vector<std::string>& known = shared->class_names();
    if (std::ranges::find(known, name) != known.end()) return shared->words(name);
    throw Error(fmt::format("there is no word class {}; choose one of {}{}", quoted_text(name), fmt::join(known, ", "),
                            did_you_mean(name, known)));
  };
}

}  // namespace semfuse
