#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/file.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer.h"
#include "text/hf_tokenizer.h"
#include "text/split_pattern.h"
#include "text/spm_pieces.h"
#include "text/tokenizer_state.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TokenId> ids(const std::vector<Token>& tokens) {
  std::vector<TokenId> result;
  for (const Token& token : tokens) result.push_back(token.id);
  return result;
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

Tokenizer hf(const std::string& json) {
  return ForeignTokenizers::make(parse_hf_tokenizer(json, "tokenizer.json").parts, "tokenizer.json");
}

// Bytes a, b, blank, 1; "ab", " ab", "11"; one special token and one that is not.
std::string byte_level(const std::string& pre_tokenizers = "", const std::string& more = "",
                       const std::string& model = "") {
  return R"({"version":"1.0","added_tokens":[{"id":7,"content":"<|end|>","special":true},{"id":8,"content":"[x]","special":false}],)" +
         more + R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + pre_tokenizers +
         R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true}]},"model":{"type":"BPE",)" + model +
         R"("vocab":{"a":0,"b":1,"Ġ":2,"1":3,"ab":4,"Ġab":5,"11":6},"merges":[["a","b"],["Ġ","ab"],["1","1"]]}})";
}

TEST(ForeignTokenizer, CutsBytes) {
  const Tokenizer tokenizer = hf(byte_level());
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::bpe);
  EXPECT_EQ(tokenizer.size(), 9U);
  EXPECT_EQ(tokenizer.encode("ab ab11"), (std::vector<Token>{{4, 0, 2}, {5, 2, 5}, {6, 5, 7}}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab ab11")), "ab ab11");
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_THAT(ids(tokenizer.encode("azb")), ElementsAre(0, 1)) << "a byte without a token has none";
  EXPECT_EQ(Tokenizer::parse(tokenizer.to_json(), "again").encode("ab ab11[x]"), tokenizer.encode("ab ab11[x]"));
  EXPECT_THROW(tokenizer.vocabulary(), Error);
  EXPECT_THROW(tokenizer.decode(std::vector<TokenId>{9}), Error);
}

TEST(ForeignTokenizer, SplitsDigitsFirst) {
  const Tokenizer tokenizer = hf(byte_level(R"({"type":"Digits","individual_digits":true},)"));
  EXPECT_THAT(ids(tokenizer.encode("ab11")), ElementsAre(4, 3, 3));
}

TEST(ForeignTokenizer, SplitsByTheFilesOwnPattern) {
  const Tokenizer tokenizer =
      hf(byte_level(R"x({"type":"Split","pattern":{"Regex":"a(?=b)"},"behavior":"Isolated","invert":false},)x"));
  EXPECT_THAT(ids(tokenizer.encode("ab")), ElementsAre(0, 1));
}

TEST(ForeignTokenizer, TakesWholeWordsIfToldTo) {
  std::string turned = byte_level("", "", R"("ignore_merges":true,)");
  const std::string merges = R"([["a","b"],["Ġ","ab"],["1","1"]])";
  turned.replace(turned.find(merges), merges.size(), "[]");
  EXPECT_THAT(ids(hf(turned).encode("ab ab 1")), ElementsAre(4, 5, 2, 3));
}

TEST(ForeignTokenizer, MakesSpecialTokensOnlyIfAsked) {
  const Tokenizer tokenizer = hf(byte_level());
  EXPECT_EQ(tokenizer.specials(), (std::vector<SpecialToken>{{7, "<|end|>"}}));
  EXPECT_THAT(ids(tokenizer.encode("a<|end|>b")), ElementsAre(0, 1)) << "of the marks none has a token";
  EXPECT_THAT(ids(tokenizer.encode("a[x]b")), ElementsAre(0, 8, 1));
  EXPECT_EQ(tokenizer.encode_with_specials("a<|end|>b"), (std::vector<Token>{{0, 0, 1}, {7, 1, 8}, {1, 8, 9}}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_with_specials("a<|end|>b")), "ab");
  // Our own kinds too.
  const Tokenizer own = Tokenizer::bytes();
  EXPECT_EQ(own.decode(own.encode("a<eos>")), "a<eos>");
  EXPECT_EQ(own.encode_with_specials("a<eos>"), (std::vector<Token>{{100, 0, 1}, {2, 1, 6}}));
}

constexpr const char* kSpm =
    R"({"version":"1.0","added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":1,"content":"<s>","special":true}],
        "normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
        "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]},
        "model":{"type":"BPE","unk_token":"<unk>","vocab":{"<unk>":0,"<s>":1,"▁":2,"a":3,"b":4,"ab":5,"▁ab":6},"merges":["a b","▁ ab"]}})";

