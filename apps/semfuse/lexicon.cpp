#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "data/induced_lexicon.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study_progress.h"
#include "table.h"
#include "table_options.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct LexiconFlags {
  std::vector<std::string> data;
  TableFlags table;
  std::string label;
  std::optional<std::string> positive;
  std::optional<std::string> min_count;
  std::string out;
  bool json = false;
  bool quiet = false;
};

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string as_text(const Terminal& terminal, const InducedLexicon& lexicon, const std::string& out) {
  constexpr std::size_t kMostShown = 12;
  const std::size_t shown = std::min(kMostShown, lexicon.words.size() / 2);
  std::string text = fmt::format("{}: {} and phrases, from {} positive and {} negative texts\n", printable(out),
                                 counted(lexicon.words.size(), "word"), with_separators(lexicon.positive_texts),
                                 with_separators(lexicon.negative_texts));
  text += broken(printable(fmt::format("positive: {}", lexicon.meaning)), terminal.width(), 2) + '\n';
  std::vector<std::string> best, worst;
  for (std::size_t i = 0; i < shown; ++i) {
    best.push_back(printable(lexicon.words[i].words));
    worst.push_back(printable(lexicon.words[lexicon.words.size() - 1 - i].words));
  }
  const std::size_t width = terminal.width();
  if (shown > 0) {
    text += broken(fmt::format("most positive: {}", fmt::join(best, ", ")), width, 2) + '\n';
    text += broken(fmt::format("most negative: {}", fmt::join(worst, ", ")), width, 2) + '\n';
  }
  text += broken(fmt::format(
                     "{} held out: the sum of polarities is right in {:.1f} % (always the same side: {:.1f} %), 0 in "
                     "{:.1f} %",
                     counted(lexicon.held_out, "text"), 100.0 * share_of(lexicon.held_out_right, lexicon.held_out),
                     100.0 * share_of(lexicon.held_out_majority, lexicon.held_out),
                     100.0 * share_of(lexicon.held_out_undecided, lexicon.held_out)),
                 width, 2) +
          '\n';
  return text;
}

Json as_json(const InducedLexicon& lexicon) {
  Json words = Json::array();
  for (const InducedWord& word : lexicon.words) {
    words.push_back(
        {{"words", word.words}, {"polarity", word.polarity}, {"positive", word.positive}, {"negative", word.negative}});
  }
  return {{"meaning", lexicon.meaning},
          {"positive_texts", lexicon.positive_texts},
          {"negative_texts", lexicon.negative_texts},
          {"held_out", lexicon.held_out},
          {"held_out_right", share_of(lexicon.held_out_right, lexicon.held_out)},
          {"held_out_undecided", share_of(lexicon.held_out_undecided, lexicon.held_out)},
          {"held_out_majority", share_of(lexicon.held_out_majority, lexicon.held_out)},
          {"words", std::move(words)}};
}

int induce(const LexiconFlags& options) {
  if (options.out.empty()) throw Error("--out is empty; name a file");
  require_new_file(options.out);
  InduceOptions induce_options{.label = options.label, .positive = options.positive};
  induce_options.records = {.text_column = options.table.text.value_or(""),
                            .skip_bad = options.table.skip_bad,
                            .table = options.table.options()};
  induce_options.min_count = parse_whole_number("--min-count", options.min_count, 1, 1'000'000'000).value_or(5);
  InducedLexicon lexicon;
  {
    StudyProgress progress(options.quiet);
    induce_options.progress = [&progress](std::uint64_t done, std::uint64_t total) {
      progress.show(fmt::format("{} MB read", with_separators(done / 1'000'000)), share_of(done, total));
    };
    lexicon = induce_lexicon({options.data.begin(), options.data.end()}, induce_options);
  }
  if (lexicon.words.empty()) {
    throw Error(
        fmt::format("{}: no word is surely of one side; more texts are needed, or other labels", options.data.front()));
  }
  write_atomically(options.out, to_tsv(lexicon));
  const Terminal terminal(stdout);
  terminal.print(options.json ? as_json(lexicon).dump() + '\n' : as_text(terminal, lexicon, options.out));
  return 0;
}

}  // namespace

Command lexicon_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("lexicon", "Make a lexicon from labelled texts");
  app->require_subcommand();
  const auto options = std::make_shared<LexiconFlags>();
  CommandLine* induce_app =
      app->add_subcommand("induce", "Find the polarity of words and phrases from the labels of texts");
  induce_app
      ->add_option("--data", options->data, "Labelled texts: tsv, csv or jsonl, also .gz or .zst; may be repeated")
      ->type_name("FILE")
      ->required();
  induce_app->add_option("--label", options->label, "The column of the labels: numbers, or names of two sides")
      ->type_name("COLUMN")
      ->required();
  induce_app->add_option("--out", options->out, "The lexicon to write, as TSV; never overwritten")
      ->type_name("FILE")
      ->required();
  induce_app->add_option("--positive", options->positive, "The label of the positive side, if its name does not say")
      ->type_name("VALUE");
  induce_app->add_option("--min-count", options->min_count, "How often a word must be met (5)")->type_name("N");
  options->table.add_to(*induce_app);
  options->table.add_skip_bad(*induce_app);
  induce_app->add_flag("--json", options->json, "Print one JSON object");
  induce_app->add_flag("--quiet", options->quiet, "Show no progress");
  const char* text =
      "A word that positive texts have more often than negative ones is positive. One text in ten is kept apart to see "
      "how many labels the lexicon explains.\n\n"
      "Examples:\n"
      "  semfuse lexicon induce --data reviews.tsv --label stars --out polarity.tsv\n"
      "  semfuse lexicon induce --data mail.jsonl --label folder --positive ham --out ham.tsv\n";
  induce_app->footer(text);
  app->footer(text);
  return {.app = app, .purpose = "this data", .run = [options] { return induce(*options); }};
}

}  // namespace semfuse
