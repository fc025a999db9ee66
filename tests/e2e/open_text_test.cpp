// Words that a model of people's own texts never saw: held out of training, measured, added, spoken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plain_reviews(std::size_t count) {
  const std::vector<std::string> things = {"the soup", "our waiter", "this bread", "my room", "the salad"};
  const std::vector<std::string> kinds = {"awful", "tasty", "tastier", "good", "great", "lovely", "bad"};
  std::ostringstream text;
  for (std::size_t i = 0; i < count; ++i)
    text << things[i % 5] << " was " << (i % 3 == 0 ? "very " : "") << kinds[i / 5 % 7] << " on day " << i % 31
         << " .\n";
  return text.str();
}

class OpenText : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    file("reviews.txt", plain_reviews(500));
    file("words.txt", "tastier\nlovely\n");
    const ProcessResult result = semfuse_program(training("model", {"--held-out", path("words.txt"), "--quiet"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static Arguments training(const std::string& name, const Arguments& more) {
    Arguments arguments = {"train", "--preset", "open-text", "--data", path("reviews.txt"), "--out", path(name)};
    for (const char* setting :
         {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16", "text.vocabulary=320",
          "training.epochs=2", "training.batch=32", "features.vector_width=8"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string text_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static json json_of(const Arguments& arguments) { return json::parse(text_of(arguments), nullptr, false); }
  static std::string larger() {
    if (!std::filesystem::exists(path("larger"))) {
      file("new.tsv", "word\tclass\tlike\nsuperb\tadjective\tgreat, good\ntastyish\tadjective\t\n");
      text_of({"words", "add", path("model"), "--lexicon", path("new.tsv"), "--out", path("larger")});
    }
    return path("larger");
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(OpenText, HeldOutWordsAreMeasuredOnTheirOwnTexts) {
  const json result = json_of({"evaluate", path("model"), "--json"})["held_out"];
  EXPECT_GT(result["texts"].get<int>(), 100);
  EXPECT_EQ(result["held_out"]["positions"], result["texts"]);
  EXPECT_GT(result["held_out"]["cross_entropy"].get<double>(), 0.0);
  EXPECT_GT(result["matched"]["positions"].get<int>(), 0);
  EXPECT_GT(result["others"]["positions"].get<int>(), result["matched"]["positions"].get<int>());
  EXPECT_THAT(text_of({"evaluate", path("model")}), HasSubstr("held-out words"));
  EXPECT_THAT(Process::text(path("model/config.toml")), HasSubstr("held_out = [\"tastier\", \"lovely\"]"));
  const json listed = json_of({"words", "list", path("model"), "--json"})["words"];
  for (const json& word : listed) {
    const auto entry = word["word"].get<std::string>();
    EXPECT_EQ(word["seen"].get<bool>(), !entry.ends_with("tastier") && !entry.ends_with("lovely")) << word;
  }
}

TEST_F(OpenText, VectorsDoNotLookAhead) {
  const json result = json_of({"audit", path("model"), "--sentences", "6", "--json"});
  EXPECT_FALSE(result["looks_ahead"].get<bool>());
  EXPECT_EQ(result["max_logit_change"], 0.0);
}

TEST_F(OpenText, TrainingHasTheSameBytesForAnyNumberOfThreadsAndVectorsMadeAnew) {
  ::setenv("SEMFUSE_CACHE", path("another cache").c_str(), 1);
  text_of(training("again", {"--held-out", path("words.txt"), "--quiet", "--threads", "1"}));
  ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
  EXPECT_EQ(Process::text(path("again/model.safetensors")), Process::text(path("model/model.safetensors")));
}

TEST_F(OpenText, AddedWordsAreTokensOfTheLargerModel) {
  const json tokens = json_of({"tokenize", larger(), "the superb soup was tastyish", "--json"});
  EXPECT_EQ(tokens["ids"].size(), 5U);
  EXPECT_GT(json_of({"tokenize", path("model"), "the superb soup was tastyish", "--json"})["ids"].size(), 5U);
  EXPECT_THAT(text_of({"words", "list", larger()}), AllOf(HasSubstr("tastyish"), HasSubstr("features alone")));
  file("one.gbnf", "root ::= \"the soup was \" (\"superb\" | \"tastyish\") \" .\"\n");
  EXPECT_THAT(text_of({"generate", larger(), "--grammar", path("one.gbnf"), "--n", "4"}),
              AllOf(HasSubstr("the soup was "), Not(HasSubstr("good"))));
  EXPECT_EQ(text_of({"generate", larger(), "--prompt", "superb", "--n", "2"}).substr(0, 6), "superb");
  EXPECT_GT(json_of({"evaluate", larger(), "--json"})["held_out"]["held_out"]["positions"].get<int>(), 0);
}

TEST_F(OpenText, AnExportedModelStandsAlone) {
  text_of({"export", larger(), "--to", path("exported")});
  const json config = json::parse(Process::text(path("exported/config.json")));
  EXPECT_EQ(config["vector_columns"], 10);
  EXPECT_EQ(config["word_features"][300].size(), 10U);
  EXPECT_THAT(Process::text(path("exported/tokenizer.json")), HasSubstr("superb"));
  const Arguments generate = {"--n", "3", "--seed", "4", "--max-tokens", "20"};
  Arguments here = {"generate", larger()}, there = {"generate", path("exported/model.safetensors")};
  here.insert(here.end(), generate.begin(), generate.end());
  there.insert(there.end(), generate.begin(), generate.end());
  EXPECT_EQ(text_of(here), text_of(there));
  EXPECT_THAT(text_of({"verify", larger()}), Not(HasSubstr("DAMAGED")));
}

TEST_F(OpenText, WordsThatTrainingSaysNothingOfAreWarnedOf) {
  file("odd.tsv", "word\tclass\nqzxj\tadjective\n");
  const ProcessResult result =
      semfuse_program({"words", "add", path("model"), "--lexicon", path("odd.tsv"), "--out", path("odd")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("\"qzxj\": the word vectors know no part of its spelling"));
}

TEST_F(OpenText, WhatCannotBeIsRefused) {
  expect_refused(training("x", {"--held-out", path("none.txt")}), "none.txt");
  expect_refused(training("x", {"--held-out", file("two.txt", "very good\n")}), "two.txt:1: the held-out word");
  expect_refused(training("x", {"--held-out", file("absent.txt", "zebra\n")}), "no text has one of the 1");
  expect_refused(training("x", {"--set", "text.tokenizer=pieces"}), "features.vectors needs");
  expect_refused(training("x", {"--set", "features.vectors=" + path("none.txt")}), "none.txt: there is no such file");
  expect_refused({"train", "--set", "features.vectors=data", "--out", path("x")}, "features.vectors is for texts");
  file("old.tsv", "word\tclass\ngood\tadjective\n");
  expect_refused({"words", "add", path("model"), "--lexicon", path("old.tsv"), "--out", path("y")}, "knows \"good\"");
  file("like.tsv", "word\tclass\tlike\nnice\tadjective\tgood,,bad\n");
  expect_refused({"words", "add", path("model"), "--lexicon", path("like.tsv"), "--out", path("y")},
                 "like.tsv:2: like");
}

TEST_F(OpenText, VectorsOfOtherTextsKnowTheWordsThereIn) {
  file("other.txt", plain_reviews(500) + "the pie was superb .\nsuperb tea .\n");
  text_of(training("other",
                   {"--quiet", "--set", "features.vectors=" + path("other.txt"), "--held-out", path("words.txt")}));
  EXPECT_THAT(Process::text(path("other/config.toml")), HasSubstr("vectors = \"" + path("other.txt")));
  EXPECT_GT(json_of({"evaluate", path("other"), "--json"})["held_out"]["texts"].get<int>(), 100);
}

}  // namespace
}  // namespace semfuse