TEST(ForeignTokenizer, CutsCharacters) {
  const HfTokenizer read = parse_hf_tokenizer(kSpm, "tokenizer.json");
  EXPECT_EQ(read.bos, 1);
  const Tokenizer tokenizer = ForeignTokenizers::make(read.parts, "tokenizer.json");
  EXPECT_EQ(tokenizer.encode("ab ab"), (std::vector<Token>{{6, 0, 2}, {6, 2, 5}}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab ab")), "ab ab");
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.encode("aéxb"), (std::vector<Token>{{2, 0, 0}, {3, 0, 1}, {0, 1, 4}, {4, 4, 5}}))
      << "unknown characters in a row are one token";
}

std::vector<SpmPiece> pieces(bool bytes) {
  std::vector<SpmPiece> list = {
      {"<unk>", 0, SpmType::unknown}, {"<s>", 0, SpmType::control}, {"</s>", 0, SpmType::control}};
  for (int byte = 0; bytes && byte < 256; ++byte) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    list.push_back({std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0, SpmType::byte});
  }
  for (const auto& [text, score] :
       {std::pair("▁", -9.0), {"a", -9.0}, {"b", -9.0}, {"c", -9.0}, {"ab", -2.0}, {"bc", -1.0}, {"abc", -3.0}}) {
    list.push_back({text, score, SpmType::normal});
  }
  list.push_back({"ab", 0, SpmType::user_defined});
  return list;
}

TEST(ForeignTokenizer, MergesByScore) {
  std::vector<SpmPiece> list = pieces(false);
  list.pop_back();
  const Tokenizer tokenizer = ForeignTokenizers::make(spm_parts(list, "model"), "model");
  EXPECT_THAT(ids(tokenizer.encode("abc")), ElementsAre(9)) << "bc goes first, then a + bc";
  EXPECT_THAT(ids(tokenizer.encode("ab")), ElementsAre(7));
  EXPECT_THAT(ids(tokenizer.encode("a bcab")), ElementsAre(4, 3, 8, 7));
}

TEST(ForeignTokenizer, FallsBackToBytes) {
  ForeignParts parts = spm_parts(pieces(true), "model");
  parts.prefix_blank = true;
  const Tokenizer tokenizer = ForeignTokenizers::make(parts, "model");
  EXPECT_THAT(ids(tokenizer.encode("é")), ElementsAre(259, 3 + 0xC3, 3 + 0xA9));
  EXPECT_THAT(ids(tokenizer.encode("ab")), ElementsAre(266)) << "a user's symbol goes first";
  for (const std::string& text : {std::string("a é\xFF\x80z\0b", 9), std::string("  b "), std::string(" ")}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

// Older files of llama2.c list the bytes as characters, and letters once more among the pieces.
TEST(ForeignTokenizer, ReadsOlderFilesOfLlama2c) {
  std::string file(4, '\0');
  file[0] = 8;
  const auto add = [&](const std::string& text) {
    file += std::string(4, '\0') + static_cast<char>(text.size()) + std::string(3, '\0') + text;
  };
  for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n"}) add(text);
  for (int byte = 0; byte < 256; ++byte) {
    if (byte < 128) add(std::string(1, static_cast<char>(byte)));
    if (byte >= 128) add({static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))});
  }
  for (const char* text : {" ", "a", "é"}) add(text);
  const Tokenizer tokenizer = ForeignTokenizers::make(
      parse_llama2c_tokenizer(std::as_bytes(std::span(file)), "tokenizer.bin"), "tokenizer.bin");
  EXPECT_THAT(ids(tokenizer.encode("aéb\xC3\xBC")), ElementsAre(259, 260, 261, 3 + 'b', 3 + 0xC3, 3 + 0xBC));
  EXPECT_EQ(tokenizer.specials()[1].name, "<s>");
}

