#include "grammar/grammars.h"

#include <fmt/format.h>

#include "core/nearest_word.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {

Grammar Grammar::builtin(std::string_view name, const WordsOfClass& words_of_class) {
  std::vector<std::string> names;
  for (const EmbeddedText& grammar : embedded_grammars()) {
    if (grammar.name == name) return parse(grammar.text, fmt::format("grammar {}", name), words_of_class);
    names.emplace_back(grammar.name);
  }
  throw Error(fmt::format("there is no grammar file \"{}\" and no built-in grammar of that name; built in are {}{}",
                          name, fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace semfuse
