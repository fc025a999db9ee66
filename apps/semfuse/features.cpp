#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/feature_bank.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct Options {
  std::vector<std::string> text;
  std::vector<std::string> settings;
  std::optional<std::string> lexicon;
  std::optional<std::string> model;
  bool json = false;
};

// Of a float the shortest text that reads back as the same float, as a number: 0.9, not 0.8999999761581421.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

std::string as_json(const std::vector<std::string>& tokens, const FeatureBank& bank, const FeatureMatrix& matrix) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < matrix.num_rows; ++t) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::size_t f = 0; f < matrix.num_features; ++f) row.push_back(shortest(matrix.row(t)[f]));
    rows.push_back(std::move(row));
  }
  const nlohmann::ordered_json object = {{"tokens", tokens}, {"features", bank.names()}, {"matrix", std::move(rows)}};
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string as_table(const Terminal& terminal, const std::vector<std::string>& tokens, const FeatureBank& bank,
                     const FeatureMatrix& matrix) {
  Table table({Table::Align::left, Table::Align::right});
  std::vector<Table::Cell> heading = {{}};
  for (const std::string& token : tokens) heading.push_back({.text = printable(token)});
  table.add(std::move(heading));
  for (std::size_t f = 0; f < bank.size(); ++f) {
    std::vector<Table::Cell> row = {{.text = bank.names()[f]}};
    for (std::size_t t = 0; t < matrix.num_rows; ++t) {
      const float value = matrix.row(t)[f];
      if (value == 0.0f) {
        row.push_back({.text = ".", .dim = true});
      } else {
        row.push_back({.text = fmt::format("{:.2f}", value)});
      }
    }
    table.add(std::move(row));
  }
  // One clause fits a terminal of 100 columns, if need be with its columns closer together.
  constexpr std::size_t kRoom = 100;
  return table.text(terminal, 0, table.width(2) <= kRoom ? 2 : 1);
}

// As a model has it, with memberships that it learned, or as the options say.
FeatureBank chosen_bank(const Options& options) {
  if (options.model) {
    if (options.lexicon || !options.settings.empty()) {
      throw Error("--model has its own lexicon and settings; leave out --lexicon and --set");
    }
    return load_checkpoint(*options.model).model.feature_bank();
  }
  Experiment experiment;
  apply_settings(experiment, options.settings, "features");
  return FeatureBank(options.lexicon ? Lexicon::load(*options.lexicon) : Lexicon::synthetic(), experiment.features);
}

int show_features(const Options& options) {
  const FeatureBank bank = chosen_bank(options);
  const Sentence sentence = split_words(fmt::format("{}", fmt::join(options.text, " ")));
  if (sentence.empty())
    throw Error("the sentence is empty; write one in quotes, as \"Alice reviews the paper, very good!\"");

  const FeatureMatrix matrix = bank.rows(sentence);
  std::vector<std::string> tokens = {"<bos>"};
  tokens.insert(tokens.end(), sentence.begin(), sentence.end());
  tokens.emplace_back("<eos>");

  std::vector<std::string> unknown;
  for (const std::string& word : sentence) {
    const std::string quoted = '"' + printable(word) + '"';
    if (bank.lexicon().find(word) == nullptr && std::find(unknown.begin(), unknown.end(), quoted) == unknown.end()) {
      unknown.push_back(quoted);
    }
  }
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(tokens, bank, matrix) : as_table(terminal, tokens, bank, matrix));
  if (!unknown.empty()) {
    const bool one = unknown.size() == 1;
    Terminal(stderr).print(fmt::format("semfuse: the lexicon lacks {}; {} as other\n", fmt::join(unknown, ", "),
                                       one ? "it counts" : "they count"));
  }
  return 0;
}

}  // namespace

Command features_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("features", "Print the semantic matrix of a sentence");
  const auto options = std::make_shared<Options>();
  app->add_option("SENTENCE", options->text, "The sentence, in quotes")->required();
  app->add_option("--set", options->settings, "Change a setting of the features; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app->add_option("--lexicon", options->lexicon, "What words mean, as a TSV file (default: the built-in one)")
      ->type_name("FILE");
  app->add_option("--model", options->model, "Features as a trained model reads them: a run folder or its file")
      ->type_name("RUN");
  app->add_flag("--json", options->json, R"(Print {"tokens": [...], "features": [...], "matrix": [[...] per token]})");
  app->footer(
      "One line a feature, one column a token; a dot is an exact 0.\n\n"
      "Examples:\n"
      "  semfuse features \"Alice reviews the paper, very good!\"\n"
      "  semfuse features --set features.kernel_base=0.5 \"Bob writes the report, slightly bad.\"\n"
      "  semfuse features --model run \"Alice reviews the paper, very good!\"\n"
      "  semfuse features --json \"Alice reviews the paper, very good!\"\n");
  return {.app = app, .purpose = "the features of this sentence", .run = [options] { return show_features(*options); }};
}

}  // namespace semfuse
