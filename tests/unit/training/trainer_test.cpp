#include "semfuse/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "losses/class_uniformity.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/reference_losses.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

LanguageModel tiny_model(bool fusion = false, double dropout = 0.1) {
  return synthetic_model({.width = 8,
                          .layers = 1,
                          .heads = 2,
                          .feed_forward = 8,
                          .dropout = dropout,
                          .fusion = fusion,
                          .feature_head = 8});
}

std::vector<StepReport> run(Trainer& trainer) {
  std::vector<StepReport> reports;
  while (!trainer.done()) reports.push_back(trainer.step());
  return reports;
}

// Sentence i has i words, so the number of tokens tells which one a step of one sentence took.
std::vector<Sentence> sentences_of_every_length(std::size_t count) {
  std::vector<Sentence> sentences(count);
  for (std::size_t i = 0; i < count; ++i) sentences[i] = Sentence(i, "very");
  return sentences;
}

TEST(Trainer, LearningRateRisesForATenthOfTheStepsAndFallsToZero) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences = some_sentences(100);
  Trainer trainer(model, sentences, {.epochs = 10, .batch = 10, .learning_rate = 3e-3}, {.threads = 1});
  EXPECT_EQ(trainer.total_steps(), 100U);
  const std::vector<StepReport> reports = run(trainer);
  ASSERT_EQ(reports.size(), 100U);
  EXPECT_EQ(reports[0].learning_rate, 0.0);
  EXPECT_NEAR(reports[1].learning_rate, 3e-4, 1e-15);
  EXPECT_EQ(reports[10].learning_rate, 3e-3);
  for (std::size_t s = 0; s < 100; ++s) {
    const auto done = static_cast<double>(s);
    const double factor = s < 10 ? done / 10.0 : 0.5 * (1.0 + std::cos(std::numbers::pi * (done - 10.0) / 90.0));
    EXPECT_NEAR(reports[s].learning_rate, 3e-3 * factor, 1e-12) << s;
  }
  EXPECT_GT(reports[99].learning_rate, 0.0);
  EXPECT_LT(reports[99].learning_rate, 3e-6);
}

TEST(Trainer, WarmsUpFor75StepsInThePapersRun) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences = some_sentences(8000);
  Trainer trainer(model, sentences, {}, {.threads = 1});
  EXPECT_EQ(trainer.total_steps(), 750U);
  std::vector<StepReport> reports;
  for (std::size_t s = 0; s < 77; ++s) reports.push_back(trainer.step());
  EXPECT_EQ(reports[0].learning_rate, 0.0);
  EXPECT_NEAR(reports[74].learning_rate, 3e-4 * 74.0 / 75.0, 1e-15);
  EXPECT_EQ(reports[75].learning_rate, 3e-4);
  EXPECT_LT(reports[76].learning_rate, 3e-4);
  EXPECT_GT(reports[76].learning_rate, 2.99e-4);
}

TEST(Trainer, WithoutWarmupBeginsAtTheHighestRate) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences = some_sentences(4);
  Trainer trainer(model, sentences, {.epochs = 1, .batch = 2, .learning_rate = 1e-3, .warmup = 0.0}, {.threads = 1});
  EXPECT_EQ(trainer.step().learning_rate, 1e-3);
  EXPECT_NEAR(trainer.step().learning_rate, 0.5e-3, 1e-15);
}

// At rate 0 not even the weight decay acts.
TEST(Trainer, TheFirstStepOfTheWarmupChangesNothing) {
  LanguageModel model = tiny_model(true);
  const auto before = values_of(model);
  const std::vector<Sentence> sentences = some_sentences(20);
  Trainer trainer(model, sentences, {.epochs = 10, .batch = 10, .weight_decay = 0.5}, {.threads = 1});
  trainer.step();
  EXPECT_EQ(values_of(model), before);
  trainer.step();
  const auto after = values_of(model);
  for (std::size_t p = 0; p < before.size(); ++p) EXPECT_NE(after[p], before[p]) << model.parameters()[p].name;
}

