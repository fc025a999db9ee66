#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "features/tagger_training.h"
#include "interrupt.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "semfuse/error.h"
#include "settings.h"
#include "status_line.h"
#include "table.h"

namespace semfuse {
namespace {

struct TaggerFlags {
  std::vector<std::string> files;
  std::string out;
  std::optional<std::string> passes;
  std::optional<std::string> features;
  std::optional<std::string> seed;
  std::string tagger;
  std::string file;
  bool json = false;
};

std::size_t num_words(const std::vector<TaggedSentence>& sentences) {
  std::size_t sum = 0;
  for (const TaggedSentence& sentence : sentences) sum += sentence.words.size();
  return sum;
}

int train(const TaggerFlags& options) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  TaggerTrainingOptions training;
  training.passes = parse_whole_number("--passes", options.passes, 1, kMost).value_or(training.passes);
  training.features = parse_whole_number("--features", options.features, 1, kMost).value_or(training.features);
  training.seed = parse_whole_number("--seed", options.seed, 0, kMost).value_or(training.seed);
  if (options.out.empty()) throw Error("--out is empty; name a file");
  require_new_file(options.out);
  std::vector<TaggedSentence> sentences;
  for (const std::string& file : options.files) {
    std::vector<TaggedSentence> more = load_conllu(file);
    sentences.insert(sentences.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const Terminal errors(stderr);
  StatusLine status(errors);
  const InterruptGuard interrupt;
  const Tagger tagger = train_tagger(sentences, training, [&](std::size_t pass, std::size_t num_passes) {
    const double share = static_cast<double>(pass) / static_cast<double>(num_passes);
    if (errors.is_terminal()) errors.print(status.shown(share, fmt::format("pass {} of {}", pass, num_passes)));
    return interrupt.signal() == 0;
  });
  errors.print(status.cleared());
  const std::string bytes = tagger.bytes();
  write_atomically(options.out, bytes);
  Terminal(stdout).print(fmt::format("{}: {}, from {} words in {} sentences\n", printable(options.out),
                                     counted(bytes.size(), "byte"), with_separators(num_words(sentences)),
                                     with_separators(sentences.size())));
  return 0;
}

// How often a tagger is right, and how fast it is on one thread.
struct Score {
  struct Tag {
    std::size_t words = 0;   // That have it,
    std::size_t tagged = 0;  // that got it,
    std::size_t right = 0;   // both.
  };
  std::size_t num_right = 0;
  double words_per_second = 0.0;
  std::array<Tag, kUniversalTags.size()> tags;
};

using Reading = std::vector<UniversalTag> (*)(const Tagger&, std::span<const std::string_view>);

std::vector<UniversalTag> whole(const Tagger& tagger, std::span<const std::string_view> words) {
  return tagger.tag_sentence(words);
}

std::vector<UniversalTag> in_order(const Tagger& tagger, std::span<const std::string_view> words) {
  std::vector<UniversalTag> tags;
  Tagger::History history;
  for (const std::string_view word : words) tags.push_back(tagger.tag_next(word, history));
  return tags;
}

Score score_of(const Tagger& tagger, const std::vector<TaggedSentence>& sentences, Reading reading) {
  constexpr double kLeast = 0.2;  // Seconds: a short file is read several times, for a speed that means something.
  const auto processor_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  std::vector<std::vector<std::string_view>> words;
  words.reserve(sentences.size());
  for (const TaggedSentence& sentence : sentences) words.emplace_back(sentence.words.begin(), sentence.words.end());
  std::vector<std::vector<UniversalTag>> tags(words.size());
  std::size_t num_tagged = 0;
  const double begin = processor_seconds();
  do {
    for (std::size_t i = 0; i < words.size(); ++i) tags[i] = reading(tagger, words[i]);
    num_tagged += num_words(sentences);
  } while (processor_seconds() - begin < kLeast);
  Score score;
  score.words_per_second = static_cast<double>(num_tagged) / (processor_seconds() - begin);
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    for (std::size_t i = 0; i < tags[s].size(); ++i) {
      const UniversalTag right = sentences[s].tags[i];
      ++score.tags[right].words;
      ++score.tags[tags[s][i]].tagged;
      if (tags[s][i] != right) continue;
      ++score.tags[right].right;
      ++score.num_right;
    }
  }
  return score;
}

double tagged_share(std::size_t part, std::size_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

double f1(const Score::Tag& tag) {
  return tagged_share(2 * tag.right, tag.words + tag.tagged);
}

Json as_json(const Score& score, std::size_t all) {
  Json tags = Json::object();
  for (std::size_t i = 0; i < score.tags.size(); ++i) {
    const Score::Tag& tag = score.tags[i];
    tags[kUniversalTags[i]] = {{"words", tag.words},
                               {"precision", tagged_share(tag.right, tag.tagged)},
                               {"recall", tagged_share(tag.right, tag.words)},
                               {"f1", f1(tag)}};
  }
  return {{"accuracy", tagged_share(score.num_right, all)},
          {"words_per_second", score.words_per_second},
          {"tags", std::move(tags)}};
}

int check(const TaggerFlags& options) {
  const Tagger tagger = options.tagger == "english" ? *Tagger::english() : Tagger::load(options.tagger);
  const std::vector<TaggedSentence> sentences = load_conllu(options.file);
  const std::size_t all = num_words(sentences);
  const Score ahead = score_of(tagger, sentences, whole), ordered = score_of(tagger, sentences, in_order);
  const Terminal terminal(stdout);
  if (options.json) {
    Json object = as_json(ahead, all);
    object["words"] = all;
    object["sentences"] = sentences.size();
    object["bytes"] = tagger.bytes().size();
    object["in_order"] = as_json(ordered, all);
    terminal.print(object.dump() + '\n');
    return 0;
  }
  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = ""}, {.text = "words"}, {.text = "whole sentences"}, {.text = "in order"}});
  const auto percent = [](double x) { return fmt::format("{:.2f} %", 100.0 * x); };
  table.add({{.text = "right"},
             {.text = with_separators(all)},
             {.text = percent(tagged_share(ahead.num_right, all))},
             {.text = percent(tagged_share(ordered.num_right, all))}});
  table.add({{.text = "words a second"},
             {.text = ""},
             {.text = with_separators(static_cast<std::uint64_t>(ahead.words_per_second))},
             {.text = with_separators(static_cast<std::uint64_t>(ordered.words_per_second))}});
  for (std::size_t i = 0; i < kUniversalTags.size(); ++i) {
    if (ahead.tags[i].words == 0) continue;
    table.add({{.text = fmt::format("F1 {}", kUniversalTags[i])},
               {.text = with_separators(ahead.tags[i].words)},
               {.text = percent(f1(ahead.tags[i]))},
               {.text = percent(f1(ordered.tags[i]))}});
  }
  terminal.print(table.text(terminal, 0, 2));
  return 0;
}

}  // namespace

