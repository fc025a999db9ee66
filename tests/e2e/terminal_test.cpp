#include <regex>

#include "e2e/semfuse_program.h"
#include "io/quoted_text.h"
#include "support/pseudo_terminal.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kGoldenRun = SEMFUSE_SOURCE_DIR "/tests/golden/run";

const std::vector<Arguments>& all_commands() {
  static const std::vector<Arguments> commands = {
      {},           {"corpus"},    {"features"}, {"train"},  {"inspect"}, {"generate"},      {"grammar"},
      {"audit"},    {"words"},     {"ablate"},   {"sweep"},  {"compare"}, {"words", "list"}, {"words", "add"},
      {"evaluate"}, {"reproduce"}, {"log"},      {"verify"}, {"export"},  {"tokenize"}};
  return commands;
}

std::size_t columns_of(std::string_view line) {
  std::size_t columns = 0;
  for (; !line.empty(); ++columns) line.remove_prefix(std::max<std::size_t>(utf8_character_length(line), 1));
  return columns;
}

// Of what stands on a terminal after the escapes that only colour it. A carriage return begins a line anew.
void expect_lines_fit(const std::string& text) {
  const std::string plain = std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
  for (std::size_t begin = 0; begin < plain.size();) {
    const std::size_t end = std::min(plain.find_first_of("\r\n", begin), plain.size());
    const std::string line = plain.substr(begin, end - begin);
    EXPECT_LE(columns_of(line), 80U) << line;
    begin = end + 1;
  }
}

TEST(TerminalWidth, HelpFits) {
  for (Arguments arguments : all_commands()) {
    arguments.emplace_back("--help");
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(arguments);
    expect_lines_fit(result.out);
  }
}

// A long list is read by its headings; what every command has comes last.
TEST(Help, ManyOptionsHaveHeadings) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> commands = {
      {"train", {"What to train:", "--preset", "--lexicon", "The run:", "--out", "--keep", "Other options:", "--help"}},
      {"generate",
       {"What to generate:", "--prompt", "Knobs:", "--guidance", "Sampling:", "--last-k",
        "The paper's controls:", "--nucleus", "Other options:", "--help", "--explain"}},
      {"sweep", {"What to measure:", "--knob", "--seed", "Sampling:", "--top-p", "Other options:", "--help", "--out"}},
      {"verify", {"Arguments:", "\nOptions:", "--help", "--json"}}};
  for (const auto& [command, parts] : commands) {
    const std::string help = semfuse_program({command, "--help"}).out;
    std::size_t at = 0;
    for (const char* part : parts) {
      at = help.find(part, at);
      ASSERT_NE(at, help.npos) << part << " is not at its place in\n" << help;
    }
  }
}

TEST(TerminalWidth, TablesFitEverywhere) {
  const std::string two_clauses = "Alice reviews the paper, very good, and she finishes the project, moderately bad.";
  const std::vector<Arguments> commands = {
      {"features", two_clauses},
      {"generate", kGoldenRun, "--grammar", "one-clause", "--control", "neg_high=0.95,is_question=1", "--explain"},
      {"inspect", kGoldenRun},
      {"inspect", std::string(kGoldenRun) + "/checkpoints/step-00000006.safetensors"},
      {"words", "list", kGoldenRun}};
  for (const Arguments& arguments : commands) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    // The sentence above the tables names the file, and stays one line where no terminal is.
    const bool has_heading = arguments.front() == "inspect";
    expect_lines_fit(has_heading ? result.out.substr(result.out.find('\n') + 1) : result.out);
  }
  const ProcessResult folded = semfuse_program({"features", two_clauses});
  EXPECT_THAT(folded.out, HasSubstr("moderately"));
  EXPECT_THAT(folded.out, HasSubstr("<eos>"));
}

TEST(TerminalWidth, SentencesAreBrokenOnATerminal) {
  for (const char* command : {"audit", "verify", "inspect"}) {
    const TerminalResult result = run_on_terminal(command_of("semfuse", {command, kGoldenRun}));
    EXPECT_EQ(result.exit_code, 0) << result.bytes;
    expect_lines_fit(result.bytes);
  }
  expect_lines_fit(run_on_terminal(command_of("semfuse", {"xyzzy"})).bytes);
}

TEST(TerminalWidth, ResultsFitATerminal) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  ASSERT_EQ(semfuse_program(tiny_training(run)).exit_code, 0);
  const auto tiny = [&](Arguments arguments) {
    const Arguments settings = tiny_training("");
    arguments.insert(arguments.end(), settings.begin() + 3, settings.end());
    return arguments;
  };
  const std::vector<Arguments> commands = {
      {"evaluate", kGoldenRun, "--sentences", "20"},
      {"sweep", run, "--n", "10", "--levels", "2"},
      {"compare", kGoldenRun, kGoldenRun},
      {"log", run},
      {"corpus", "--train", "50", "--val", "20", "--held-out", "random-classes", "--out", folder / "c"},
      tiny({"ablate", "--out", folder / "a", "--seeds", "2", "--only", "semfuse", "--only", "causal_baseline"}),
      tiny({"reproduce", "--out", folder / "r", "--quick"})};
  for (const Arguments& arguments : commands) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const TerminalResult result = run_on_terminal(command_of("semfuse", arguments));
    EXPECT_EQ(result.exit_code, 0) << result.bytes;
    expect_lines_fit(result.bytes);
  }
  expect_lines_fit(run_on_terminal(command_of("semfuse", {"grammar", "check", "one-clause", "Alice"})).bytes);
}

