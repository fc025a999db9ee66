#include "semfuse/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "io/tensor_archive.h"
#include "model/model_access.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// No value is the default one, so whatever is not stored shows.
Experiment unusual_experiment(bool fusion) {
  Experiment experiment;
  experiment.seed = 9007199254740993U;  // Not a double.
  experiment.corpus.train = 77;
  experiment.corpus.second_clause = 1.0 / 3.0;
  experiment.corpus.held_out = {"awful", "good"};
  experiment.features.kernel_base = 0.7;
  experiment.features.bandwidth = 0.1 + 0.2;
  experiment.features.exclamation_nudge = 0.05;
  experiment.model = small_options(AttentionMask::causal, fusion);
  experiment.model.dropout = 0.15;
  experiment.training.learning_rate = 1.2345678901234567e-3;
  experiment.training.count_end = false;
  return experiment;
}

LanguageModel unusual_model(const Experiment& experiment) {
  const Vocabulary vocabulary({"<pad>", "<bos>", "<eos>", "zebra", "a \"quoted\" word", "caf\xC3\xA9", "back\\slash"});
  const Lexicon lexicon({{.word = "zebra", .word_class = WordClass::kAdjective, .polarity = -1.0 / 3.0},
                         {.word = "caf\xC3\xA9", .word_class = WordClass::kIntensifier, .strength = 0.1},
                         {.word = "a \"quoted\" word", .word_class = WordClass::kPunctuation}});
  LanguageModel model(experiment.model, vocabulary, FeatureBank(lexicon, experiment.features), 3);
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = random_weights(ModelAccess::network(model).layout(), 4); });
  std::vector<float> gains(16, -0.0f);
  gains[1] = std::numeric_limits<float>::denorm_min();
  gains[2] = std::numeric_limits<float>::max();
  gains[3] = std::nextafter(1.0f, 2.0f);
  model.set_parameter("enc.layers.1.norm2.bias", gains);
  return model;
}

class CheckpointTest : public testing::TestWithParam<bool> {
 protected:
  const TemporaryFolder folder_;
  const Experiment experiment_ = unusual_experiment(GetParam());
  const LanguageModel model_ = unusual_model(experiment_);
};

TEST_P(CheckpointTest, LoadsWhatWasSaved) {
  save_checkpoint(folder_ / "m.safetensors", model_, experiment_);
  const Checkpoint loaded = load_checkpoint(folder_ / "m.safetensors");
  EXPECT_EQ(to_toml(loaded.experiment()), to_toml(experiment_));
  EXPECT_EQ(loaded.experiment().seed, experiment_.seed);
  EXPECT_EQ(loaded.model.vocabulary().entries(), model_.vocabulary().entries());
  EXPECT_EQ(loaded.model.feature_bank().lexicon().entries(), model_.feature_bank().lexicon().entries());
  EXPECT_EQ(loaded.model.feature_bank().options().kernel_base, experiment_.features.kernel_base);
  EXPECT_EQ(loaded.model.feature_bank().options().bandwidth, experiment_.features.bandwidth);
  EXPECT_EQ(loaded.model.feature_bank().options().exclamation_nudge, experiment_.features.exclamation_nudge);
  EXPECT_EQ(loaded.model.options().attention, AttentionMask::causal);
  EXPECT_EQ(loaded.model.options().fusion, GetParam());
  EXPECT_EQ(loaded.model.options().heads, 2U);
  EXPECT_EQ(loaded.model.options().dropout, 0.15);

  const auto expected = model_.parameters(), found = loaded.model.parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t p = 0; p < found.size(); ++p) {
    EXPECT_EQ(found[p].name, expected[p].name);
    ASSERT_EQ(found[p].values.size(), expected[p].values.size()) << found[p].name;
    EXPECT_EQ(std::memcmp(found[p].values.data(), expected[p].values.data(), found[p].values.size_bytes()), 0)
        << found[p].name;
  }
}

TEST_P(CheckpointTest, LoadedModelPredictsTheSame) {
  Experiment experiment = experiment_;
  experiment.model.attention = AttentionMask::bidirectional;
  experiment.features = {};
  const LanguageModel model = random_model(experiment.model);
  save_checkpoint(folder_ / "m.safetensors", model, experiment);
  const Sentence sentence = {"Alice", "reviews", "the", "paper", ",", "very", "good", "!"};
  EXPECT_EQ(load_checkpoint(folder_ / "m.safetensors").model.logits(sentence), model.logits(sentence));
}