TEST(Trainer, CountsStepsAndEpochsWithAShortLastBatch) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences(23, Sentence(8, "very"));
  Trainer trainer(model, sentences, {.epochs = 2, .batch = 10}, {.threads = 1});
  EXPECT_EQ(trainer.total_steps(), 6U);
  const std::vector<StepReport> reports = run(trainer);
  std::vector<std::uint64_t> steps;
  std::vector<std::size_t> epochs, tokens;
  std::vector<bool> ends;
  for (const StepReport& report : reports) {
    steps.push_back(report.step);
    epochs.push_back(report.epoch);
    ends.push_back(report.ends_epoch);
    tokens.push_back(report.num_tokens);
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(epochs, ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(ends, ElementsAre(false, false, true, false, false, true));
  EXPECT_THAT(tokens, ElementsAre(100, 100, 30, 100, 100, 30));
  EXPECT_TRUE(trainer.done());
  EXPECT_THROW(trainer.step(), Error);
}

TEST(Trainer, StepsEndTrainingAmidAnEpoch) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences(23, Sentence(8, "very"));
  Trainer trainer(model, sentences, {.epochs = 9, .steps = 4, .batch = 10, .final_rate = 0.5}, {.threads = 1});
  EXPECT_EQ(trainer.total_steps(), 4U);
  EXPECT_EQ(trainer.total_epochs(), 2U);
  std::vector<bool> ends;
  for (const StepReport& report : run(trainer)) ends.push_back(report.ends_epoch);
  EXPECT_THAT(ends, ElementsAre(false, false, true, true));
  EXPECT_TRUE(trainer.done());
}

TEST(Trainer, ABatchLargerThanTheCorpusIsOneStepAnEpoch) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences(3, Sentence(8, "very"));
  Trainer trainer(model, sentences, {.epochs = 4, .batch = 64, .count_end = false}, {.threads = 1});
  EXPECT_EQ(trainer.total_steps(), 4U);
  for (const StepReport& report : run(trainer)) {
    EXPECT_TRUE(report.ends_epoch);
    EXPECT_EQ(report.num_tokens, 27U);
  }
}

TEST(Trainer, UsesEverySentenceOnceAnEpochInAnotherOrder) {
  const std::vector<Sentence> sentences = sentences_of_every_length(20);
  const auto orders = [&](std::uint64_t seed) {
    LanguageModel model = tiny_model();
    Trainer trainer(model, sentences, {.epochs = 3, .batch = 1}, {.seed = seed, .threads = 1});
    std::vector<std::vector<std::size_t>> epochs(3);
    for (const StepReport& report : run(trainer)) epochs.at(report.epoch - 1).push_back(report.num_tokens - 2);
    return epochs;
  };
  const auto epochs = orders(1);
  std::vector<std::size_t> all(20);
  for (std::size_t i = 0; i < 20; ++i) all[i] = i;
  for (auto epoch : epochs) {
    EXPECT_NE(epoch, all) << "not shuffled";
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, all);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  EXPECT_EQ(orders(1), epochs);
  EXPECT_NE(orders(2)[0], epochs[0]);
}

TEST(Trainer, AnEpochReadsEveryToken) {
  const std::vector<Sentence> sentences = some_sentences(50);
  for (const bool count_end : {true, false}) {
    LanguageModel model = tiny_model();
    Trainer trainer(model, sentences, {.epochs = 2, .batch = 8, .count_end = count_end}, {.threads = 1});
    std::vector<std::size_t> read(2);
    for (const StepReport& report : run(trainer)) read.at(report.epoch - 1) += report.num_tokens;
    std::size_t expected = 0;
    for (const Sentence& sentence : sentences) expected += sentence.size() + (count_end ? 2 : 1);
    EXPECT_THAT(read, ElementsAre(expected, expected));
  }
}