TEST(ForeignTokenizer, SqueezesBlanks) {
  ForeignParts parts = spm_parts(pieces(false), "model");
  parts.prefix_blank = parts.squeezes_blanks = true;
  const Tokenizer tokenizer = ForeignTokenizers::make(parts, "model");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("  b   c  ")), "b c");
  EXPECT_TRUE(tokenizer.encode("   ").empty());
}

TEST(ForeignTokenizer, RefusesByName) {
  const auto refused = [](const std::string& json) { return message_of([&] { hf(json); }); };
  const auto with = [](std::string json, const std::string& from, const std::string& to) {
    return json.replace(json.find(from), from.size(), to);
  };
  EXPECT_EQ(refused(byte_level()), "nothing was refused");
  EXPECT_THAT(refused(with(byte_level(), "\"BPE\"", "\"Unigram\"")), HasSubstr("\"Unigram\""));
  EXPECT_THAT(refused(byte_level("", R"("normalizer":{"type":"NFC"},)")), HasSubstr("\"NFC\""));
  EXPECT_THAT(refused(byte_level(R"({"type":"BertPreTokenizer"},)")), HasSubstr("\"BertPreTokenizer\""));
  EXPECT_THAT(refused(byte_level("", "", R"("end_of_word_suffix":"</w>",)")), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(refused(byte_level(R"({"type":"Split","pattern":{"Regex":"(("},"behavior":"Isolated"},)")),
              HasSubstr("split pattern"));
  EXPECT_THAT(refused(byte_level(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"MergedWithNext"},)")),
              HasSubstr("MergedWithNext"));
  EXPECT_THAT(refused(with(byte_level(), "\"11\":6", "\"11\":6000")), HasSubstr("\"11\""));
  EXPECT_THAT(refused(with(byte_level(), "\"11\":6", "\"11\":5")), HasSubstr("two entries have the id 5"));
  EXPECT_THAT(refused(with(byte_level(), "[\"1\",\"1\"]", "[\"1\",\"2\"]")), HasSubstr("merge 2"));
  EXPECT_THAT(refused(with(kSpm, "Prepend", "NFKC")), HasSubstr("\"NFKC\""));
  EXPECT_THAT(refused(with(byte_level(), "\"special\":false", "\"special\":false,\"lstrip\":true")),
              HasSubstr("lstrip"));
}

// A pattern that takes for ever on some text must not.
TEST(SplitPattern, HasLimits) {
  const SplitPattern pattern("(?:a+)+$");
  std::vector<std::string_view> found;
  EXPECT_THAT(message_of([&] { pattern.split(std::string(60, 'a') + "!", found); }), HasSubstr("fails on a text"));
  EXPECT_THROW(SplitPattern(std::string(30'000, 'a')), Error);
  EXPECT_THROW(SplitPattern(std::string(200, '(') + std::string(200, ')')), Error);
  EXPECT_THROW(SplitPattern("\\C"), Error);
}

TEST(SplitPattern, GivesEverythingBack) {
  for (const char* text : {"\\s+", "a*", "(?=b)", "\\p{L}+|\\p{N}", "x"}) {
    const SplitPattern pattern(text);
    const std::string bytes = "b\xFF a1é  \xC3(日本\xE2";
    std::vector<std::string_view> found;
    pattern.split(bytes, found);
    std::string all;
    for (const std::string_view piece : found) {
      EXPECT_FALSE(piece.empty());
      all += piece;
    }
    EXPECT_EQ(all, bytes) << text;
  }
}

// GPT-2's pattern by our scanner and by PCRE2.
TEST(SplitPattern, ScannerIsThePattern) {
  const SplitPattern scanner{std::string(kGpt2Pattern)};
  const SplitPattern pattern("(?:" + std::string(kGpt2Pattern) + ")");
  for (const char* text : {"Hello world's  12 ab1\n\n x", "  a", " \t b", "é½ⅷ'll 'LL...", "日本 🚀'd", "a  ", " "}) {
    std::vector<std::string_view> a, b;
    scanner.split(text, a);
    pattern.split(text, b);
    EXPECT_EQ(a, b) << text;
  }
}

fs::path shared_tokenizers() {
  return fs::path(SEMFUSE_SOURCE_DIR) / "../shared/data/models/tokenizers";
}

// Texts and ids of llama.cpp.
void expect_vectors(const Tokenizer& tokenizer, const std::string& name) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const fs::path base = shared_tokenizers() / "llama.cpp-vocab";
  const std::string texts = read_text(base / (name + ".inp"));
  std::istringstream lines(read_text(base / (name + ".out")));
  const Tokenizer again = Tokenizer::parse(tokenizer.to_json(), "again");
  std::string line;
  std::size_t begin = 0;
  int count = 0;
  while (std::getline(lines, line)) {
    const std::size_t end = texts.find(kSeparator, begin);
    ASSERT_NE(end, texts.npos);
    const std::string text = texts.substr(begin, end - begin);
    begin = end + kSeparator.size();
    std::istringstream numbers(line);
    const std::vector<TokenId> expected(std::istream_iterator<TokenId>(numbers), {});
    EXPECT_EQ(ids(tokenizer.encode(text)), expected) << text;
    EXPECT_EQ(ids(again.encode(text)), expected) << text;
    EXPECT_EQ(tokenizer.decode(expected), text);
    ++count;
  }
  EXPECT_EQ(count, 46);
}

TEST(ForeignTokenizer, AgreesWithLlamaCppOnGpt2) {
  const fs::path folder = shared_tokenizers() / "gpt2";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/data/models/tokenizers";
  const ForeignParts parts =
      parse_vocab_and_merges(read_text(folder / "vocab.json"), read_text(folder / "merges.txt"), "vocab.json");
  const Tokenizer tokenizer = ForeignTokenizers::make(parts, "vocab.json");
  expect_vectors(tokenizer, "ggml-vocab-gpt-2.gguf");
  // What is written for Hugging Face is the same tokenizer.
  expect_vectors(hf(hf_tokenizer_json(parts, std::nullopt)), "ggml-vocab-gpt-2.gguf");
}

TEST(ForeignTokenizer, AgreesWithLlamaCppOnLlama) {
  const fs::path folder = shared_tokenizers() / "llama2";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/data/models/tokenizers";
  const std::vector<std::byte> model = read_bytes(folder / "tokenizer.model");
  const std::vector<std::byte> bin = read_bytes(folder / "tokenizer.bin");
  const ForeignParts parts = parse_spm_model(model, "tokenizer.model");
  expect_vectors(ForeignTokenizers::make(parts, "tokenizer.model"), "ggml-vocab-llama-spm.gguf");
  expect_vectors(ForeignTokenizers::make(parse_llama2c_tokenizer(bin, "tokenizer.bin"), "tokenizer.bin"),
                 "ggml-vocab-llama-spm.gguf");
  expect_vectors(hf(hf_tokenizer_json(parts, 1)), "ggml-vocab-llama-spm.gguf");
}

}  // namespace
}  // namespace semfuse
