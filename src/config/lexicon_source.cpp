#include "config/lexicon_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/lexicons.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

constexpr std::string_view kNoLexicon = "none";

const EmbeddedText* builtin_lexicon(std::string_view name) {
  const std::vector<EmbeddedText>& lexicons = embedded_lexicons();
  const auto found =
      std::find_if(lexicons.begin(), lexicons.end(), [&](const EmbeddedText& lexicon) { return lexicon.name == name; });
  return found == lexicons.end() ? nullptr : &*found;
}

// The first few of them.
std::string list_of(const std::vector<std::string>& words) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, words.size()); ++i) shown.push_back(quoted_text(words[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "), words.size() > kShown ? ", ..." : "");
}

}  // namespace

bool is_builtin_lexicon(std::string_view name) {
  return name == kNoLexicon || builtin_lexicon(name) != nullptr;
}

Lexicon load_lexicon(const Experiment& experiment) {
  if (experiment.lexicon == kNoLexicon) return Lexicon({});
  const EmbeddedText* builtin = builtin_lexicon(experiment.lexicon);
  if (builtin == nullptr) return Lexicon::load(experiment.lexicon);
  return Lexicon::parse(builtin->text, fmt::format("lexicons/{}.tsv", builtin->name));
}

std::vector<std::string> lexicon_gaps(const LanguageModel& model, std::string_view lexicon_name) {
  const Lexicon& lexicon = model.feature_bank().lexicon();
  const std::vector<std::string>& entries = model.vocabulary().entries();
  std::vector<std::string> undescribed, unknown;
  for (std::size_t id = static_cast<std::size_t>(Vocabulary::kEos) + 1; id < entries.size(); ++id) {
    if (lexicon.find(entries[id]) == nullptr) undescribed.push_back(entries[id]);
  }
  for (const LexiconEntry& entry : lexicon.entries()) {
    if (!model.vocabulary().find(entry.word)) unknown.push_back(entry.word);
  }
  std::vector<std::string> gaps;
  if (!undescribed.empty()) {
    gaps.push_back(fmt::format("{}: lacks {} of the {} words of the corpus, which the model reads as class other: {}",
                               lexicon_name, undescribed.size(),
                               entries.size() - static_cast<std::size_t>(Vocabulary::kEos) - 1, list_of(undescribed)));
  }
  if (!unknown.empty()) {
    gaps.push_back(fmt::format("{}: {} of its {} words are not in the corpus, so the model does not learn them: {}",
                               lexicon_name, unknown.size(), lexicon.entries().size(), list_of(unknown)));
  }
  return gaps;
}

}  // namespace semfuse
