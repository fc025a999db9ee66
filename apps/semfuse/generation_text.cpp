#include "generation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "io/json_writer.h"
#include "table.h"

namespace semfuse {
namespace {

std::string_view name_of(Generation::Finish finish) {
  return finish == Generation::Finish::ended ? "end" : finish == Generation::Finish::failed ? "failed" : "max_tokens";
}

std::string_view name_of(Generation::GrammarState state) {
  switch (state) {
    case Generation::GrammarState::complete:
      return "complete";
    case Generation::GrammarState::incomplete:
      return "incomplete";
    default:
      return "none";
  }
}

Json choices_json(const std::vector<TokenExplanation::Choice>& choices) {
  Json list = Json::array();
  for (const auto& choice : choices) list.push_back({{"word", choice.word}, {"probability", choice.probability}});
  return list;
}

Json token_json(const GeneratedToken& token) {
  const TokenExplanation& e = *token.explanation;
  Json json = {{"word", token.word},
               {"slot", e.slot.empty() ? Json() : Json(e.slot)},
               {"forced", token.forced},
               {"model", e.model},
               {"grammar", e.grammar},
               {"controls", e.rules},
               {"sampler", e.sampler},
               {"removed_by_grammar", e.removed_by_grammar},
               {"removed_by_controls", e.removed_by_rules},
               {"removed_by_sampler", e.removed_by_sampler},
               {"settings", e.settings},
               {"model_alone", choices_json(e.model_choices)},
               {"drawn_from", choices_json(e.final_choices)}};
  if (e.unsteered) json["unsteered"] = *e.unsteered;
  return json;
}

}  // namespace

std::string json_line(const Generation& generation, bool explain) {
  Json log_probabilities = Json::array();
  Json tokens = Json::array();
  for (const GeneratedToken& token : generation.tokens) {
    tokens.push_back(token.word);
    log_probabilities.push_back(token.log_probability);
  }
  Json object = {{"text", generation.text},
                 {"prompt_tokens", generation.prompt_tokens},
                 {"tokens", std::move(tokens)},
                 {"log_probabilities", std::move(log_probabilities)},
                 {"finish", name_of(generation.finish)},
                 {"grammar_state", name_of(generation.grammar)}};
  if (!generation.unmet.empty()) object["unmet_controls"] = true;
  if (!generation.expected.empty()) object["expected"] = generation.expected;
  if (generation.error) object["error"] = *generation.error;
  if (explain) {
    Json explanations = Json::array();
    for (const GeneratedToken& token : generation.tokens) explanations.push_back(token_json(token));
    object["explanation"] = std::move(explanations);
  }
  return object.dump() + '\n';
}

std::string explained(const Terminal& terminal, const Generation& generation) {
  const bool rules_ask = std::ranges::any_of(
      generation.tokens, [](const GeneratedToken& token) { return !token.explanation->settings.empty(); });
  std::string text = terminal.bold(printable(generation.text)) + '\n';
  const bool steered = std::ranges::any_of(
      generation.tokens, [](const GeneratedToken& token) { return token.explanation->unsteered.has_value(); });
  std::vector<Table::Align> aligned(steered ? 8 : 7, Table::Align::right);
  aligned[0] = aligned[1] = Table::Align::left;
  aligned.resize(aligned.size() + 2, Table::Align::left);
  Table table(aligned);
  std::vector<Table::Cell> header = {{"word"},     {"slot"},  {"model"},   {"grammar"},
                                     {"controls"}, {"drawn"}, {"removed"}, {"the model alone"}};
  if (steered) header.insert(header.begin() + 2, {"unsteered"});
  if (rules_ask) header.push_back({"setting"});
  table.add(header);
  for (const GeneratedToken& token : generation.tokens) {
    const TokenExplanation& e = *token.explanation;
    const auto number = [](double value) { return Table::Cell{.text = fmt::format("{:.3f}", value)}; };
    std::vector<std::string> choices;
    for (const auto& choice : e.model_choices)
      choices.push_back(fmt::format("{} {:.2f}", printable(choice.word), choice.probability));
    std::vector<Table::Cell> cells = {{.text = printable(token.word)},
                                      {.text = token.forced ? "forced" : e.slot, .dim = true},
                                      number(e.model),
                                      number(e.grammar),
                                      number(e.rules),
                                      number(e.sampler),
                                      number(e.removed_by_grammar + e.removed_by_rules),
                                      {.text = fmt::format("{}", fmt::join(choices, "  ")), .dim = true}};
    if (steered) cells.insert(cells.begin() + 2, e.unsteered ? number(*e.unsteered) : Table::Cell());
    if (rules_ask) cells.push_back({.text = printable(fmt::format("{}", fmt::join(e.settings, ", ")))});
    table.add(cells);
  }
  return text + table.text(terminal, 2, 2) + '\n';
}

}  // namespace semfuse
