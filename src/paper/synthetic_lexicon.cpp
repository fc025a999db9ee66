#include <algorithm>

#include "features/lexicons.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {

Lexicon synthetic_lexicon() {
  const std::vector<EmbeddedText>& lexicons = embedded_lexicons();
  const auto found = std::find_if(lexicons.begin(), lexicons.end(),
                                  [](const EmbeddedText& lexicon) { return lexicon.name == "synthetic"; });
  return Lexicon::parse(found->text, "lexicons/synthetic.tsv");
}

}  // namespace semfuse
