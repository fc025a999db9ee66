#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "grammar_file.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string run;
  std::string n = "1";
  std::string seed = "1";
  std::string prompt;
  std::optional<std::string> preset;
  std::optional<std::string> grammar;
  std::optional<std::string> temperature;
  std::optional<std::string> top_k;
  std::optional<std::string> top_p;
  std::optional<std::string> nucleus;
  std::optional<std::string> repetition_penalty;
  std::optional<std::string> last_k;
  std::vector<std::string> knobs;
  std::optional<std::string> guidance;
  std::vector<std::string> controls;
  bool soft_only = false;
  std::optional<std::string> alpha;
  std::optional<std::string> mixture_temperature;
  std::optional<std::string> mixture_top_p;
  std::optional<std::string> max_tokens;
  std::optional<std::string> threads;
  bool greedy = false;
  bool json = false;
  bool explain = false;
};

// "pos_high=0.95,str_high=0.9" may come in one option or in several.
std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

// Says what one of the paper's names became.
KnobSetting read_knob(std::span<const Knob> knobs, const std::string& text) {
  KnobSetting setting = parse_setting(knobs, text);
  if (!text.starts_with(setting.knob + '=')) {
    Terminal(stderr).print(fmt::format("semfuse: {} is read as {}\n", printable(text), to_string(knobs, setting)));
  }
  return setting;
}

GenerationRequest request_of(const Options& options, const LanguageModel& model) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t kMostTokens = 100'000;
  GenerationRequest request;
  std::optional<std::string> grammar = options.grammar;
  if (options.preset) {
    const GenerationPreset& preset = generation_preset(*options.preset);
    request.sampling = preset.sampling;
    request.repetition = preset.repetition;
    request.controls = preset.controls;
    if (!grammar) grammar = "one-clause";
  }
  request.prompt = options.prompt;
  request.seed = parse_whole_number("--seed", options.seed, 0, kMost).value();
  request.explain = options.explain;
  request.sampling.temperature =
      parse_number("--temperature", options.temperature).value_or(request.sampling.temperature);
  request.sampling.top_k = parse_whole_number("--top-k", options.top_k, 0, kMost).value_or(request.sampling.top_k);
  request.sampling.top_p = parse_number("--top-p", options.top_p).value_or(request.sampling.top_p);
  if (options.nucleus) request.sampling.nucleus = *options.nucleus == "paper" ? Nucleus::paper : Nucleus::usual;
  request.sampling.greedy = options.greedy;
  request.repetition.penalty =
      parse_number("--repetition-penalty", options.repetition_penalty).value_or(request.repetition.penalty);
  request.repetition.last_k =
      parse_whole_number("--last-k", options.last_k, 0, kMost).value_or(request.repetition.last_k);
  request.max_tokens =
      parse_whole_number("--max-tokens", options.max_tokens, 1, kMostTokens).value_or(request.max_tokens);
  for (const std::string& text : options.knobs) request.knobs.push_back(read_knob(model.options().knobs, text));
  request_row(model.options().knobs, request.knobs);  // Throws if they do not fit together.
  request.guidance = parse_number("--guidance", options.guidance).value_or(request.guidance);
  for (const std::string& assignment : split_at_commas(options.controls)) set_control(request.controls, assignment);
  request.controls.soft_only = options.soft_only;
  for (ClassMixture* mixture : {&request.controls.positive, &request.controls.negative}) {
    mixture->alpha = parse_number("--alpha", options.alpha).value_or(mixture->alpha);
    mixture->temperature =
        parse_number("--mixture-temperature", options.mixture_temperature).value_or(mixture->temperature);
    mixture->top_p = parse_number("--mixture-top-p", options.mixture_top_p).value_or(mixture->top_p);
  }
  if (request.controls.active() && !grammar) {
    throw Error(
        "--control acts where a grammar leaves a choice of adjectives, intensifiers or marks; add --grammar "
        "one-clause or a file of your own");
  }
  if (grammar) {
    request.grammar = std::make_shared<CompiledGrammar>(find_grammar(*grammar, model.feature_bank().lexicon()),
                                                        TokenSurfaces::of(model.vocabulary()));
    rule_settings(request.grammar->grammar(), model.options().knobs);  // Throws if the model cannot be asked for them.
  }
  const bool rules_ask = request.grammar && !request.grammar->grammar().settings().empty();
  if (options.guidance && request.knobs.empty() && !rules_ask) {
    throw Error("--guidance goes past what knobs are set to; add --knob, or settings in a grammar");
  }
  return request;
}

