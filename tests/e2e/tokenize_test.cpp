#include <fstream>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "e2e/semfuse_program.h"
#include "io/file.h"
#include "semfuse/tokenizer_trainer.h"
#include "support/pseudo_terminal.h"

namespace semfuse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// With and without a leading blank.
constexpr std::pair<TokenizerKind, bool> kKindsAndBlanks[] = {{TokenizerKind::words, false},
                                                              {TokenizerKind::words, true},
                                                              {TokenizerKind::pieces, false},
                                                              {TokenizerKind::pieces, true},
                                                              {TokenizerKind::bytes, false}};

void write_input(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The program with a file as its standard input.
ProcessResult piped(const std::string& input, const std::string& arguments) {
  return run_process({"/bin/sh", "-c", SEMFUSE_BIN_DIR "/semfuse " + arguments + " <" + input});
}

std::vector<std::string> odd_texts() {
  std::vector<std::string> texts = {"", "The food was good, so good!",
                                    "I'm sure they'll say \u201Cno\u201D  \u2026 <eos> <pad>",
                                    "  caf\u00E9\t\u65E5\u672C\u8A9E\u3002 \U0001F642\n\n x \u00BD 12\u0663 \r\n"};
  RandomStream random(1, RandomPurpose::corpus_val);
  const std::vector<std::string> parts = {" ",          "'s",     "a",      "the",    " the",   "\u00E9",  "\u65E5",
                                          "\u3002",     "\t",     "\n",     "1",      "\u00BD", ".",       "-",
                                          "<eos>",      "\u0301", "\u200B", "\u3000", "\u061C", "\x1b[2J", "\U0001F642",
                                          "\U0001D400", "'",      "LL",     "\u0436", "\u0663"};
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (std::uint64_t n = random.next_below(40); n > 0; --n) text += parts[random.next_below(parts.size())];
    texts.push_back(text);
  }
  return texts;
}

Tokenizer trained(TokenizerKind kind, bool leading_blank) {
  TokenizerTrainer trainer(TokenizerTrainer::kMostWords, leading_blank);
  for (const std::string& text : odd_texts()) trainer.add(text);
  return trainer.make(kind, 500);
}

TEST(TokenizeCommand, GoesThereAndBack) {
  const TemporaryFolder folder;
  const std::string text = "The food, the food\x1b[2J\n \xFF caf\u00E9\n";
  write_input(folder / "text", text);
  for (const auto& [kind, leading_blank] : kKindsAndBlanks) {
    const Tokenizer tokenizer = trained(kind, leading_blank);
    write_input(folder / "tokenizer.json", tokenizer.to_json());
    const ProcessResult result = piped(folder / "text", "tokenize " + (folder / "tokenizer.json") + " --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find('\x1b'), result.out.npos);
    const json tokens = json::parse(result.out);
    std::vector<TokenId> ids;
    for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
    EXPECT_EQ(tokens["ids"], json(ids));
    EXPECT_EQ(tokens["pieces"].size(), ids.size());
    EXPECT_THAT(result.out, HasSubstr("<0xFF>"));
    write_input(folder / "tokens", result.out);
    write_input(folder / "list", tokens["ids"].dump());
    std::string numbers;
    for (const TokenId id : ids) numbers += std::to_string(id) + '\n';
    write_input(folder / "numbers", numbers);
    for (const char* input : {"tokens", "list", "numbers"}) {
      const ProcessResult back = piped(folder / input, "tokenize " + (folder / "tokenizer.json") + " --decode");
      EXPECT_EQ(back.exit_code, 0) << back.err;
      EXPECT_EQ(back.out, text) << input;
    }
  }
}

TEST(TokenizeCommand, KnowsTheWordsOfAModel) {
  const Arguments tokenize = {"tokenize", SEMFUSE_SOURCE_DIR "/tests/golden/run",
                              "Alice reviews the paper, very good!"};
  Arguments as_json = tokenize;
  as_json.emplace_back("--json");
  const ProcessResult result = semfuse_program(as_json);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["pieces"], (json{"Alice", "reviews", "the", "paper", ",", "very", "good", "!"}));
  const TemporaryFolder folder;
  write_input(folder / "tokens", result.out);
  EXPECT_EQ(piped(folder / "tokens", "tokenize " SEMFUSE_SOURCE_DIR "/tests/golden/run --decode").out, tokenize[2]);
  EXPECT_THAT(semfuse_program(tokenize).out, HasSubstr("\"Alice\"\n"));
  expect_refused({"tokenize", SEMFUSE_SOURCE_DIR "/tests/golden/run", "Alice revews"}, "did you mean \"reviews\"");
}

