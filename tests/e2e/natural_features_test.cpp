// Models of people's own texts with readable features: trained, measured, asked, audited, resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

std::string short_reviews(std::size_t count) {
  const std::vector<std::string> things = {"The food", "our waiter", "This café", "I think the soup", "my room"};
  const std::vector<std::string> words = {"awful", "bad", "fine", "good", "great"};
  std::ostringstream text;
  text << "text\tstars\n";
  for (std::size_t i = 0; i < count; ++i) {
    text << things[i / 5 % 5] << (i % 2 == 0 ? " was " : " isn't ") << (i % 3 == 0 ? "very " : "") << words[i * 7 % 5]
         << " on day " << i << ".!?"[i % 3] << '\t' << i * 7 % 5 + 1 << '\n';
  }
  return text.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

class NaturalFeatures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    write(path("reviews.tsv"), short_reviews(300));
    train("model");
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static Arguments training(const std::string& name, const Arguments& more = {}) {
    Arguments arguments = {"train", "--preset", "text-features", "--data", path("reviews.tsv"), "--out", path(name)};
    for (const char* setting :
         {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16", "text.vocabulary=300",
          "training.epochs=2", "training.batch=32",
          "model.knobs=[\"stars: scalar of column stars from 1 to 5\", \"length: scalar of length from 4 to 10\"]"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static void train(const std::string& name, Arguments more = {}) {
    more.emplace_back("--quiet");
    const ProcessResult result = semfuse_program(training(name, more));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static std::string text_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static json json_of(const Arguments& arguments) { return json::parse(text_of(arguments), nullptr, false); }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(NaturalFeatures, AreReadAndReadBack) {
  const json result = json_of({"evaluate", path("model"), "--json"});
  EXPECT_GT(result["bits_per_byte"].get<double>(), 0.05);
  EXPECT_GT(result["feature_mse"].get<double>(), 0.0);
  EXPECT_LT(result["feature_mse"].get<double>(), 0.2);
  EXPECT_THAT(Process::text(path("model/log.jsonl")), Not(HasSubstr("\"loss_features\":0.0,")));
  EXPECT_THAT(Process::text(path("model/config.toml")),
              AllOf(HasSubstr("bank = \"natural\""), HasSubstr("declaration = \"english\"")));
}

TEST_F(NaturalFeatures, TheAuditProvesThatNoneLooksAhead) {
  for (const char* tokenizer : {"words", "pieces", "bytes"}) {
    const std::string name = std::string("audited-") + tokenizer;
    train(name, {"--set", std::string("text.tokenizer=") + tokenizer});
    const json result = json_of({"audit", path(name), "--sentences", "6", "--json"});
    EXPECT_FALSE(result["looks_ahead"].get<bool>());
    EXPECT_EQ(result["max_logit_change"], 0.0);
    EXPECT_EQ(result["features_looking_ahead"], json::array());
  }
}

TEST_F(NaturalFeatures, CommandsKnowSuchModels) {
  const std::string run = path("model");
  const json shown = json_of({"features", "--model", run, "The soup isn't good.", "--json"});
  EXPECT_THAT(shown["features"].get<std::vector<std::string>>(), Contains("negation"));
  EXPECT_EQ(shown["tokens"].size(), shown["matrix"].size());
  EXPECT_THAT(text_of({"inspect", run}), AllOf(HasSubstr("negation"), HasSubstr("Tokenizer")));
  EXPECT_THAT(text_of({"verify", run}), Not(HasSubstr("DAMAGED")));
  EXPECT_THAT(text_of({"words", "list", run}), HasSubstr("food"));
  EXPECT_THAT(text_of({"sweep", run, "--knob", "length", "--levels", "2", "--n", "4"}), HasSubstr("length"));
  EXPECT_EQ(semfuse_program({"export", run, "--to", path("exported")}).exit_code, 0);
  EXPECT_THAT(Process::text(path("exported/config.json")), HasSubstr("sentence_begin"));
  const Arguments generate = {"generate", run, "--n", "5", "--prompt", "I didn't", "--max-tokens", "30"};
  const std::string several = text_of(generate);
  EXPECT_EQ(text_of({"generate", path("exported/model.safetensors"), "--n", "5", "--prompt", "I didn't", "--max-tokens",
                     "30", "--threads", "1"}),
            several);
}

TEST_F(NaturalFeatures, ARunThatWasStoppedEndsAsIfItWasNot) {
  Process process(command_of("semfuse", training("stopped", {"--quiet", "--checkpoint-every", "1"})));
  ASSERT_TRUE(wait_until([&] { return !CheckpointStore(path("stopped/checkpoints")).list().empty(); }));
  process.signal(SIGKILL);
  process.result();
  EXPECT_EQ(semfuse_program({"train", "--resume", path("stopped"), "--quiet"}).exit_code, 0);
  EXPECT_EQ(Process::text(path("stopped/model.safetensors")), Process::text(path("model/model.safetensors")));
}

TEST_F(NaturalFeatures, SourcesOfOnesOwnAreKeptWithTheRun) {
  fs::create_directory(path("own"));
  write(path("own/my.tsv"), "word\tclass\twarmth\nsoup\tdish\t0.8\nroom\tplace\t0.1\n");
  write(path("own/my.bank"), "warm: high of warmth\ndish: class dish\nloud: is upper\nverb: tag VERB\n");
  write(path("own/some.conllu"), "1\tSoup\tsoup\tNOUN\t_\t_\t0\troot\t_\t_\n2\tis\tbe\tVERB\t_\t_\t1\tx\t_\t_\n\n");
  ASSERT_EQ(semfuse_program({"tagger", "train", path("own/some.conllu"), "--out", path("own/my.tagger")}).exit_code, 0);
  write(path("own/my.toml"),
        "from = \"text-features\"\n[data]\ntrain = \"../reviews.tsv\"\n[features]\nlexicon = \"my.tsv\"\ndeclaration = "
        "\"my.bank\"\ntagger = \"my.tagger\"\n[model]\nwidth = 16\nlayers = 1\nheads = 2\nfeed_forward = "
        "16\n[training]\nepochs = 1\n");
  ASSERT_EQ(text_of({"train", "--config", path("own/my.toml"), "--out", path("own-run"), "--quiet"}), "");
  EXPECT_THAT(Process::text(path("own-run/config.toml")),
              AllOf(HasSubstr("declaration = \"features.bank\""), HasSubstr("tagger = \"words.tagger\"")));
  EXPECT_THAT(text_of({"verify", path("own-run")}),
              AllOf(HasSubstr("features.bank"), HasSubstr("words.tagger"), HasSubstr("lexicon.tsv")));
  fs::remove_all(path("own"));
  // What a run folder has repeats the run, and a model needs nothing beside its file.
  text_of({"train", "--config", path("own-run/config.toml"), "--out", path("own-again"), "--quiet"});
  EXPECT_EQ(Process::text(path("own-again/model.safetensors")), Process::text(path("own-run/model.safetensors")));
  fs::create_directory(path("alone"));
  fs::copy_file(path("own-run/model.safetensors"), path("alone/model.safetensors"));
  const json shown = json_of({"features", "--model", path("alone/model.safetensors"), "SOUP, soup", "--json"});
  EXPECT_EQ(shown["features"], json({"warm", "dish", "loud", "verb"}));
  EXPECT_THAT(text_of({"evaluate", path("alone/model.safetensors")}), HasSubstr("bits"));
  // A run that goes on from the model has its features, and needs nothing of it later.
  text_of({"train", "--init", path("own-run"), "--data", path("reviews.tsv"), "--set", "training.epochs=1", "--out",
           path("own-more"), "--quiet"});
  fs::rename(path("own-run"), path("own-moved"));
  EXPECT_THAT(Process::text(path("own-more/config.toml")),
              AllOf(HasSubstr("declaration = \"features.bank\""), HasSubstr("tagger = \"words.tagger\""),
                    HasSubstr("lexicon = \"lexicon.tsv\"")));
  EXPECT_THAT(text_of({"train", "--resume", path("own-more")}), HasSubstr("nothing to resume"));
  text_of({"train", "--config", path("own-more/config.toml"), "--out", path("own-more-again"), "--quiet"});
  EXPECT_EQ(Process::text(path("own-more-again/model.safetensors")), Process::text(path("own-more/model.safetensors")));
}

TEST_F(NaturalFeatures, AreNoPartOfAModelThatReadsNone) {
  train("plain", {"--set", "model.fusion=false", "--set", "model.knobs=[]"});
  EXPECT_THAT(Process::text(path("plain/config.toml")), HasSubstr("bank = \"none\""));
  EXPECT_LT(fs::file_size(path("plain/model.safetensors")) + 400'000, fs::file_size(path("model/model.safetensors")));
  EXPECT_GT(json_of({"evaluate", path("plain"), "--json"})["bits_per_byte"].get<double>(), 0.05);
}

TEST_F(NaturalFeatures, OutputRowsMayReadThem) {
  train("open", {"--set", "model.output_features=true", "--set", "model.open_vocabulary=true", "--set",
                 "training.class_loss=0.1", "--set", "training.identity_dropout=0.1"});
  EXPECT_GT(json_of({"evaluate", path("open"), "--json"})["bits_per_byte"].get<double>(), 0.05);
  EXPECT_FALSE(json_of({"audit", path("open"), "--sentences", "4", "--json"})["looks_ahead"].get<bool>());
}

TEST_F(NaturalFeatures, WhatDoesNotFitIsOneLine) {
  const auto refused = [&](const std::string& setting, const std::string& part) {
    expect_refused(training("never", {"--set", setting}), part);
    EXPECT_FALSE(fs::exists(path("never")));
  };
  refused("training.polarity_jitter=0.5", "set training.polarity_jitter to 0");
  refused("features.learn_kernel=true", "set features.learn_kernel to false");
  refused("model.share_class_mass=true", "set model.share_class_mass to false");
  refused("features.tagger=none", "a tag needs a tagger");
  refused("features.tagger=nowhere.tagger", "nowhere.tagger");
  refused("features.declaration=nowhere.bank", "nowhere.bank");
  refused("features.bank=open", "set it to \"natural\" or \"none\"");
  expect_refused(training("never", {"--set", "model.output_features=true", "--set", "text.tokenizer=pieces"}),
                 "need tokens that are words");
}

}  // namespace
}  // namespace semfuse