std::string_view name_of(Generation::Finish finish) {
  return finish == Generation::Finish::ended ? "end" : "max_tokens";
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
  return {{"word", token.word},
          {"slot", token.slot ? Json(to_string(*token.slot)) : Json()},
          {"forced", token.forced},
          {"model", e.model},
          {"grammar", e.grammar},
          {"controls", e.controls},
          {"sampler", e.sampler},
          {"removed_by_grammar", e.removed_by_grammar},
          {"removed_by_controls", e.removed_by_controls},
          {"removed_by_sampler", e.removed_by_sampler},
          {"settings", e.settings},
          {"model_alone", choices_json(e.model_choices)},
          {"drawn_from", choices_json(e.final_choices)}};
}

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
  if (generation.unmet_controls) object["unmet_controls"] = true;
  if (!generation.expected.empty()) object["expected"] = generation.expected;
  if (explain) {
    Json explanations = Json::array();
    for (const GeneratedToken& token : generation.tokens) explanations.push_back(token_json(token));
    object["explanation"] = std::move(explanations);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string explained(const Terminal& terminal, const Generation& generation) {
  const bool rules_ask = std::ranges::any_of(
      generation.tokens, [](const GeneratedToken& token) { return !token.explanation->settings.empty(); });
  std::string text = terminal.bold(printable(generation.text)) + '\n';
  Table table({Table::Align::left, Table::Align::left, Table::Align::right, Table::Align::right, Table::Align::right,
               Table::Align::right, Table::Align::right, Table::Align::left, Table::Align::left});
  std::vector<Table::Cell> header = {{"word"},     {"slot"},  {"model"},   {"grammar"},
                                     {"controls"}, {"drawn"}, {"removed"}, {"the model alone"}};
  if (rules_ask) header.push_back({"setting"});
  table.add(header);
  for (const GeneratedToken& token : generation.tokens) {
    const TokenExplanation& e = *token.explanation;
    const auto number = [](double value) { return Table::Cell{.text = fmt::format("{:.3f}", value)}; };
    std::vector<std::string> choices;
    for (const auto& choice : e.model_choices)
      choices.push_back(fmt::format("{} {:.2f}", printable(choice.word), choice.probability));
    std::vector<Table::Cell> cells = {{.text = printable(token.word)},
                                      {.text = token.forced ? "forced"
                                               : token.slot ? std::string(to_string(*token.slot))
                                                            : "",
                                       .dim = true},
                                      number(e.model),
                                      number(e.grammar),
                                      number(e.controls),
                                      number(e.sampler),
                                      number(e.removed_by_grammar + e.removed_by_controls),
                                      {.text = fmt::format("{}", fmt::join(choices, "  ")), .dim = true}};
    if (rules_ask) cells.push_back({.text = printable(fmt::format("{}", fmt::join(e.settings, ", ")))});
    table.add(cells);
  }
  return text + table.text(terminal, 2, 2) + '\n';
}

int generate(const Options& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const GenerationRequest request = request_of(options, checkpoint.model);
  const Generator generator(checkpoint.model, parse_threads(options.threads));
  const Terminal out(stdout);
  constexpr std::uint64_t kAtOnce = 512;  // Sentences appear while the next ones are in the making.
  const std::uint64_t n = parse_whole_number("--n", options.n, 0, std::numeric_limits<std::int64_t>::max()).value();
  std::uint64_t cut = 0;
  std::uint64_t unmet = 0;
  std::vector<GenerationRequest> requests;
  for (std::uint64_t first = 0; first < n; first += requests.size()) {
    requests.assign(std::min(kAtOnce, n - first), request);
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i].index = first + i;
    std::string text;
    for (const Generation& generation : generator.generate(requests)) {
      text += options.json      ? json_line(generation, options.explain)
              : options.explain ? explained(out, generation)
                                : printable(generation.text) + '\n';
      if (generation.finish == Generation::Finish::out_of_tokens) ++cut;
      if (generation.unmet_controls) ++unmet;
    }
    out.print(text);
  }
  if (cut > 0) {
    Terminal(stderr).print(fmt::format("semfuse: {} of {} sentences reached --max-tokens {} before their end\n",
                                       with_separators(cut), with_separators(n), request.max_tokens));
  }
  if (unmet > 0) {
    Terminal(stderr).print(
        fmt::format("semfuse: in {} of {} sentences the grammar allowed nothing of what a control asks for\n",
                    with_separators(unmet), with_separators(n)));
  }
  return 0;
}

}  // namespace

