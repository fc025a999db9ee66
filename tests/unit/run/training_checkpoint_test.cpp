#include "run/training_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "io/file.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_training.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TrainingCheckpoint, ResumedAtAnyStepItGivesTheSameBits) {
  const TemporaryFolder folder;
  Experiment learned = small_experiment();
  learned.features.learn_kernel = true;
  Experiment open = small_experiment();
  open.features.bank = FeatureSet::open;
  open.model.output_features = open.model.open_vocabulary = true;
  open.training.identity_dropout = 0.4;
  open.training.polarity_jitter = 0.8;
  Experiment muon = small_experiment();
  muon.training.optimizer = OptimizerKind::muon;
  for (const Experiment& experiment : {small_experiment(true), small_experiment(false), learned, open, muon}) {
    SmallTraining whole(experiment, 2);
    const std::uint64_t total = whole.trainer.total_steps();
    ASSERT_EQ(total, 9U) << "three steps an epoch, so that most pauses are inside one";
    whole.steps(total);
    for (std::uint64_t pause = 0; pause <= total; ++pause) {
      SmallTraining first(experiment, 1 + pause % 3);
      first.steps(pause);
      save_training(folder / "t", first.model, first.trainer, experiment);
      SmallTraining second(experiment, 3 - pause % 3);
      load_training(folder / "t", experiment, second.model, second.trainer);
      EXPECT_EQ(second.numbers(), first.numbers());
      EXPECT_EQ(second.model.feature_bank().memberships(), first.model.feature_bank().memberships());
      second.steps(total - pause);
      EXPECT_TRUE(second.trainer.done());
      EXPECT_EQ(second.numbers(), whole.numbers()) << "paused after step " << pause;
      std::vector<double> losses = first.losses;
      losses.insert(losses.end(), second.losses.begin(), second.losses.end());
      EXPECT_EQ(losses, whole.losses);
    }
  }
}

TEST(TrainingCheckpoint, APauseAfterEveryStepGivesTheSameBits) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining whole(experiment);
  whole.steps(9);
  for (std::size_t s = 0; s < 9; ++s) {
    SmallTraining part(experiment, 1 + s % 4);
    if (s > 0) load_training(folder / "t", experiment, part.model, part.trainer);
    part.steps(1);
    save_training(folder / "t", part.model, part.trainer, experiment);
  }
  SmallTraining last(experiment);
  load_training(folder / "t", experiment, last.model, last.trainer);
  EXPECT_EQ(last.numbers(), whole.numbers());
}

TEST(TrainingCheckpoint, TheSameTrainingGivesTheSameBytes) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  training.steps(4);
  save_training(folder / "a", training.model, training.trainer, experiment);
  SmallTraining other(experiment, 3);
  load_training(folder / "a", experiment, other.model, other.trainer);
  save_training(folder / "b", other.model, other.trainer, experiment);
  EXPECT_EQ(read_text(folder / "a"), read_text(folder / "b"));
}

TEST(TrainingCheckpoint, CountsOfSkippedStepsComeBack) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  training.steps(2);
  const std::vector<float> good = values_of(training.model).front();
  std::vector<float> broken(good.size(), std::numeric_limits<float>::infinity());
  training.model.set_parameter("tok.weight", broken);
  EXPECT_TRUE(training.trainer.step().skipped);
  EXPECT_TRUE(training.trainer.step().skipped);
  EXPECT_THAT([&] { save_training(folder / "t", training.model, training.trainer, experiment); },
              ThrowsMessage<Error>(AllOf(HasSubstr(folder / "t"), HasSubstr("tok.weight"), HasSubstr("not finite"))));
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
  training.model.set_parameter("tok.weight", good);
  save_training(folder / "t", training.model, training.trainer, experiment);
  SmallTraining other(experiment);
  load_training(folder / "t", experiment, other.model, other.trainer);
  EXPECT_EQ(other.trainer.state().step, 4U);
  EXPECT_EQ(other.trainer.state().skipped, 2U);
  EXPECT_EQ(other.trainer.state().skipped_in_a_row, 2U);
  other.steps(5);
  training.steps(5);
  EXPECT_EQ(other.numbers(), training.numbers()) << "AdamW has made two steps fewer";
}

