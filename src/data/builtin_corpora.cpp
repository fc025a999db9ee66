#include "data/builtin_corpora.h"

#include <algorithm>

namespace semfuse {

const EmbeddedText* find_builtin_corpus(const std::filesystem::path& name) {
  const std::vector<EmbeddedText>& all = embedded_corpora();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const EmbeddedText& corpus) { return name == corpus.name; });
  return found == all.end() ? nullptr : &*found;
}

std::string absolute_data_name(const std::string& file) {
  return find_builtin_corpus(file) != nullptr ? file : std::filesystem::absolute(file).lexically_normal().string();
}

std::vector<std::string> builtin_corpus_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& corpus : embedded_corpora()) names.emplace_back(corpus.name);
  return names;
}

}  // namespace semfuse