Command generate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("generate", "Generate sentences with a trained model");
  const auto options = std::make_shared<Options>();
  std::vector<std::string> presets;
  for (const GenerationPreset& preset : generation_presets()) presets.push_back(preset.name);
  app->add_option("RUN", options->run, "A run folder or a .safetensors file")->required();
  app->add_option("--n", options->n, "Number of sentences (1)")->type_name("N");
  app->add_option("--seed", options->seed, "Same seed, same sentences (1)")->type_name("N");
  app->add_option("--prompt", options->prompt, "How every sentence begins")->type_name("TEXT");
  app->add_option("--grammar", options->grammar, "A GBNF file, or a built-in grammar: one-clause, two-clause, json")
      ->type_name("FILE");
  app->add_option("--preset", options->preset,
                  fmt::format("Settings of the paper's tables, with its grammar: {}", fmt::join(presets, ", ")))
      ->type_name("NAME");
  app->add_option("--knob", options->knobs,
                  "NAME=VALUE, what the model is asked for: polarity=0.7, strength=0.35, mark=?:0.6,.:0.4; may be "
                  "repeated; `semfuse inspect RUN` lists a model's knobs")
      ->type_name("SETTING")
      ->allow_extra_args(false);
  app->add_option("--guidance", options->guidance,
                  "How far past the knobs' settings; 1: as calibrated, 0: ignore them (1)")
      ->type_name("W");
  app->add_option("--control", options->controls,
                  fmt::format("NAME=VALUE,... from 0 to 1, with a grammar: {}", fmt::join(control_names(), ", ")))
      ->type_name("LIST")
      ->allow_extra_args(false);
  app->add_flag("--soft-only", options->soft_only, "Controls only shift probabilities; nothing is ruled out");
  app->add_option("--alpha", options->alpha, "Share of the uniform part in the class mixture of hard requests")
      ->type_name("A");
  app->add_option("--mixture-temperature", options->mixture_temperature, "Temperature of the class mixture")
      ->type_name("T");
  app->add_option("--mixture-top-p", options->mixture_top_p, "Nucleus of the class mixture")->type_name("P");
  app->add_option("--temperature", options->temperature, "Divides the logits; 0 is greedy (1)")->type_name("T");
  app->add_option("--top-k", options->top_k, "Keep the K most probable tokens; 0: all (0)")->type_name("K");
  app->add_option("--top-p", options->top_p, "Keep the nucleus of this mass (1)")->type_name("P");
  app->add_option("--nucleus", options->nucleus, "usual: the token that crosses the mass stays; paper: it goes (usual)")
      ->check(CLI::IsMember({"usual", "paper"}));
  app->add_option("--repetition-penalty", options->repetition_penalty,
                  "ln of it is taken off the logits of recent tokens (1: none)")
      ->type_name("X");
  app->add_option("--last-k", options->last_k, "How many tokens are recent (3)")->type_name("K");
  app->add_flag("--greedy", options->greedy, "Always the most probable token");
  app->add_option("--max-tokens", options->max_tokens, "Most tokens of a sentence, prompt included (64)")
      ->type_name("N");
  app->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  app->add_flag("--json", options->json, "One JSON object a line: text, tokens, log_probabilities, grammar_state, ...");
  app->add_flag("--explain", options->explain, "Token by token: the model alone, grammar, controls, sampler");
  app->footer(
      "Without options the sentences follow the model's own distribution (<pad> and <bos> left out).\n\n"
      "Examples:\n"
      "  semfuse generate run --n 5 --seed 1\n"
      "  semfuse generate run --grammar one-clause --prompt \"Carol starts the model,\"\n"
      "  semfuse generate run --n 5 --knob polarity=0.7 --knob strength=0.35 --knob 'mark=?:0.6,.:0.4'\n"
      "  semfuse generate run --preset paper-positive --n 5\n"
      "  semfuse generate run --grammar one-clause --control neg_high=0.95,is_question=1 --explain\n");
  return {.app = app, .purpose = "generating", .run = [options] { return generate(*options); }};
}

}  // namespace semfuse