TEST(TokenizeCommand, ATerminalGetsNoEscapesOfTheText) {
  const TemporaryFolder folder;
  write_input(folder / "tokenizer.json", Tokenizer::bytes().to_json());
  write_input(folder / "text", "a\x1b[2Jb\nc\u202E");
  write_input(folder / "ids", "100 30 94 53 77 101 13 102 226 131 177");
  for (const auto& [input, option] : {std::pair("text", ""), {"text", " --json"}, {"ids", " --decode"}}) {
    const TerminalResult result = run_on_terminal(
        {"/bin/sh", "-c",
         SEMFUSE_BIN_DIR "/semfuse tokenize " + (folder / "tokenizer.json") + option + " <" + (folder / input)},
        false);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.bytes.find('\x1b'), result.bytes.npos) << option;
    EXPECT_EQ(result.bytes.find("\u202E"), result.bytes.npos) << option;
    EXPECT_THAT(result.bytes, HasSubstr("c")) << option;
  }
}

TEST(TokenizeCommand, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  write_input(folder / "tokenizer.json", Tokenizer::bytes().to_json());
  write_input(folder / "bad.json", "{\"model\": 1}");
  expect_refused({"tokenize", folder / "bad.json", "a"}, "bad.json: is no tokenizer");
  expect_refused({"tokenize", folder / "none.json", "a"}, "none.json");
  expect_refused({"tokenize", folder / "tokenizer.json", "a", "--decode"}, "leave out the text");
  const auto decoded = [&](std::string_view input) {
    write_input(folder / "in", input);
    return piped(folder / "in", "tokenize " + (folder / "tokenizer.json") + " --decode");
  };
  EXPECT_EQ(decoded("").out, "");
  EXPECT_EQ(decoded(" 1, 100\n101 ,2").out, "ab");
  EXPECT_EQ(decoded("[]").out, "");
  for (const auto& [input, part] : std::vector<std::pair<std::string, std::string>>{{"5 x\x1b", "\"x\\x1b\" is no id"},
                                                                                    {"-1", "\"-1\" is no id"},
                                                                                    {"99999999999", "is no id"},
                                                                                    {"259", "id 259 (number 1)"},
                                                                                    {"{}", "has no \"ids\""},
                                                                                    {"{\"ids\": 1}", "are no list"},
                                                                                    {"[1, 2.5]", "number 2"},
                                                                                    {"[1, 4294967296]", "number 2"},
                                                                                    {"[1", "standard input:1:"}}) {
    const ProcessResult result = decoded(input);
    EXPECT_EQ(result.exit_code, 2) << input;
    EXPECT_EQ(result.out, "");
    expect_one_error_line(result, part);
  }
}

// Every text has the same ids there, comes back, and the file that it saves is ours again.
TEST(TokenizerFile, HuggingFaceGivesTheSameIds) {
  if (run_process({"/usr/bin/env", "python3", "-c", "import tokenizers"}).exit_code != 0) {
    GTEST_SKIP() << "python3 has no package `tokenizers` (PyPI), so our files were not tried with it";
  }
  for (const auto& [kind, leading_blank] : kKindsAndBlanks) {
    const TemporaryFolder folder;
    const Tokenizer tokenizer = trained(kind, leading_blank);
    json cases = json::array();
    for (const std::string& text : odd_texts()) {
      std::vector<TokenId> ids;
      for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
      cases.push_back({{"text", text}, {"ids", ids}});
    }
    write_input(folder / "tokenizer.json", tokenizer.to_json());
    write_input(folder / "cases.json", cases.dump());
    const auto check = [&] {
      return run_process({"/usr/bin/env", "python3", SEMFUSE_SOURCE_DIR "/tests/e2e/tokenizer_check.py",
                          folder / "tokenizer.json", folder / "cases.json", folder / "saved.json"});
    };
    const ProcessResult result = check();
    EXPECT_EQ(result.exit_code, 0) << to_string(kind) << '\n' << result.out << result.err;
    const Tokenizer saved = Tokenizer::load(folder / "saved.json");
    EXPECT_EQ(saved.kind(), kind);
    EXPECT_EQ(saved.leading_blank(), leading_blank);
    EXPECT_EQ(saved.to_json(), tokenizer.to_json());

    cases[1]["ids"][0] = 3;
    write_input(folder / "cases.json", cases.dump());
    EXPECT_EQ(check().exit_code, 1) << "the check can fail";
  }
}

}  // namespace
}  // namespace semfuse