TEST(TrainingCheckpoint, AnotherConfigurationIsRefusedByTheNameOfItsKey) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining saved(experiment);
  saved.steps(2);
  save_training(folder / "t", saved.model, saved.trainer, experiment);
  const auto refused = [&](const std::function<void(Experiment&)>& change, const char* part) {
    Experiment other = experiment;
    change(other);
    SmallTraining training(other);
    const auto before = training.numbers();
    EXPECT_THAT([&] { load_training(folder / "t", other, training.model, training.trainer); },
                ThrowsMessage<Error>(AllOf(HasSubstr(folder / "t"), HasSubstr(part))));
    EXPECT_EQ(training.numbers(), before);
    EXPECT_EQ(training.trainer.state().step, 0U);
  };
  refused([](Experiment& e) { e.model.width = 16; }, "model.width is 8 there, 16 here");
  refused([](Experiment& e) { e.training.beta2 = 0.9; }, "training.beta2 is 0.999 there, 0.9 here");
  refused([](Experiment& e) { e.seed = 18; }, "seed is 17 there, 18 here");
  refused([](Experiment& e) { e.corpus.train = 26; }, "corpus.train is 25 there, 26 here");
  refused([](Experiment& e) { e.model.attention = AttentionMask::bidirectional; }, "model.attention");
}

TEST(TrainingCheckpoint, AnotherVocabularyIsRefusedByItsEntry) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  const std::vector<std::string> words = training.model.vocabulary().entries();
  const auto save_with = [&](std::vector<std::string> entries) {
    LanguageModel model(experiment.model, Vocabulary(std::move(entries)), FeatureBank(synthetic_lexicon()), 1);
    Trainer trainer(model, std::vector<Sentence>{{words[4]}}, experiment.training, {.threads = 1});
    save_training(folder / "t", model, trainer, experiment);
  };
  const auto load = [&] { load_training(folder / "t", experiment, training.model, training.trainer); };
  std::vector<std::string> other = words;
  other[7] = "zebra";
  save_with(other);
  EXPECT_THAT(load,
              ThrowsMessage<Error>(HasSubstr("vocabulary entry 7 is \"zebra\" there, \"" + words[7] + "\" here")));
  other = words;
  other.pop_back();
  save_with(other);
  EXPECT_THAT(load, ThrowsMessage<Error>(HasSubstr("vocabulary has " + std::to_string(words.size() - 1) + " entries")));
}

TEST(TrainingCheckpoint, AModelIsNoTrainingAndBack) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  save_checkpoint(folder / "model", training.model, experiment);
  save_training(folder / "training", training.model, training.trainer, experiment);
  EXPECT_THAT([&] { load_training(folder / "model", experiment, training.model, training.trainer); },
              ThrowsMessage<Error>(HasSubstr("semfuse-training-2")));
  EXPECT_THAT([&] { load_checkpoint(folder / "training"); }, ThrowsMessage<Error>(HasSubstr("semfuse-2")));
}

// Writes a checkpoint whose checksum is right, but not all of its content.
TEST(TrainingCheckpoint, WhatItSaysIsCheckedBesidesTheChecksum) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  training.steps(2);
  const auto refused = [&](const std::function<void(TrainingState&)>& change, const char* part) {
    TrainingState state = training.trainer.state();
    change(state);
    save_training_checkpoint(folder / "t", training.model, state, experiment, FileLayer::system());
    SmallTraining other(experiment);
    EXPECT_THAT([&] { load_training(folder / "t", experiment, other.model, other.trainer); },
                ThrowsMessage<Error>(AllOf(HasSubstr(folder / "t"), HasSubstr(part))));
  };
  refused([](TrainingState& s) { s.step = 10; }, "past the last");
  refused([](TrainingState& s) { s.first_moments.pop_back(); }, "is missing");
  const std::vector<float> negative(training.model.parameters().front().values.size(), -1.0f);
  refused([&](TrainingState& s) { s.second_moments.front().values = negative; }, "negative");
}

TEST(TrainingCheckpoint, WithoutAChecksumItIsRefused) {
  const TemporaryFolder folder;
  const Experiment experiment = small_experiment();
  SmallTraining training(experiment);
  save_training(folder / "t", training.model, training.trainer, experiment);
  std::string bytes = read_text(folder / "t");
  bytes.replace(bytes.find("semfuse_checksum"), 16, "another_checksum");
  write_atomically(folder / "t", bytes);
  EXPECT_THAT([&] { load_training_checkpoint(folder / "t"); }, ThrowsMessage<Error>(HasSubstr("no checksum")));
}

}  // namespace
}  // namespace semfuse
