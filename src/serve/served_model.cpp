#include "serve/served_model.h"

#include <algorithm>
#include <cmath>

#include "evaluation/knob_sweep.h"
#include "grammar/grammars.h"
#include "model/model_access.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "wire/api_error.h"

namespace semfuse {

namespace {

constexpr std::size_t kGrammarsKept = 16;

std::string key_of(const CompletionRequest::Language& language) {
  return language.json_schema.empty() ? "gbnf " + language.grammar : "schema " + language.json_schema;
}

bool is_built_in(const std::string& name) {
  return std::ranges::any_of(embedded_grammars(), [&](const EmbeddedText& each) { return each.name == name; });
}

// At most `wanted`, and no more than the model has positions for.
std::size_t tokens_of_a_text(const LanguageModel& model, std::size_t wanted) {
  const PretrainedNetwork* network = ModelAccess::pretrained(model);
  return network == nullptr ? wanted : std::min(wanted, network->context() - 1);  // <bos> is one.
}

}  // namespace

ServedModel::ServedModel(std::string id, const std::filesystem::path& path, std::size_t threads, std::size_t context)
    : id_(std::move(id)),
      checkpoint_(load_checkpoint(path)),
      context_(tokens_of_a_text(checkpoint_.model, context)),
      surfaces_(token_surfaces(checkpoint_.model)),
      labels_(checkpoint_.model.options().knobs, checkpoint_.model.feature_bank()),
      generator_(checkpoint_.model, threads),
      session_(generator_) {}

const std::string& ServedModel::surface(TokenId id, bool first) const {
  static const std::string kNothing;
  const auto place = static_cast<std::size_t>(id);
  if (first && id == surfaces_.leading_blank) return kNothing;
  return first ? surfaces_.first[place] : surfaces_.later[place];
}

Json ServedModel::description() const {
  Json knob_list = Json::array();
  for (const Knob& knob : knobs()) {
    Json each = {{"name", knob.name},     {"kind", to_string(knob.kind)},
                 {"minimum", knob.low},   {"maximum", knob.high},
                 {"values", knob.labels}, {"calibrated", model().calibration().contains(knob.name)}};
    knob_list.push_back(std::move(each));
  }
  Json grammars = Json::array();
  for (const EmbeddedText& each : embedded_grammars()) grammars.push_back(each.name);
  return {{"id", id_},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "semfuse"},
          {"semfuse",
           Json{{"knobs", std::move(knob_list)},
                {"features", model().options().fusion ? model().feature_bank().names() : std::vector<std::string>()},
                {"grammars", std::move(grammars)},
                {"vocabulary", model().vocabulary().size()},
                {"context", context_}}}};
}

Grammar ServedModel::read_grammar(const CompletionRequest::Language& language) const {
  if (!language.json_schema.empty()) return Grammar::from_json_schema(language.json_schema);
  const WordsOfClass words = words_of(model().feature_bank().lexicon());
  return is_built_in(language.grammar) ? Grammar::builtin(language.grammar, words)
                                       : Grammar::parse(language.grammar, "grammar", words);
}

std::shared_ptr<const CompiledGrammar> ServedModel::known_grammar(const CompletionRequest::Language& language) {
  const std::string key = key_of(language);
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(grammars_, key, [](const auto& entry) { return entry.first; });
  if (found == grammars_.end()) return nullptr;
  grammars_.splice(grammars_.begin(), grammars_, found);
  return grammars_.front().second;
}

std::shared_ptr<const CompiledGrammar> ServedModel::grammar(const CompletionRequest::Language& language) {
  if (auto known = known_grammar(language)) return known;
  std::shared_ptr<const CompiledGrammar> compiled;
  try {
    compiled = generator_.compile(read_grammar(language));
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    throw ApiError(400, error.what(), language.json_schema.empty() ? "grammar" : "response_format");
  }
  const std::lock_guard lock(mutex_);
  grammars_.emplace_front(key_of(language), compiled);
  if (grammars_.size() > kGrammarsKept) grammars_.pop_back();
  return compiled;
}

std::vector<TokenScore> ServedModel::scores(std::span<const TokenId> ids, std::span<const KnobSetting> settings,
                                            std::size_t top) {
  {
    const std::lock_guard lock(mutex_);
    if (!scores_) scores_ = std::make_unique<PromptScores>(model());
  }
  try {
    return scores_->of(ids, settings.empty() ? std::vector<float>() : request_row(knobs(), settings), top);
  } catch (const Error& error) {
    throw ApiError(400, error.what(), "prompt");
  }
}

Json ServedModel::realised(const std::string& text) const {
  std::vector<KnobLabel> labels;
  labels_.read(text, labels);
  Json json = Json::object();
  for (std::size_t k = 0; k < knobs().size(); ++k) {
    RealisedCount count(knobs()[k]);
    count.add(labels[k]);
    const std::vector<double> values = count.result().values;
    const bool shown = std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
    if (shown) json[knobs()[k].name] = knob_json(knobs()[k], values);
  }
  return json;
}

}  // namespace semfuse