TEST_P(CheckpointTest, TheSameModelGivesTheSameBytes) {
  save_checkpoint(folder_ / "a", model_, experiment_);
  save_checkpoint(folder_ / "b", model_, experiment_);
  const Checkpoint loaded = load_checkpoint(folder_ / "a");
  save_checkpoint(folder_ / "c", loaded.model, loaded.experiment());
  const std::string bytes = bytes_of(folder_ / "a");
  EXPECT_GT(bytes.size(), 4 * model_.parameter_count());
  EXPECT_EQ(bytes_of(folder_ / "b"), bytes);
  EXPECT_EQ(bytes_of(folder_ / "c"), bytes);
}

TEST_P(CheckpointTest, ReplacesAFileAndLeavesNoOther) {
  save_checkpoint(folder_ / "m", random_model(experiment_.model), experiment_);
  save_checkpoint(folder_ / "m", model_, experiment_);
  EXPECT_EQ(load_checkpoint(folder_ / "m").model.vocabulary().size(), 7U);
  const std::filesystem::directory_iterator files(folder_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_P(CheckpointTest, LoadsARunFolder) {
  save_checkpoint(folder_ / "model.safetensors", model_, experiment_);
  EXPECT_EQ(values_of(load_checkpoint(folder_.path()).model), values_of(model_));
}

INSTANTIATE_TEST_SUITE_P(Models, CheckpointTest, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "fusion" : "baseline"; });

TEST(Checkpoint, RefusesAnExperimentThatIsNotTheModels) {
  const TemporaryFolder folder;
  const Experiment experiment = unusual_experiment(true);
  const LanguageModel model = unusual_model(experiment);
  const auto load_with = [&](auto change) {
    Experiment other = experiment;
    change(other.model);
    save_checkpoint(folder / "m", model, other);
    EXPECT_EQ(values_of(load_checkpoint(folder / "m").model), values_of(model));
    EXPECT_FALSE(load_checkpoint(folder / "m").find_experiment());
    return [&] { load_checkpoint(folder / "m").experiment(); };
  };
  const auto names_the_file = AllOf(HasSubstr(folder / "m"), HasSubstr("damaged"));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.width = 32; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.layers = 3; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.layers = 1; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.feed_forward = 23; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.feature_head = 21; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.fusion = false; }), ThrowsMessage<Error>(names_the_file));
  EXPECT_THAT(load_with([](ModelOptions& o) { o.attention = AttentionMask::bidirectional; }),
              ThrowsMessage<Error>(AllOf(names_the_file, HasSubstr("attention"))));
}

// Who only uses a model does not depend on what is said of its training.
TEST(Checkpoint, ItsConfigurationIsNotReadToLoadAModel) {
  const TemporaryFolder folder;
  const LanguageModel model = random_model(small_options(AttentionMask::causal, /*fusion=*/true));
  const Sentence sentence = {"Alice", "reviews", "the", "paper"};
  for (const std::string config : {"", "no = TOML at [all", "[model]\nwidth = 99999999999\n"}) {
    save_checkpoint(folder / "m", model, config);
    const Checkpoint loaded = load_checkpoint(folder / "m");
    EXPECT_EQ(loaded.model.logits(sentence), model.logits(sentence));
    EXPECT_EQ(loaded.config, config);
    EXPECT_FALSE(loaded.find_experiment());
    EXPECT_THAT([&] { loaded.experiment(); }, ThrowsMessage<Error>(HasSubstr(folder / "m")));
  }
}

TEST(Checkpoint, RefusesWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { load_checkpoint(folder / "none"); }, ThrowsMessage<Error>(HasSubstr(folder / "none")));
  EXPECT_THAT([&] { load_checkpoint(folder.path()); }, ThrowsMessage<Error>(HasSubstr("model.safetensors")));
  const Experiment experiment = unusual_experiment(true);
  save_checkpoint(folder / "m", unusual_model(experiment), experiment);
  const std::string bytes = bytes_of(folder / "m");
  std::ofstream(folder / "short", std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_THAT([&] { load_checkpoint(folder / "short"); }, ThrowsMessage<Error>(HasSubstr(folder / "short")));
}

TEST(Checkpoint, KeepsWhatTrainingShowedOfKnobs) {
  const TemporaryFolder folder;
  Experiment experiment;
  experiment.model = small_options(AttentionMask::causal, /*fusion=*/true);
  experiment.model.output_features = true;
  experiment.model.knobs = {parse_knob("size: scalar of length from 8 to 16")};
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), experiment.features), 3);
  save_checkpoint(folder / "unknown", model, experiment);
  EXPECT_TRUE(load_checkpoint(folder / "unknown").model.knob_support().empty());
  model.set_knob_support({{"size", {8.0, 16.0}}});
  save_checkpoint(folder / "m", model.with_words({{"superb", WordClass::kAdjective, 1.0, 0.0}}), experiment);
  EXPECT_EQ(load_checkpoint(folder / "m").model.knob_support(), model.knob_support());
  for (const KnobSupport& wrong : {KnobSupport{{"size", {16.0, 8.0}}}, KnobSupport{{"weight", {1.0}}}}) {
    model.set_knob_support(wrong);
    save_checkpoint(folder / "wrong", model, experiment);
    EXPECT_THAT([&] { load_checkpoint(folder / "wrong"); }, ThrowsMessage<Error>(HasSubstr("metadata knob_support")));
  }
}

