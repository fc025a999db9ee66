#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "command.h"
#include "features/natural_bank.h"
#include "io/json_writer.h"
#include "model/model_access.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/feature_bank.h"
#include "semfuse/synthetic_corpus.h"
#include "settings.h"
#include "table.h"

namespace semfuse {
namespace {

struct FeaturesFlags {
  std::vector<std::string> text;
  std::vector<std::string> settings;
  std::optional<std::string> lexicon;
  std::optional<std::string> bank;
  std::optional<std::string> tagger;
  std::optional<std::string> model;
  bool json = false;
};

// Of a float the shortest text that reads back as the same float, as a number: 0.9, not 0.8999999761581421.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

std::string as_json(const std::vector<std::string>& tokens, const std::vector<std::string>& names,
                    const FeatureMatrix& matrix) {
  Json rows = Json::array();
  for (std::size_t t = 0; t < matrix.num_rows; ++t) {
    Json row = Json::array();
    for (std::size_t f = 0; f < matrix.num_features; ++f) row.push_back(shortest(matrix.row(t)[f]));
    rows.push_back(std::move(row));
  }
  const Json object = {{"tokens", tokens}, {"features", names}, {"matrix", std::move(rows)}};
  return object.dump() + '\n';
}

std::string as_table(const Terminal& terminal, const std::vector<std::string>& tokens,
                     const std::vector<std::string>& names, const FeatureMatrix& matrix) {
  Table table({Table::Align::left, Table::Align::right});
  std::vector<Table::Cell> heading = {{}};
  for (const std::string& token : tokens) heading.push_back({.text = printable(token)});
  table.add(std::move(heading));
  for (std::size_t f = 0; f < names.size(); ++f) {
    std::vector<Table::Cell> row = {{.text = names[f]}};
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
  return table.text(terminal, 0, 2);
}

void show(const FeaturesFlags& options, std::vector<std::string> tokens, const std::vector<std::string>& names,
          const FeatureMatrix& matrix) {
  tokens.insert(tokens.begin(), "<bos>");
  tokens.emplace_back("<eos>");
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(tokens, names, matrix) : as_table(terminal, tokens, names, matrix));
}

constexpr const char* kEmpty = "the sentence is empty; write one in quotes, as \"I didn't like the soup at all.\"";

// The tokens of a model of any text, as it reads them.
int show_tokens(const FeaturesFlags& options, const LanguageModel& model, const std::string& text) {
  const std::vector<TokenId> ids = model.encode(text);
  if (ids.empty()) throw Error(kEmpty);
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const TokenId id : ids) tokens.push_back(model.vocabulary().word(id));
  const TokenFeatures& features = ModelAccess::features(model);
  show(options, std::move(tokens), features.names(), features.text_rows(ids));
  if (features.size() == 0) notify("the model reads no features");
  return 0;
}

// As the options say.
FeatureBank chosen_bank(const FeaturesFlags& options) {
  Experiment experiment;
  apply_settings(experiment, options.settings, "features");
  if (options.lexicon) experiment.lexicon = *options.lexicon;
  return make_feature_bank(experiment);
}

// Each word by itself and complete, as a word tokenizer would have it.
int show_natural(const FeaturesFlags& options, const std::string& text, const std::string& bank_name) {
  if (options.model) throw Error("--model has its own bank; leave out --bank and --tagger");
  Experiment experiment;
  experiment.features.kernel = MembershipKernel::gaussian;
  apply_settings(experiment, options.settings, "features");
  const NaturalBank bank(
      BankDeclaration::load(bank_name),
      options.tagger ? std::make_shared<const Tagger>(Tagger::load(*options.tagger)) : Tagger::english(),
      {options.lexicon ? Lexicon::load(*options.lexicon) : english_lexicon()}, experiment.features);
  std::vector<ScannedWord> places;
  for (const ScannedWord& word : scan_words(text)) {
    if (word.joined) {
      places.back().end = word.end;  // A word of several parts ("don't") is one token.
    } else {
      places.push_back(word);
    }
  }
  std::vector<std::string> words;
  std::vector<TokenText> tokens;
  for (const ScannedWord& place : places) {
    tokens.push_back({std::string_view(text).substr(place.begin, place.end - place.begin), true});
    words.emplace_back(tokens.back().bytes);
  }
  if (words.empty()) throw Error(kEmpty);
  show(options, std::move(words), bank.names(), bank.rows(tokens));
  return 0;
}

// Does the paper's lexicon, which has few words, know half of the sentence's different ones?
bool is_of_the_paper(const std::string& text) {
  const Lexicon lexicon = synthetic_lexicon();
  std::set<std::string> words;
  for (const ScannedWord& word : scan_words(text)) words.insert(text.substr(word.begin, word.end - word.begin));
  std::erase_if(words, [](const std::string& word) { return Surface::of(word).mark; });
  const auto num_known =
      std::count_if(words.begin(), words.end(), [&](const std::string& word) { return lexicon.find(word) != nullptr; });
  return 2 * static_cast<std::size_t>(num_known) >= words.size();
}

int show_features(const FeaturesFlags& options) {
  const std::string text = fmt::format("{}", fmt::join(options.text, " "));
  const bool plain = !options.model && !options.lexicon && options.settings.empty();
  if (options.bank || options.tagger || (plain && !split_words(text).empty() && !is_of_the_paper(text))) {
    return show_natural(options, text, options.bank.value_or("english"));
  }
  std::optional<Checkpoint> checkpoint;
  if (options.model) {
    if (options.lexicon || !options.settings.empty()) {
      throw Error("--model has its own lexicon and settings; leave out --lexicon and --set");
    }
    checkpoint = load_checkpoint(*options.model);
    if (checkpoint->model.tokenizer() != nullptr) return show_tokens(options, checkpoint->model, text);
  }
  const FeatureBank bank = checkpoint ? checkpoint->model.feature_bank() : chosen_bank(options);
  const Sentence sentence = split_words(text);
  if (sentence.empty())
    throw Error("the sentence is empty; write one in quotes, as \"Alice reviews the paper, very good!\"");
  std::vector<std::string> unknown;
  for (const std::string& word : sentence) {
    const std::string quoted = '"' + printable(word) + '"';
    if (bank.lexicon().find(word) == nullptr && std::find(unknown.begin(), unknown.end(), quoted) == unknown.end()) {
      unknown.push_back(quoted);
    }
  }
  show(options, sentence, bank.names(), bank.rows(sentence));
  if (!unknown.empty()) {
    const bool one = unknown.size() == 1;
    notify(fmt::format("the lexicon lacks {}; {} as other{}", fmt::join(unknown, ", "),
                       one ? "it counts" : "they count", options.model ? "" : " (--bank english reads any sentence)"));
  }
  return 0;
}

}  // namespace

