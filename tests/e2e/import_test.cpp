// Models of others on the command line.
#include <nlohmann/json.hpp>

#include "semfuse_program.h"
#include "support/foreign_files.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Import : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "model.bin", small_llama_file());
    write_file(folder_ / "tokenizer.bin", small_llama_tokenizer());
  }
  TemporaryFolder folder_;
};

TEST_F(Import, TurnsAModelIntoOneFile) {
  const ProcessResult shown = semfuse_program({"inspect", folder_ / "model.bin"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("llama2.c version 0"));
  EXPECT_THAT(shown.out, HasSubstr("spm, 264 entries, 3 of them special; tokenizer.bin"));

  const ProcessResult imported = semfuse_program({"import", folder_ / "model.bin", "--out", folder_ / "ours"});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("16,864 parameters"));
  const json after = json::parse(semfuse_program({"inspect", folder_ / "ours", "--json"}).out);
  const json before = json::parse(semfuse_program({"inspect", folder_ / "model.bin", "--json"}).out);
  EXPECT_EQ(after["kind"], "imported model");
  for (const char* same : {"family", "vocab_size", "num_layers", "parameter_count", "tokenizer", "eos"}) {
    EXPECT_EQ(after[same], before[same]) << same;
  }

  const json tokens = json::parse(semfuse_program({"tokenize", folder_ / "ours", "ab </s>", "--json"}).out);
  EXPECT_EQ(tokens["ids"], json({262, 261, 259, 63, 50, 118, 65})) << "</s> in a text is text";
  EXPECT_EQ(json::parse(semfuse_program({"tokenize", folder_ / "ours", "ab</s>", "--specials", "--json"}).out)["ids"],
            json({262, 261, 2}));
  EXPECT_EQ(semfuse_program({"tokenize", folder_ / "model.bin", "ab </s>", "--json"}).out, tokens.dump() + '\n');

  // Back and forth.
  ASSERT_EQ(semfuse_program({"export", folder_ / "ours", "--to", folder_ / "hf"}).exit_code, 0);
  ASSERT_EQ(semfuse_program({"import", folder_ / "hf", "--out", folder_ / "again"}).exit_code, 0);
  const json again = json::parse(semfuse_program({"inspect", folder_ / "again", "--json"}).out);
  EXPECT_EQ(again["parameter_count"], before["parameter_count"]);
  EXPECT_EQ(again["bos"], before["bos"]);
  EXPECT_EQ(again["adds_bos"], json(true));
  EXPECT_EQ(json::parse(semfuse_program({"tokenize", folder_ / "again", "ab </s>", "--json"}).out), tokens);
}

TEST_F(Import, Quantises) {
  for (const char* bits : {"q8", "q4"}) {
    const ProcessResult result =
        semfuse_program({"import", folder_ / "model.bin", "--out", folder_ / bits, "--quantize", bits, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json types = json::parse(result.out)["types"];
    EXPECT_EQ(types, bits[1] == '8' ? json({{"q8_0", 8}}) : json({{"q8_0", 1}, {"q4_1", 7}}));
  }
}

TEST_F(Import, RefusesInOneLine) {
  const auto refused = [&](const std::string& path, const std::string& part, const Arguments& more = {}) {
    Arguments arguments = {"import", path, "--out", folder_ / "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, part);
    EXPECT_FALSE(fs::exists(folder_ / "out")) << "nothing is left behind";
  };
  refused(folder_ / "none", "is not there");
  refused(folder_.path().string(), "has no config.json");
  const std::string model = small_llama_file();
  write_file(folder_ / "cut", model.substr(0, model.size() / 2));
  refused(folder_ / "cut", "cut short");
  write_file(folder_ / "zip", "PK\3\4");
  refused(folder_ / "zip", "zip file");
  write_file(folder_ / "huge.gguf", std::string("GGUF\3\0\0\0", 8) + std::string(16, '\xFF') + std::string(100, '\0'));
  refused(folder_ / "huge.gguf", "tensors in");
  const std::string tokenizer = small_llama_tokenizer();
  write_file(folder_ / "poisoned.bin", tokenizer.substr(0, 40) + std::string(8, '\x7F') + tokenizer.substr(48));
  refused(folder_ / "model.bin", "poisoned.bin", {"--tokenizer", folder_ / "poisoned.bin"});
  write_file(folder_ / "unigram.json", R"({"model":{"type":"Unigram","vocab":[]}})");
  refused(folder_ / "model.bin", "Unigram", {"--tokenizer", folder_ / "unigram.json"});
  fs::create_directory(folder_ / "hf");
  write_file(folder_ / "hf/config.json", R"({"model_type":"bert"})");
  refused(folder_ / "hf", "llama and gpt2 can be read");
  expect_refused({"inspect", folder_ / "hf"}, "llama and gpt2 can be read");
  expect_refused({"import", folder_ / "model.bin", "--out", folder_.path().string()}, "is already there");
}

}  // namespace
}  // namespace semfuse