// All sentences in one step, so their order does not matter.
TEST(Trainer, ReportsTheTwinsLosses) {
  const std::vector<Sentence> sentences = some_sentences(12);
  for (const bool fusion : {true, false}) {
    for (const bool count_end : {true, false}) {
      LanguageModel model = tiny_model(fusion, /*dropout=*/0.0);
      const Batch batch = batch_by_hand(model, sentences, count_end);
      const auto expected =
          reference::losses(reference::tables_of(ModelAccess::network(model).layout(), ModelAccess::weights(model)),
                            batch, model.options(),
                            {.label_smoothing = 0.1,
                             .feature_loss = 0.7,
                             .uniformity_loss = 0.3,
                             .classes = adjective_classes(model.vocabulary(), model.feature_bank().lexicon())},
                            {});
      const TrainingOptions options{
          .epochs = 1, .label_smoothing = 0.1, .feature_loss = 0.7, .uniformity_loss = 0.3, .count_end = count_end};
      const StepReport report = Trainer(model, sentences, options, {.threads = 2}).step();
      EXPECT_NEAR(report.loss, expected.total, 1e-5 * expected.total);
      EXPECT_NEAR(report.loss_tokens, expected.tokens, 1e-5 * expected.tokens);
      EXPECT_NEAR(report.loss_features, expected.features, 1e-5);
      EXPECT_NEAR(report.loss_uniformity, expected.uniformity, 1e-5 * expected.uniformity);
      EXPECT_EQ(report.loss_features == 0.0, !fusion);
      EXPECT_GT(report.loss_uniformity, 0.0);
      EXPECT_GT(report.gradient_norm, 0.0);
      EXPECT_EQ(report.num_tokens, batch.num_tokens());
      EXPECT_EQ(report.flops, ModelAccess::network(model).training_flops(batch));
    }
  }
}

TEST(Trainer, LossDecreases) {
  LanguageModel model = tiny_model(true);
  const std::vector<Sentence> sentences = some_sentences(64);
  Trainer trainer(model, sentences, {.epochs = 30, .batch = 16, .learning_rate = 1e-2}, {.threads = 1});
  const std::vector<StepReport> reports = run(trainer);
  double first = 0.0, last = 0.0, first_features = 0.0, last_features = 0.0;
  for (std::size_t i = 0; i < 4; ++i) {
    first += reports[i].loss / 4.0;
    last += reports[reports.size() - 1 - i].loss / 4.0;
    first_features += reports[i].loss_features / 4.0;
    last_features += reports[reports.size() - 1 - i].loss_features / 4.0;
  }
  EXPECT_LT(last, 0.7 * first);
  EXPECT_LT(last_features, 0.7 * first_features);
}

TEST(Trainer, WeightsDoNotDependOnTheThreads) {
  const std::vector<Sentence> sentences = some_sentences(70);
  for (const auto& [fusion, optimizer] : {std::pair(true, OptimizerKind::adamw), std::pair(false, OptimizerKind::adamw),
                                          std::pair(true, OptimizerKind::muon)}) {
    const auto trained = [&, fusion = fusion, optimizer = optimizer](std::size_t threads, std::uint64_t seed) {
      LanguageModel model = synthetic_model(small_options(AttentionMask::bidirectional, fusion));
      Trainer trainer(model, sentences, {.epochs = 3, .batch = 32, .optimizer = optimizer, .learning_rate = 1e-2},
                      {.seed = seed, .threads = threads});
      run(trainer);
      return values_of(model);
    };
    const auto expected = trained(1, 4);
    EXPECT_EQ(trained(1, 4), expected);
    EXPECT_EQ(trained(3, 4), expected);
    EXPECT_NE(trained(1, 5), expected);
  }
}

TEST(Trainer, StopsAtALossThatIsNotFinite) {
  for (const bool fusion : {true, false}) {
    LanguageModel model = tiny_model(fusion);
    const std::vector<Sentence> sentences = some_sentences(20);
    Trainer trainer(model, sentences, {.epochs = 3, .batch = 10, .learning_rate = 1e-2},
                    {.threads = 2, .max_skipped = 0});
    trainer.step();
    trainer.step();
    const auto good = values_of(model);
    const std::vector<float> table = good.front();
    ASSERT_EQ(model.parameters().front().name, "tok.weight");
    std::vector<float> broken = table;
    broken[static_cast<std::size_t>(*model.vocabulary().find("the")) * 8] = std::numeric_limits<float>::infinity();
    model.set_parameter("tok.weight", broken);
    auto before = good;
    before.front() = broken;
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_THAT([&] { trainer.step(); },
                  ThrowsMessage<Error>(AllOf(HasSubstr("step 3 of 6"), HasSubstr("epoch 2"), HasSubstr("not finite"))));
      EXPECT_EQ(values_of(model), before);
      EXPECT_FALSE(trainer.done());
    }
    model.set_parameter("tok.weight", table);
    EXPECT_EQ(trainer.step().step, 3U);
    EXPECT_NE(values_of(model), good);
  }
}

