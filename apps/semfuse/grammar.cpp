#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "grammar_file.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "semfuse/checkpoint.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/synthetic_corpus.h"
#include "terminal.h"

namespace semfuse {

Grammar find_grammar(const std::string& name_or_path, const Lexicon& lexicon) {
  std::error_code ignored;
  constexpr std::string_view kRegex = "regex:";
  if (name_or_path.starts_with(kRegex)) return Grammar::from_regex(name_or_path.substr(kRegex.size()));
  const bool looks_like_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".gbnf") || name_or_path.ends_with(".json");
  if (looks_like_path || std::filesystem::exists(name_or_path, ignored))
    return Grammar::load(name_or_path, words_of(lexicon));
  return Grammar::builtin(name_or_path, words_of(lexicon));
}

namespace {

struct GrammarFlags {
  std::string action;
  std::string grammar;
  std::vector<std::string> sentences;
  std::optional<std::string> run;
  std::string whitespace = "flexible";
  bool any_order = false;
  bool json = false;
};

JsonSchemaOptions schema_options(const GrammarFlags& options) {
  using Whitespace = JsonSchemaOptions::Whitespace;
  return {.whitespace = options.whitespace == "none"     ? Whitespace::none
                        : options.whitespace == "spaced" ? Whitespace::spaced
                                                         : Whitespace::flexible,
          .any_order = options.any_order};
}

int translate(const GrammarFlags& options) {
  if (!options.sentences.empty()) {
    throw Error(fmt::format("grammar {} takes one {}; put it in quotes", options.action,
                            options.action == "from-regex" ? "regular expression" : "file"));
  }
  constexpr std::size_t kMaxSchemaBytes = 1 << 20;
  const Grammar grammar = options.action == "from-regex"
                              ? Grammar::from_regex(options.grammar)
                              : Grammar::from_json_schema(read_text(options.grammar, kMaxSchemaBytes), options.grammar,
                                                          schema_options(options));
  Terminal(stdout).print(options.json ? Json({{"gbnf", grammar.gbnf()}}).dump() + '\n' : grammar.gbnf());
  return 0;
}

std::string verdict(const std::string& sentence, const Grammar::Match& match) {
  if (match.accepted) return fmt::format("in the language: \"{}\"\n", printable(sentence));
  const std::string before = sentence.substr(0, match.offset);
  const std::string found = match.offset < sentence.size()
                                ? fmt::format("\"{}\"", printable(sentence.substr(match.offset, 20)))
                                : std::string("the end");
  return fmt::format("not in the language: \"{}\"\n  after \"{}\" (byte {}) comes {}; expected {}\n",
                     printable(sentence), printable(before), match.offset, found, fmt::join(match.expected, " or "));
}

// What is known of a grammar and its sentences so far, in both forms of output.
struct Report {
  std::string text;
  Json object;
  bool all_accepted = true;
};

void check(const GrammarFlags& options, Report& report) {
  report.object = {{"grammar", options.grammar}, {"well_formed", false}, {"sentences", Json::array()}};
  std::optional<Checkpoint> checkpoint;
  if (options.run) checkpoint = load_checkpoint(*options.run);
  const Lexicon lexicon = checkpoint ? checkpoint->model.feature_bank().lexicon() : synthetic_lexicon();
  const Grammar grammar = find_grammar(options.grammar, lexicon);
  report.object["well_formed"] = true;
  if (!grammar.settings().empty()) {
    Json settings = Json::array();
    for (const RuleSetting& setting : grammar.settings()) settings.push_back(setting.knob + '=' + setting.value);
    report.object["settings"] = std::move(settings);
  }
  std::string promise;
  if (checkpoint) {
    const CompiledGrammar compiled(grammar, token_surfaces(checkpoint->model));  // Throws if it cannot.
    report.object["promises_end"] = compiled.promises_end();
    if (!compiled.promises_end()) promise = ", but a text may come to where no token goes on";
    rule_settings(grammar, checkpoint->model.options().knobs);
  }
  report.text =
      fmt::format("{}: well formed{}{}{}\n", printable(options.grammar),
                  checkpoint ? "; the model's vocabulary can complete it" : "", promise,
                  checkpoint && !grammar.settings().empty() ? "; the model can be asked for its settings" : "");
  for (const std::string& sentence : options.sentences) {
    const Grammar::Match match = grammar.match(sentence);
    report.all_accepted = report.all_accepted && match.accepted;
    report.text += verdict(sentence, match);
    Json entry = {{"text", sentence}, {"accepted", match.accepted}};
    if (!match.accepted) {
      entry["offset"] = match.offset;
      entry["expected"] = match.expected;
    }
    report.object["sentences"].push_back(std::move(entry));
  }
}

int check(const GrammarFlags& options) {
  Report report;
  const auto print_json = [&report] { Terminal(stdout).print(report.object.dump() + '\n'); };
  try {
    check(options, report);
  } catch (const Error& error) {
    report.object["error"] = error.what();
    if (options.json) print_json();
    throw;
  }
  if (options.json) {
    print_json();
  } else {
    const Terminal terminal(stdout);
    terminal.print(terminal.flowed_lines(report.text));
  }
  return report.all_accepted ? 0 : 1;
}

}  // namespace

Command grammar_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("grammar", "Check grammars; write them from schemas");
  const auto options = std::make_shared<GrammarFlags>();
  app->add_option("ACTION", options->action,
                  "check a grammar and sentences against it; write GBNF from-schema or from-regex")
      ->required()
      ->choices({"check", "from-schema", "from-regex"});
  app->add_option(
         "FILE", options->grammar,
         "A GBNF file, a JSON Schema (.json), regex:EXPRESSION, or a built-in grammar: one-clause, two-clause, "
         "json; for from-regex the expression")
      ->required();
  app->add_option("SENTENCE", options->sentences, "Sentences to look for in the language");
  app->add_option("--run", options->run,
                  "Take the lexicon of this model (otherwise the built-in one), and see whether its vocabulary can "
                  "complete the grammar and its knobs take what rules are set to")
      ->type_name("RUN");
  app->add_option("--whitespace", options->whitespace,
                  "from-schema: white space between the parts of JSON (flexible: up to a line end and 20 blanks)")
      ->choices({"none", "spaced", "flexible"});
  app->add_flag("--any-order", options->any_order, "from-schema: members of objects in any order");
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Exit code 0 if every sentence is in the language, 1 if one is not, 2 if the grammar is not well formed, which "
      "the\n"
      "JSON object then says under \"error\".\n\n"
      "Examples:\n"
      "  semfuse grammar check grammars/two-clause.gbnf\n"
      "  semfuse grammar check one-clause \"Alice reviews the paper, very good!\" \"Alice reviews\"\n"
      "  semfuse grammar from-schema person.json --whitespace none\n"
      "  semfuse grammar from-regex '[A-Z][a-z]+ [0-9]{1,3}'\n");
  return {.app = app, .purpose = "this grammar", .run = [options] {
            return options->action == "check" ? check(*options) : translate(*options);
          }};
}

}  // namespace semfuse
