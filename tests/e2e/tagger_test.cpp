#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"
#include "io/file.h"

namespace semfuse {
namespace {

class TaggerCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  TemporaryFolder folder_;
};

std::string line(int id, const std::string& word, const std::string& tag) {
  return std::to_string(id) + "\t" + word + "\t_\t" + tag + "\t_\t_\t_\t_\t_\t_\n";
}

std::string treebank() {
  std::string text;
  for (const char* noun : {"dog", "cat", "bird"}) {
    for (const char* verb : {"sings", "walks", "sleeps"}) {
      text += line(1, "the", "DET") + line(2, noun, "NOUN") + line(3, verb, "VERB") + line(4, ".", "PUNCT") + "\n";
    }
  }
  return text;
}

TEST_F(TaggerCommand, TrainsAndChecks) {
  const std::string file = written("a.conllu", treebank());
  const ProcessResult trained = semfuse_program({"tagger", "train", file, file, "--out", path("a.tagger")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, testing::HasSubstr("from 72 words in 18 sentences"));
  ASSERT_EQ(semfuse_program({"tagger", "train", file, file, "--out", path("b.tagger")}).exit_code, 0);
  EXPECT_EQ(read_text(path("a.tagger")), read_text(path("b.tagger")));

  const ProcessResult checked = semfuse_program({"tagger", "check", path("a.tagger"), file, "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const nlohmann::json json = nlohmann::json::parse(checked.out);
  EXPECT_EQ(json["accuracy"], 1.0);
  EXPECT_EQ(json["in_order"]["accuracy"], 1.0);
  EXPECT_EQ(json["words"], 36);
  EXPECT_EQ(json["tags"]["NOUN"]["f1"], 1.0);
  EXPECT_GT(json["words_per_second"], 0.0);
  EXPECT_THAT(semfuse_program({"tagger", "check", path("a.tagger"), file}).out, testing::HasSubstr("100.00 %"));
}

TEST_F(TaggerCommand, Refusals) {
  const std::string file = written("a.conllu", treebank());
  expect_refused({"tagger", "train", file, "--out", file}, "is already there and is not overwritten");
  expect_refused({"tagger", "train", path("nowhere"), "--out", path("t")}, "nowhere");
  expect_refused({"tagger", "train", written("bad", "1\ta\n"), "--out", path("t")}, "bad:1: has 2 columns");
  expect_refused({"tagger", "train", file, "--out", path("t"), "--passes", "0"}, "--passes");
  expect_refused({"tagger", "check", file, file}, "is no tagger");
  EXPECT_FALSE(std::filesystem::exists(path("t")));
}

// What the shipped tagger promises, where the treebank lies beside the checkout in its short form.
TEST_F(TaggerCommand, EnglishIsAsGoodAsItsReadmeSays) {
  const std::filesystem::path shared =
      std::filesystem::path(SEMFUSE_SOURCE_DIR) / "../shared/data/ud_ewt/test.5col.tsv";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "there is no " << shared;
  std::ifstream in(shared);
  std::string text;
  int id = 0;
  for (std::string row; std::getline(in, row);) {
    if (row.empty()) {
      text += "\n";
      id = 0;
    } else if (const std::size_t tab = row.find('\t'); tab != row.npos) {
      text += line(++id, row.substr(0, tab), row.substr(tab + 1, row.find('\t', tab + 1) - tab - 1));
    }
  }
  const ProcessResult checked = semfuse_program({"tagger", "check", "english", written("test.conllu", text), "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const nlohmann::json json = nlohmann::json::parse(checked.out);
  EXPECT_GE(json["accuracy"], 0.945);
  EXPECT_GE(json["in_order"]["accuracy"], 0.925);
  EXPECT_LT(json["bytes"], 1'000'000);
}

}  // namespace
}  // namespace semfuse
