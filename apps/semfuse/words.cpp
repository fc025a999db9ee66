#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "command.h"
#include "data/held_out_words.h"
#include "io/json_writer.h"
#include "run/word_addition.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "table.h"

namespace semfuse {
namespace {

struct WordsFlags {
  std::string run;
  std::string lexicon;
  std::string out;
  bool json = false;
};

// Of many doubts, the first few.
void say_doubts(const std::vector<std::string>& doubts) {
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < std::min(kMost, doubts.size()); ++i) notify(printable(doubts[i]));
  if (doubts.size() > kMost) notify(fmt::format("and {} more like these", doubts.size() - kMost));
  if (!doubts.empty())
    notify("such words may turn up anywhere in a free sentence; a grammar keeps them in their place");
}

int add_words(const WordsFlags& options) {
  const WordAddition added =
      add_words(options.run, Lexicon::load(options.lexicon).entries(), options.lexicon, options.out);
  say_doubts(added.doubts);
  Terminal(stdout).print(fmt::format("{} {} added, {} in all; {} holds them\n", added.num_added,
                                     added.num_added == 1 ? "word" : "words", added.vocab_size,
                                     printable(added.model.string())));
  return 0;
}

// What is known of a word's identity.
const char* speaks_through(const LanguageModel& model, std::size_t id) {
  if (model.seen()[id]) return "own identity and features";
  return "features alone";
}

int list_words(const WordsFlags& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const LanguageModel& model = checkpoint.model;
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  std::vector<std::string> held_out;
  if (experiment && model.tokenizer() == nullptr) held_out = synthetic_corpus_options(*experiment).held_out;
  if (experiment && model.tokenizer() != nullptr) {
    for (const std::string& word : experiment->data.held_out) {
      for (const std::string& surface : surfaces_of(word)) held_out.push_back(surface);
    }
  }
  // A closed vocabulary has words that training never showed too: the held-out ones, whose identity is noise.
  const auto was_seen = [&](std::size_t id) {
    return model.seen()[id] &&
           (model.options().open_vocabulary ||
            std::find(held_out.begin(), held_out.end(), model.vocabulary().entries()[id]) == held_out.end());
  };
  Json list = Json::array();
  Table table({Table::Align::right, Table::Align::left});
  table.add({{.text = "id"}, {.text = "word"}, {.text = "class"}, {.text = "in training"}, {.text = "speaks through"}});
  // Bytes are no words.
  const std::size_t first = model.tokenizer() != nullptr ? Tokenizer::kSmallestSize : Vocabulary::kEos + 1;
  for (std::size_t id = first; id < model.vocabulary().size(); ++id) {
    const std::string& word = model.vocabulary().entries()[id];
    const std::size_t space = model.tokenizer() != nullptr && word.starts_with(' ') ? 1 : 0;
    const LexiconEntry* entry = model.feature_bank().lexicon().find(std::string_view(word).substr(space));
    std::string description = entry == nullptr ? WordClass::kOther : entry->word_class;
    if (entry != nullptr && (entry->word_class == WordClass::kAdjective || entry->polarity != 0.0))
      description += fmt::format(" {:+}", entry->polarity);
    if (entry != nullptr && (entry->word_class == WordClass::kIntensifier || entry->strength != 0.0))
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
                    {"class", entry == nullptr ? WordClass::kOther : entry->word_class},
                    {"polarity", entry == nullptr ? 0.0 : entry->polarity},
                    {"strength", entry == nullptr ? 0.0 : entry->strength},
                    {"seen", was_seen(id)},
                    {"features_alone", !model.seen()[id]}});
  }
  const Terminal terminal(stdout);
  terminal.print(options.json ? Json{{"words", std::move(list)}}.dump() + '\n' : table.text(terminal, 0, 2));
  return 0;
}

}  // namespace

Command words_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("words", "List the words of a model, or add some by describing them");
  app->require_subcommand();
  const auto options = std::make_shared<WordsFlags>();
  CommandLine* add = app->add_subcommand("add", "Add words to a trained model without training");
  add->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  add->add_option("--lexicon", options->lexicon,
                  "The words: tab-separated word, class, polarity, strength, and, if they have vectors, like")
      ->type_name("FILE")
      ->required();
  add->add_option("--out", options->out, "Folder for the larger model, made anew")->type_name("RUN2")->required();
  CommandLine* list = app->add_subcommand("list", "Show which words were seen in training");
  list->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  list->add_flag("--json", options->json, "Print one JSON object");
  add->footer(
      "The model keeps its weights and speaks the new words through their features.\n\n"
      "Examples:\n"
      "  printf 'word\\tclass\\tpolarity\\nsuperb\\tadjective\\t1\\n' >new.tsv\n"
      "  semfuse words add run --lexicon new.tsv --out run2\n"
      "  printf 'word\\tclass\\tlike\\nyummers\\tadjective\\tdelicious, tasty\\n' >new.tsv\n");
  list->footer(
      "Examples:\n"
      "  semfuse words list run\n"
      "  semfuse words list run --json\n");
  app->footer(
      "Examples:\n"
      "  semfuse words list run\n"
      "  semfuse words add run --lexicon new.tsv --out run2\n");
  return {.app = app, .purpose = "this model", .run = [options, add] {
            return add->parsed() ? add_words(*options) : list_words(*options);
          }};
}

}  // namespace semfuse
