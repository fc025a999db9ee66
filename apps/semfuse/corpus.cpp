#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "core/machine_memory.h"
#include "io/file.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct CorpusFlags {
  std::optional<std::string> seed;
  std::optional<std::string> train;
  std::optional<std::string> val;
  std::optional<std::string> second_clause;
  std::optional<std::string> held_out;
  std::string out;
};

std::string lines(const std::vector<Sentence>& sentences) {
  std::string text;
  for (const Sentence& sentence : sentences) text += join_words(sentence) + '\n';
  return text;
}

void refuse_existing(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  throw Error(
      fmt::format("{}: is already there and is not overwritten; remove it or choose another folder", path.string()));
}

int write_corpus(const CorpusFlags& options) {
  Experiment experiment;
  set_from_option(experiment, "--seed", "seed", options.seed);
  set_from_option(experiment, "--train", "corpus.train", options.train);
  set_from_option(experiment, "--val", "corpus.val", options.val);
  set_from_option(experiment, "--second-clause", "corpus.second_clause", options.second_clause);
  set_from_option(experiment, "--held-out", "corpus.held_out",
                  options.held_out == "none" ? std::optional<std::string>("[]") : options.held_out);
  const SyntheticCorpusOptions corpus_options = synthetic_corpus_options(experiment);

  if (options.out.empty()) throw Error("--out is empty; name a folder");
  const fs::path folder = options.out;
  const fs::path train = folder / "train.txt";
  const fs::path val = folder / "val.txt";
  refuse_existing(train);
  refuse_existing(val);
  constexpr double kBytesPerSentence = 800.0;
  require_memory(kBytesPerSentence * static_cast<double>(experiment.corpus.train + experiment.corpus.val), "the corpus",
                 "ask for fewer sentences");

  const Corpus corpus = make_synthetic_corpus(corpus_options);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw Error(fmt::format("{}: cannot create the folder: {}", folder.string(), code.message()));
  write_atomically(train, lines(corpus.train));
  try {
    write_atomically(val, lines(corpus.val));
  } catch (const Error&) {
    fs::remove(train, code);
    throw;
  }

  const auto& held_out = corpus_options.held_out;
  const Terminal terminal(stdout);
  terminal.print(terminal.flowed_lines(fmt::format(
      "{}: {} sentences\n{}: {} sentences\nseed {}; held out of training: {}\n", printable(train.string()),
      with_separators(corpus.train.size()), printable(val.string()), with_separators(corpus.val.size()),
      experiment.seed, held_out.empty() ? "nothing" : printable(fmt::format("{}", fmt::join(held_out, ", "))))));
  return 0;
}

}  // namespace

Command corpus_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("corpus", "Write the synthetic corpus as text, one sentence a line");
  const auto options = std::make_shared<CorpusFlags>();
  app->add_option("--out", options->out,
                  "Folder to write train.txt and val.txt into; files there are never overwritten")
      ->type_name("DIR")
      ->required();
  app->add_option("--seed", options->seed, "Same seed, same corpus, as in `semfuse train --seed` (111)")
      ->type_name("N");
  app->add_option("--train", options->train, "Training sentences (8000)")->type_name("N");
  app->add_option("--val", options->val, "Validation sentences (1200)")->type_name("N");
  app->add_option("--second-clause", options->second_clause, "Probability of a second clause (0.6)")->type_name("P");
  app->add_option("--held-out", options->held_out,
                  "Words never drawn in training: a comma list, `random` (three adjectives per polarity, by the seed), "
                  "`random-classes` (a subject, a verb, an object, an adjective per polarity) or `none` (default: the "
                  "paper's six adjectives)")
      ->type_name("LIST");
  app->footer(
      "Examples:\n"
      "  semfuse corpus --seed 7 --train 8000 --val 1200 --out corpus-7\n"
      "  semfuse corpus --held-out great,awful --out corpus\n");
  return {.app = app, .purpose = "the corpus", .run = [options] { return write_corpus(*options); }};
}

}  // namespace semfuse