TEST(Checkpoint, KeepsWhatAnOpenVocabularyIs) {
  const TemporaryFolder folder;
  Experiment experiment;
  experiment.features.bank = FeatureSet::semfuse;
  experiment.features.kernel = MembershipKernel::gaussian;
  experiment.model = small_options(AttentionMask::causal, /*fusion=*/true);
  experiment.model.output_features = experiment.model.open_vocabulary = true;
  experiment.model.gate = false;
  experiment.training.class_loss = 0.25;
  experiment.training.identity_dropout = 0.125;
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), experiment.features), 3);
  std::vector<bool> seen(model.vocabulary().size(), true);
  seen[7] = seen[40] = false;
  model.set_seen(seen);
  const LanguageModel larger = model.with_words({{"superb", WordClass::kAdjective, 1.0, 0.0}});
  save_checkpoint(folder / "m", larger, experiment);
  const Checkpoint loaded = load_checkpoint(folder / "m");
  EXPECT_EQ(to_toml(loaded.experiment()), to_toml(experiment));
  EXPECT_EQ(loaded.model.seen(), larger.seen());
  EXPECT_EQ(loaded.model.feature_bank().options().bank, FeatureSet::semfuse);
  EXPECT_EQ(loaded.model.feature_bank().options().kernel, MembershipKernel::gaussian);
  EXPECT_EQ(loaded.model.feature_bank().lexicon().entries(), larger.feature_bank().lexicon().entries());
  EXPECT_EQ(loaded.model.vocabulary().entries(), larger.vocabulary().entries());
  const Sentence sentence = {"very", "superb", "!"};
  EXPECT_EQ(loaded.model.logits(sentence), larger.logits(sentence));
}

// Whether the bytes are a model; anything but an Error escapes.
bool is_read(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  try {
    parse_checkpoint(TensorArchive::parse({begin, begin + bytes.size()}, "m"), "m");
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Checkpoint, CutAnywhereIsRefused) {
  const TemporaryFolder folder;
  const Experiment experiment = unusual_experiment(true);
  save_checkpoint(folder / "m", unusual_model(experiment), experiment);
  const std::string bytes = bytes_of(folder / "m");
  ASSERT_TRUE(is_read(bytes));
  for (std::size_t size = 0; size < bytes.size(); size += 7) EXPECT_FALSE(is_read(bytes.substr(0, size))) << size;
}

TEST(Checkpoint, AChangedHeaderIsReadOrRefused) {
  const TemporaryFolder folder;
  const Experiment experiment = unusual_experiment(true);
  save_checkpoint(folder / "m", unusual_model(experiment), experiment);
  std::string bytes = bytes_of(folder / "m");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t place = 0; place < sizeof(header) + header; place += place < 16 ? 1 : 5) {
    for (const int flip : {0x01, 0x80}) {
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
      refused += is_read(bytes) ? 0 : 1;
      ++tried;
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
    }
  }
  EXPECT_GT(refused, tried / 2);
}

TEST(Checkpoint, KeepsKnobsAndAttributesOfTheUsersOwn) {
  const TemporaryFolder folder;
  Experiment experiment = unusual_experiment(true);
  experiment.model.knobs = {parse_knob("warmth: probability of warmth"),
                            parse_knob("mark: distribution of final_mark over . ?")};
  const Lexicon lexicon(
      {{.word = "zebra", .word_class = WordClass::kAdjective, .polarity = 0.5, .more = {{"warmth", -0.25}}}});
  const LanguageModel model(experiment.model, Vocabulary({"<pad>", "<bos>", "<eos>", "zebra"}),
                            FeatureBank(lexicon, experiment.features), 3);
  save_checkpoint(folder / "m", model, experiment);
  const Checkpoint loaded = load_checkpoint(folder / "m");
  EXPECT_EQ(loaded.model.options().knobs, experiment.model.knobs);
  EXPECT_EQ(loaded.model.feature_bank().lexicon().entries(), lexicon.entries());
  EXPECT_EQ(loaded.model.feature_bank().lexicon().find("zebra")->attribute("warmth"), -0.25);
}

}  // namespace
}  // namespace semfuse