// The token loss stays finite, the feature loss does not.
TEST(Trainer, StopsAtAFeatureLossThatIsNotFinite) {
  LanguageModel model = tiny_model(true);
  model.set_parameter("aux_head.2.bias", std::vector<float>(22, std::numeric_limits<float>::quiet_NaN()));
  const std::vector<Sentence> sentences = some_sentences(5);
  Trainer trainer(model, sentences, {.epochs = 3}, {.threads = 1, .max_skipped = 0});
  EXPECT_THAT([&] { trainer.step(); }, ThrowsMessage<Error>(AllOf(HasSubstr("step 1 of 3"), HasSubstr("loss"))));
}

// Makes the loss of every sentence with "the" infinite, or finite again.
class BreakableTable {
 public:
  explicit BreakableTable(LanguageModel& model) : model_(model) {}
  void break_it() {
    good_ = values_of(model_).front();
    std::vector<float> broken = good_;
    broken[static_cast<std::size_t>(*model_.vocabulary().find("the")) * 8] = std::numeric_limits<float>::infinity();
    model_.set_parameter("tok.weight", broken);
  }
  void mend_it() { model_.set_parameter("tok.weight", good_); }

 private:
  LanguageModel& model_;
  std::vector<float> good_;
};

TEST(Trainer, SkipsAndCountsStepsThatAreNotFinite) {
  LanguageModel model = tiny_model(true);
  const std::vector<Sentence> sentences = some_sentences(20);
  Trainer trainer(model, sentences, {.epochs = 10, .batch = 10, .learning_rate = 1e-2},
                  {.threads = 2, .max_skipped = 3});
  trainer.step();
  trainer.step();
  BreakableTable table(model);
  table.break_it();
  const auto before = values_of(model);
  std::vector<std::vector<float>> moments;
  for (const NamedParameter& moment : trainer.state().first_moments)
    moments.emplace_back(moment.values.begin(), moment.values.end());
  for (std::uint64_t step = 3; step <= 5; ++step) {
    const StepReport report = trainer.step();
    EXPECT_TRUE(report.skipped);
    EXPECT_EQ(report.step, step);
    EXPECT_EQ(trainer.state().skipped, step - 2);
    EXPECT_EQ(trainer.state().skipped_in_a_row, step - 2);
    EXPECT_EQ(values_of(model), before);
  }
  for (std::size_t p = 0; p < moments.size(); ++p) {
    const NamedParameter moment = trainer.state().first_moments[p];
    EXPECT_EQ(std::vector<float>(moment.values.begin(), moment.values.end()), moments[p]);
  }
  EXPECT_THAT([&] { trainer.step(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("stopped at step 6 of 20"), HasSubstr("is not finite"),
                                         HasSubstr("3 steps before"))));
  EXPECT_EQ(values_of(model), before);

  table.mend_it();
  const StepReport report = trainer.step();
  EXPECT_FALSE(report.skipped);
  EXPECT_EQ(report.step, 6U);
  EXPECT_EQ(trainer.state().skipped, 3U);
  EXPECT_EQ(trainer.state().skipped_in_a_row, 0U);
  table.break_it();
  EXPECT_TRUE(trainer.step().skipped) << "counting begins anew";
}