TEST(TerminalWidth, CurvesFit) {
  const TemporaryFolder folder;
  const TerminalResult result =
      run_on_terminal(command_of("semfuse", {"log", kGoldenRun, "--svg", folder / "curves.svg"}));
  EXPECT_EQ(result.exit_code, 0) << result.bytes;
  EXPECT_THAT(result.bytes, HasSubstr("Validation perplexity"));
  expect_lines_fit(result.bytes);
}

TEST(TerminalWidth, ACommandInBackquotesStaysWhole) {
  // Of a width that the line would end within the command.
  for (const std::size_t length : {30, 36, 42}) {
    const TerminalResult result =
        run_on_terminal(command_of("semfuse", {"verify", "x", "--" + std::string(length, 'x')}));
    expect_lines_fit(result.bytes);
    EXPECT_THAT(result.bytes, HasSubstr("`semfuse verify --help`"));
  }
}

TEST(TerminalWidth, TrainingShowsABarThatFits) {
  const TemporaryFolder folder;
  const Arguments more = {"--set", "corpus.train=6000", "--set", "training.epochs=2"};
  const TerminalResult result = run_on_terminal(command_of("semfuse", tiny_training(folder / "run", more)));
  EXPECT_EQ(result.exit_code, 0) << result.bytes;
  expect_lines_fit(result.bytes);
  EXPECT_THAT(result.bytes, HasSubstr("\x1b[32m━"));
  EXPECT_THAT(result.bytes, HasSubstr("ETA"));

  const TerminalResult plain = run_on_terminal(command_of("semfuse", tiny_training(folder / "plain", more)), false);
  EXPECT_THAT(plain.bytes, HasSubstr("━"));
  EXPECT_THAT(plain.bytes, Not(HasSubstr("\x1b")));

  const ProcessResult piped = semfuse_program(tiny_training(folder / "piped"));
  EXPECT_THAT(piped.out + piped.err, Not(HasSubstr("━")));
}

TEST(TerminalWidth, NumbersStayReadable) {
  const TemporaryFolder folder;
  const ProcessResult result =
      semfuse_program(tiny_training(folder / "run", {"--set", "training.learning_rate=10", "--set", "corpus.train=512",
                                                     "--set", "training.warmup=0", "--set", "model.width=64"}));
  const std::regex long_number("[0-9]{8,}");
  EXPECT_FALSE(std::regex_search(result.out + result.err, long_number)) << result.out << result.err;
}

TEST(CommandLineHints, OptionsThatAreSettings) {
  expect_refused({"train", "--out", "x", "--epochs", "3"},
                 "unknown option \"--epochs\"; set it with --set training.epochs=3");
  expect_refused({"train", "--out", "x", "--lr=0.1"}, "; set it with --set training.learning_rate=0.1");
  expect_refused({"train", "--out", "x", "--batch-size", "8"}, "; set it with --set training.batch=8");
  expect_refused({"train", "--out", "x", "--corpus", "y"}, "--set corpus.train=N");
  expect_refused({"ablate", "--out", "x", "--width"}, "; set it with --set model.width=VALUE");
  expect_refused({"verify", "x", "--epochs"}, "unknown option \"--epochs\"; see `semfuse verify --help`");
  expect_refused({"words", "add", "x"}, "see `semfuse words add --help`");
}

TEST(CommandLineHints, HelpAndVersionByOtherNames) {
  EXPECT_EQ(semfuse_program({"help"}).out, semfuse_program({}).out);
  EXPECT_EQ(semfuse_program({"help", "train"}).out, semfuse_program({"train", "--help"}).out);
  EXPECT_EQ(semfuse_program({"help", "words", "add"}).out, semfuse_program({"words", "add", "-h"}).out);
  EXPECT_EQ(semfuse_program({"-v"}).out, semfuse_program({"--version"}).out);
  expect_refused({"help", "trian"}, R"(unknown command "trian"; did you mean "train"?)");
}

TEST(Escapes, NamesOfFoldersAreShownHarmless) {
  const TemporaryFolder folder;
  const ProcessResult result =
      semfuse_program({"corpus", "--train", "4", "--val", "4", "--out", folder / "c\x1b[31m\xE2\x80\xAE"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("c?[31m?"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.out, Not(HasSubstr("\xE2\x80\xAE")));
}

}  // namespace
}  // namespace semfuse
