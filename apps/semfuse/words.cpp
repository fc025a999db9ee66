#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "io/file.h"
#include "run_folder.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string run;
  std::string lexicon;
  std::string out;
  bool json = false;
};

int add_words(const Options& options) {
  const std::filesystem::path path = RunFolder::checked(options.out);
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const std::vector<LexiconEntry> words = Lexicon::load(options.lexicon).entries();
  const LanguageModel larger = [&] {
    try {
      return checkpoint.model.with_words(words);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", options.lexicon, error.what()));
    }
  }();
  // No training wrote this folder, and none can go on in it: it holds no log and no checkpoints.
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) throw Error(fmt::format("{}: cannot create the folder: {}", path.string(), code.message()));
  const std::filesystem::path file = path / "model.safetensors";
  save_checkpoint(file, larger, checkpoint.experiment);
  write_atomically(path / "config.toml", to_toml(checkpoint.experiment));
  Terminal(stdout).print(fmt::format("{} {} added, {} in all; {} holds them\n", words.size(),
                                     words.size() == 1 ? "word" : "words", larger.vocabulary().size(),
                                     printable(file.string())));
  return 0;
}

// What is known of a word's identity.
const char* speaks_through(const LanguageModel& model, std::size_t id) {
  if (model.seen()[id]) return "own identity and features";
  return "features alone";
}

int list_words(const Options& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const LanguageModel& model = checkpoint.model;
  const std::vector<std::string> held_out = synthetic_corpus_options(checkpoint.experiment).held_out;
  // A closed vocabulary has words that training never showed too: the held-out ones, whose identity is noise.
  const auto was_seen = [&](std::size_t id) {
    return model.seen()[id] &&
           (model.options().open_vocabulary ||
            std::find(held_out.begin(), held_out.end(), model.vocabulary().entries()[id]) == held_out.end());
  };
  Json list = Json::array();
  Table table({Table::Align::right, Table::Align::left});
  table.add({{.text = "id"}, {.text = "word"}, {.text = "class"}, {.text = "in training"}, {.text = "speaks through"}});
  for (std::size_t id = static_cast<std::size_t>(Vocabulary::kEos) + 1; id < model.vocabulary().size(); ++id) {
    const std::string& word = model.vocabulary().entries()[id];
    const LexiconEntry* entry = model.feature_bank().lexicon().find(word);
    std::string description(to_string(entry == nullptr ? WordClass::other : entry->word_class));
    if (entry != nullptr && entry->word_class == WordClass::adjective)
      description += fmt::format(" {:+}", entry->polarity);
    if (entry != nullptr && entry->word_class == WordClass::intensifier)
      description += fmt::format(" {}", entry->strength);
    const char* speech = model.options().output_features ? speaks_through(model, id)
                         : was_seen(id)                  ? "own identity"
                                                         : "untrained identity";
    table.add({{.text = std::to_string(id)},
               {.text = printable(word)},
               {.text = description},
               {.text = was_seen(id) ? "seen" : "never"},
               {.text = speech}});
    list.push_back({{"id", id},
                    {"word", word},
                    {"class", to_string(entry == nullptr ? WordClass::other : entry->word_class)},
                    {"polarity", entry == nullptr ? 0.0 : entry->polarity},
                    {"strength", entry == nullptr ? 0.0 : entry->strength},
                    {"seen", was_seen(id)},
                    {"features_alone", !model.seen()[id]}});
  }
  const Terminal terminal(stdout);
  terminal.print(options.json
                     ? Json{{"words", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'
                     : table.text(terminal, 0, 2));
  return 0;
}

}  // namespace

Command words_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("words", "List the words of a model, or add some by describing them");
  app->require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App* add = app->add_subcommand("add", "Add words to a trained model without training");
  add->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  add->add_option("--lexicon", options->lexicon, "The words: tab-separated word, class, polarity, strength")
      ->type_name("FILE")
      ->required();
  add->add_option("--out", options->out, "Folder for the larger model, made anew")->type_name("RUN2")->required();
  CLI::App* list = app->add_subcommand("list", "Show which words were seen in training");
  list->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  list->add_flag("--json", options->json, "Print one JSON object");
  add->footer(
      "The model keeps its weights and speaks the new words through their features.\n\n"
      "Examples:\n"
      "  printf 'word\\tclass\\tpolarity\\nsuperb\\tadjective\\t1\\n' >new.tsv\n"
      "  semfuse words add run --lexicon new.tsv --out run2\n");
  list->footer(
      "Examples:\n"
      "  semfuse words list run\n"
      "  semfuse words list run --json\n");
  for (CLI::App* command : {add, list}) command->allow_extras();
  app->footer(
      "Examples:\n"
      "  semfuse words list run\n"
      "  semfuse words add run --lexicon new.tsv --out run2\n");
  return {.app = app, .purpose = "this model", .run = [options, add] {
            return add->parsed() ? add_words(*options) : list_words(*options);
          }};
}

}  // namespace semfuse