TEST(Trainer, RestoresOnlyAStateOfItsOwnTraining) {
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences = some_sentences(25);
  Trainer trainer(model, sentences, {.epochs = 2, .batch = 10}, {.threads = 1});
  for (int i = 0; i < 4; ++i) trainer.step();
  const TrainingState good = trainer.state();
  EXPECT_EQ(good.step, 4U);
  const auto refuses = [&](auto change, const char* part) {
    TrainingState state = trainer.state();
    change(state);
    EXPECT_THAT([&] { trainer.restore(state); }, ThrowsMessage<Error>(HasSubstr(part)));
    EXPECT_EQ(trainer.state().step, 4U);
  };
  refuses([](TrainingState& s) { s.step = 7; }, "past the last, 6");
  refuses([](TrainingState& s) { s.skipped = 5; }, "skipped");
  refuses([](TrainingState& s) { s.skipped_in_a_row = 1; }, "skipped");
  refuses([](TrainingState& s) { s.first_moments.pop_back(); }, "parameters");
  refuses([](TrainingState& s) { s.second_moments[2].name = "other"; }, "moments of");
  refuses([](TrainingState& s) { s.second_moments[0].values = {}; }, "tok.weight");
  trainer.restore(good);
  EXPECT_EQ(trainer.step().step, 5U);
}

TEST(Trainer, RefusesOptionsOutOfRange) {
  using Change = std::function<void(TrainingOptions&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"epochs", [](TrainingOptions& o) { o.epochs = 0; }},
      {"batch", [](TrainingOptions& o) { o.batch = 0; }},
      {"learning_rate", [](TrainingOptions& o) { o.learning_rate = 0.0; }},
      {"learning_rate", [](TrainingOptions& o) { o.learning_rate = -1e-3; }},
      {"learning_rate", [](TrainingOptions& o) { o.learning_rate = kInfinity; }},
      {"learning_rate", [](TrainingOptions& o) { o.learning_rate = kNaN; }},
      {"warmup", [](TrainingOptions& o) { o.warmup = -0.1; }},
      {"warmup", [](TrainingOptions& o) { o.warmup = 1.1; }},
      {"warmup", [](TrainingOptions& o) { o.warmup = kNaN; }},
      {"weight_decay", [](TrainingOptions& o) { o.weight_decay = -0.01; }},
      {"weight_decay", [](TrainingOptions& o) { o.weight_decay = kInfinity; }},
      {"beta1", [](TrainingOptions& o) { o.beta1 = 1.0; }},
      {"beta1", [](TrainingOptions& o) { o.beta1 = -0.1; }},
      {"beta2", [](TrainingOptions& o) { o.beta2 = 1.0; }},
      {"beta2", [](TrainingOptions& o) { o.beta2 = kNaN; }},
      {"epsilon", [](TrainingOptions& o) { o.epsilon = 0.0; }},
      {"clip_norm", [](TrainingOptions& o) { o.clip_norm = 0.0; }},
      {"clip_norm", [](TrainingOptions& o) { o.clip_norm = kNaN; }},
      {"label_smoothing", [](TrainingOptions& o) { o.label_smoothing = 1.0; }},
      {"label_smoothing", [](TrainingOptions& o) { o.label_smoothing = -0.1; }},
      {"feature_loss", [](TrainingOptions& o) { o.feature_loss = -0.5; }},
      {"feature_loss", [](TrainingOptions& o) { o.feature_loss = kNaN; }},
      {"uniformity_loss", [](TrainingOptions& o) { o.uniformity_loss = -0.01; }},
      {"polarity_jitter", [](TrainingOptions& o) { o.polarity_jitter = 1.1; }},
      {"polarity_jitter", [](TrainingOptions& o) { o.polarity_jitter = kNaN; }},
      {"knob_ends", [](TrainingOptions& o) { o.knob_ends = 1.1; }},
      {"knob_ends", [](TrainingOptions& o) { o.knob_ends = kNaN; }}};
  LanguageModel model = tiny_model();
  const std::vector<Sentence> sentences = some_sentences(3);
  for (const auto& [name, change] : changes) {
    TrainingOptions options;
    change(options);
    EXPECT_THAT([&] { Trainer(model, sentences, options, {.threads = 1}); }, ThrowsMessage<Error>(HasSubstr(name)));
  }
  EXPECT_NO_THROW(Trainer(model, sentences, {.warmup = 1.0, .weight_decay = 0.0, .beta1 = 0.0}, {.threads = 1}));
}