Command tagger_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("tagger", "Train and check taggers, which find parts of speech");
  app->require_subcommand();
  const auto options = std::make_shared<TaggerFlags>();
  CommandLine* trains = app->add_subcommand("train", "Train a tagger from CoNLL-U files");
  trains->add_option("FILE", options->files, "Sentences with parts of speech, as Universal Dependencies has them")
      ->required();
  trains->add_option("--out", options->out, "The tagger's file, made anew")->type_name("TAGGER")->required();
  trains->add_option("--passes", options->passes, "Over the sentences; more for a small treebank (8)")->type_name("N");
  trains
      ->add_option("--features", options->features,
                   "What it keeps of each of its two readings; fewer make the file smaller (60000)")
      ->type_name("N");
  trains->add_option("--seed", options->seed, "Decides the order of the sentences (1)")->type_name("N");
  trains->footer(
      "A tagger has two readings: of whole sentences, which also looks two words ahead, and in the order of the text, "
      "which features use, since nothing may depend on what follows.\n\n"
      "Examples:\n"
      "  semfuse tagger train en_ewt-ud-train.conllu --out english.tagger\n");
  CommandLine* checks = app->add_subcommand("check", "Measure how often a tagger is right, and how fast it is");
  checks->add_option("TAGGER", options->tagger, "A tagger's file, or `english`, which is built in")->required();
  checks->add_option("FILE", options->file, "Sentences with parts of speech, as CoNLL-U")->required();
  checks->add_flag("--json", options->json, "Print one JSON object");
  checks->footer(
      "Words are those of the file. The speed is that of one thread.\n\n"
      "Examples:\n"
      "  semfuse tagger check english en_ewt-ud-test.conllu\n"
      "  semfuse tagger check english.tagger en_ewt-ud-test.conllu --json\n");
  app->footer(
      "Examples:\n"
      "  semfuse tagger train en_ewt-ud-train.conllu --out english.tagger\n"
      "  semfuse tagger check english en_ewt-ud-test.conllu\n");
  return {.app = app, .purpose = "this tagger", .run = [options, trains] {
            return trains->parsed() ? train(*options) : check(*options);
          }};
}

}  // namespace semfuse