Command features_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("features", "Print the semantic matrix of a sentence");
  const auto options = std::make_shared<FeaturesFlags>();
  app->add_option("SENTENCE", options->text, "The sentence, in quotes")->required();
  app->add_option("--set", options->settings, "Change a setting of the features; may be repeated")
      ->type_name("KEY=VALUE");
  app->add_option("--lexicon", options->lexicon, "What words mean, as a TSV file (default: the built-in one)")
      ->type_name("FILE");
  app->add_option("--bank", options->bank,
                  "Features of natural text: `english`, or a file that declares them (default: the paper's for its own "
                  "sentences, english for others)")
      ->type_name("BANK");
  app->add_option("--tagger", options->tagger, "What finds parts of speech for --bank (default: the English one)")
      ->type_name("FILE");
  app->add_option("--model", options->model, "Features as a trained model reads them: a run folder or its file")
      ->type_name("RUN");
  app->add_flag("--json", options->json, R"(Print {"tokens": [...], "features": [...], "matrix": [[...] per token]})");
  app->footer(
      "One line a feature, one column a token; a dot is an exact 0. Unless an option says how to read it, a sentence "
      "is "
      "shown with the paper's features if its lexicon knows half of the words, and with those of English text if "
      "not.\n\n"
      "Examples:\n"
      "  semfuse features \"Alice reviews the paper, very good!\"\n"
      "  semfuse features \"I didn't like the soup at all.\"\n"
      "  semfuse features --set features.kernel_base=0.5 \"Bob writes the report, slightly bad.\"\n"
      "  semfuse features --model run \"Alice reviews the paper, very good!\"\n"
      "  semfuse features --json \"Alice reviews the paper, very good!\"\n");
  return {.app = app, .purpose = "the features of this sentence", .run = [options] { return show_features(*options); }};
}

}  // namespace semfuse