TEST(Trainer, RefusesSentencesItCannotRead) {
  LanguageModel model = tiny_model();
  const auto attempt = [&](const std::vector<Sentence>& sentences, std::size_t max_length = 28) {
    return [&model, sentences, max_length] { Trainer(model, sentences, {}, {.threads = 1, .max_length = max_length}); };
  };
  EXPECT_THAT(attempt({}), ThrowsMessage<Error>(HasSubstr("no sentence")));
  EXPECT_THAT(attempt({{"Alice"}, {"Alyce"}}),
              ThrowsMessage<Error>(AllOf(HasSubstr("sentence 2"), HasSubstr("Alyce"))));
  EXPECT_THAT(attempt({{"very"}, {"very", "very"}}, 3), ThrowsMessage<Error>(HasSubstr("sentence 2")));
  EXPECT_NO_THROW(attempt({{"very"}, {"very", "very"}}, 4)());
}

TEST(Trainer, WordsThatNoSentenceShowsHaveNoIdentity) {
  ModelOptions options = {.width = 8, .layers = 1, .heads = 2, .feed_forward = 8, .feature_head = 8};
  options.output_features = options.open_vocabulary = true;
  LanguageModel model = synthetic_model(options);
  const std::vector<std::string> held_out = paper_held_out_words();
  const std::vector<Sentence> sentences =
      make_synthetic_corpus({.seed = 3, .train = 200, .val = 0, .held_out = held_out}).train;
  const std::vector<float> first(model.parameters()[0].values.begin(), model.parameters()[0].values.end());
  Trainer trainer(model, sentences,
                  {.epochs = 1, .batch = 20, .learning_rate = 1e-2, .class_loss = 0.5, .identity_dropout = 0.3},
                  {.threads = 1});
  for (const StepReport& report : run(trainer)) EXPECT_GT(report.loss_classes, 0.0);
  ASSERT_EQ(model.parameters()[0].name, "tok.weight");
  const std::span<const float> table = model.parameters()[0].values;
  for (std::size_t id = 0; id < 41; ++id) {
    const std::string& word = model.vocabulary().entries()[id];
    const bool is_held_out = std::find(held_out.begin(), held_out.end(), word) != held_out.end();
    EXPECT_EQ(model.seen()[id], !is_held_out) << word;
    const std::span<const float> row = table.subspan(id * 8, 8);
    EXPECT_EQ(std::count(row.begin(), row.end(), 0.0f), is_held_out ? 8 : 0) << word;
    if (!is_held_out) {
      EXPECT_FALSE(std::equal(row.begin(), row.end(), first.begin() + static_cast<std::ptrdiff_t>(id * 8)));
    }
  }
}

TEST(Trainer, AClosedVocabularyKeepsEveryIdentity) {
  LanguageModel model = tiny_model(/*fusion=*/true);
  const std::vector<Sentence> sentences(10, Sentence{"good"});
  Trainer trainer(model, sentences, {.epochs = 1, .batch = 5}, {.threads = 1});
  run(trainer);
  EXPECT_EQ(std::count(model.seen().begin(), model.seen().end(), true), 41);
}

TEST(IdentityDropout, IsAFunctionOfSeedStepAndWordAndSparesSpecialEntries) {
  std::size_t kept = 0;
  constexpr std::size_t kWords = 500, kSteps = 40;
  std::vector<std::vector<std::uint8_t>> steps;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::vector<std::uint8_t> identity = identities_of_step(kWords, 0.3, 7, step);
    ASSERT_EQ(identity.size(), kWords);
    EXPECT_TRUE(identity[0] && identity[1] && identity[2]);
    for (std::size_t id = 3; id < kWords; ++id) kept += identity[id];
    EXPECT_EQ(identity, identities_of_step(kWords, 0.3, 7, step));
    EXPECT_NE(identity, identities_of_step(kWords, 0.3, 8, step));
    // A word's draw does not depend on how many others there are.
    const std::vector<std::uint8_t> fewer = identities_of_step(100, 0.3, 7, step);
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), identity.begin()));
    steps.push_back(identity);
  }
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_NEAR(static_cast<double>(kept) / (kSteps * (kWords - 3)), 0.7, 0.01);  // Three standard deviations.
}

}  // namespace
}  // namespace semfuse
