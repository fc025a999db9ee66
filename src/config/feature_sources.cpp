#include "config/feature_sources.h"

#include <algorithm>

#include "config/lexicon_source.h"
#include "features/banks.h"
#include "features/feature_bank_access.h"
#include "features/natural_bank.h"

namespace semfuse {
namespace {

constexpr const char* kEnglish = "english";
constexpr const char* kNone = "none";

std::shared_ptr<const Tagger> load_tagger(const std::string& name) {
  if (name == kNone) return nullptr;
  if (name == kEnglish) return Tagger::english();
  return std::make_shared<const Tagger>(Tagger::load(name));
}

}  // namespace

bool FeatureSource::is_file(const Experiment& experiment) const {
  const std::string& said = experiment.*name;
  if (name == &Experiment::lexicon) return !is_builtin_lexicon(said);
  if (experiment.features.bank != FeatureSet::natural) return false;
  if (name == &Experiment::tagger) return said != kEnglish && said != kNone;
  return std::ranges::none_of(embedded_banks(), [&](const EmbeddedText& bank) { return bank.name == said; });
}

const std::vector<FeatureSource>& feature_sources() {
  static const std::vector<FeatureSource> sources = {{&Experiment::lexicon, "lexicon.tsv"},
                                                     {&Experiment::declaration, "features.bank"},
                                                     {&Experiment::tagger, "words.tagger"}};
  return sources;
}

VectorSource vector_source(const Experiment& experiment) {
  if (experiment.vectors == kNone) return VectorSource::none;
  return experiment.vectors == "data" ? VectorSource::data : VectorSource::file;
}

FeatureBank make_feature_bank(const Experiment& experiment) {
  Lexicon lexicon = load_lexicon(experiment);
  if (experiment.features.bank != FeatureSet::natural) return FeatureBank(std::move(lexicon), experiment.features);
  return FeatureBankAccess::of(
      std::make_shared<const NaturalBank>(BankDeclaration::load(experiment.declaration), load_tagger(experiment.tagger),
                                          std::vector<Lexicon>{std::move(lexicon)}, experiment.features));
}

}  // namespace semfuse
