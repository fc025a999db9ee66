// A model with learned memberships through every program that touches it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

class LearnedKernel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const ProcessResult result = semfuse_program(training(path("run"), {"--threads", "1"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }

  // Eight steps, a checkpoint after the third and the sixth.
  static Arguments training(const std::string& run, const Arguments& more) {
    Arguments all = {"--quiet", "--checkpoint-every", "3"};
    for (const char* setting : {"features.learn_kernel=true", "training.epochs=4", "training.learning_rate=0.05"}) {
      all.insert(all.end(), {"--set", setting});
    }
    all.insert(all.end(), more.begin(), more.end());
    return tiny_training(run, all);
  }
  static nlohmann::json json_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(LearnedKernel, TrainingMovesTheMemberships) {
  const LanguageModel model = load_checkpoint(path("run")).model;
  for (const NamedParameter& parameter : model.parameters()) {
    if (!parameter.name.starts_with("memberships.")) continue;
    for (const float value : parameter.values) EXPECT_NE(value, 0.0f) << parameter.name;
  }
  const nlohmann::json memberships = json_of({"inspect", path("run"), "--json"})["memberships"];
  EXPECT_EQ(memberships["learned"], true);
  EXPECT_EQ(memberships["strength"]["centers"], nlohmann::json(model.feature_bank().memberships()[2].centers));
  EXPECT_NE(memberships["strength"]["centers"], memberships["positive"]["centers"]);
  EXPECT_THAT(semfuse_program({"inspect", path("run")}).out,
              testing::HasSubstr("Memberships: gaussian kernel, learned\n"));
}

TEST_F(LearnedKernel, FeaturesAreThoseOfTheModel) {
  const Sentence sentence = split_words("Alice reviews the paper, very good!");
  const nlohmann::json json =
      json_of({"features", "--model", path("run"), "--json", "Alice reviews the paper, very good!"});
  const FeatureMatrix rows = load_checkpoint(path("run")).model.feature_bank().rows(sentence);
  for (std::size_t t = 0; t < rows.num_rows; ++t) {
    for (std::size_t f = 0; f < rows.num_features; ++f) EXPECT_EQ(json["matrix"][t][f].get<float>(), rows.row(t)[f]);
  }
  const nlohmann::json configured =
      json_of({"features", "--set", "features.bank=semfuse", "--set", "features.kernel=gaussian", "--json",
               "Alice reviews the paper, very good!"});
  EXPECT_NE(json["matrix"], configured["matrix"]);
  expect_refused({"features", "--model", path("run"), "--set", "features.kernel_base=0.5", "Alice"}, "leave out");
  expect_refused({"features", "--model", path("nowhere"), "Alice"}, "nowhere");
}

TEST_F(LearnedKernel, ItIsMeasuredAuditedAndSpoken) {
  EXPECT_TRUE(json_of({"evaluate", path("run"), "--json"})["ppl"].is_number());
  EXPECT_EQ(json_of({"audit", path("run"), "--json"})["max_logit_change"], 0.0);
  const ProcessResult spoken = semfuse_program({"generate", path("run"), "--n", "3"});
  EXPECT_EQ(spoken.exit_code, 0) << spoken.err;
  EXPECT_EQ(std::count(spoken.out.begin(), spoken.out.end(), '\n'), 3);
}

TEST_F(LearnedKernel, AnAddedWordIsGradedByTheLearnedMemberships) {
  std::ofstream(path("new.tsv")) << "word\tclass\tpolarity\tstrength\nbarely\tintensifier\t\t0.1\n";
  const ProcessResult result =
      semfuse_program({"words", "add", path("run"), "--lexicon", path("new.tsv"), "--out", path("larger")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const LanguageModel before = load_checkpoint(path("run")).model, after = load_checkpoint(path("larger")).model;
  EXPECT_EQ(after.feature_bank().memberships(), before.feature_bank().memberships());
  const std::vector<float> old_logits = before.logits({"Alice"}), new_logits = after.logits({"Alice"});
  // The new intensifier takes its part of what the four before it had; every other logit stays.
  const float part = std::log(4.0f / 5.0f);
  for (std::size_t id = 0; id < 41; ++id) {
    const LexiconEntry* entry = before.feature_bank().lexicon().find(before.vocabulary().entries()[id]);
    const bool shares = entry != nullptr && entry->word_class == WordClass::kIntensifier;
    EXPECT_NEAR(new_logits[42 + id], old_logits[41 + id] + (shares ? part : 0.0f), shares ? 1e-5 : 0.0) << id;
  }

  ASSERT_EQ(semfuse_program({"export", path("larger"), "--to", path("exported")}).exit_code, 0);
  const nlohmann::json config = nlohmann::json::parse(Process::text(path("exported") + "/config.json"));
  const FeatureMatrix rows = after.feature_bank().word_rows(after.vocabulary());
  for (std::size_t f = 0; f < rows.num_features; ++f) {
    EXPECT_EQ(config["word_features"][41][f].get<float>(), rows.row(41)[f]) << f;
  }
}

TEST_F(LearnedKernel, AResumedRunGivesTheSameBytes) {
  fs::copy(path("run"), path("resumed"), fs::copy_options::recursive);
  rewind_run(path("resumed"), 3);
  ASSERT_TRUE(fs::exists(checkpoint_path(path("resumed"), 3)));
  ASSERT_EQ(semfuse_program({"train", "--resume", path("resumed"), "--threads", "3", "--quiet"}).exit_code, 0);
  for (const char* file : {"/model.safetensors", "/checkpoints/step-00000008.safetensors"}) {
    EXPECT_EQ(Process::text(path("resumed") + file), Process::text(path("run") + file)) << file;
  }
}

TEST_F(LearnedKernel, EveryKernelAndBankLearns) {
  for (const char* kernel : {"triangular", "gaussian"}) {
    const std::string run = path(kernel);
    const ProcessResult result =
        semfuse_program(training(run, {"--preset", "paper-fusion", "--set", std::string("features.kernel=") + kernel}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(json_of({"evaluate", run, "--json"})["ppl"].is_number());
  }
  expect_refused(training(path("never"), {"--preset", "causal-baseline"}), "features.learn_kernel needs model.fusion");
  EXPECT_FALSE(fs::exists(path("never")));
}

}  // namespace
}  // namespace semfuse
