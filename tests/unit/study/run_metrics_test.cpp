#include "study/run_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "model/model_access.h"
#include "paper/published.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_training.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Seven numbers that differ from those of another `first`.
ControlCounts counts_from(std::size_t first) {
  return {.trials = first,
          .positive = first + 1,
          .negative = first + 2,
          .other = first + 3,
          .held_out = first + 4,
          .exclamation = first + 5,
          .question = first + 6};
}

RunMetrics some_metrics() {
  return {.seed = 113,
          .attention = "bidirectional",
          .held_out = {"great", "awful"},
          .ppl = 2.152,
          .seen_only_ppl = NAN,
          .feature_mse = 0.0087,
          .ppl_by_epoch = {5.474, INFINITY, 2.2},
          .parameters = 564'321,
          .step_ms = 12.5,
          .token_us = NAN,
          .seconds = 30.25,
          .focus = {{.word = "good", .occurrences = 120, .cross_entropy = 0.00177},
                    {.word = "\"<&\\", .occurrences = 0, .cross_entropy = NAN}},
          .controls = ControlMetrics{.hard_positive = counts_from(100),
                                     .hard_negative = counts_from(200),
                                     .positive = counts_from(300),
                                     .negative = counts_from(400),
                                     .positive_usual_nucleus = counts_from(500),
                                     .negative_usual_nucleus = counts_from(600)},
          .samples = {{.setting = "paper-neutral", .prompt = "", .texts = {"One.", "Two!"}},
                      {.setting = "paper-positive", .prompt = "Carol starts the model,", .texts = {}}}};
}

void expect_counts(const ControlCounts& counts, std::size_t first) {
  EXPECT_EQ(counts.trials, first);
  EXPECT_EQ(counts.positive, first + 1);
  EXPECT_EQ(counts.negative, first + 2);
  EXPECT_EQ(counts.other, first + 3);
  EXPECT_EQ(counts.held_out, first + 4);
  EXPECT_EQ(counts.exclamation, first + 5);
  EXPECT_EQ(counts.question, first + 6);
}

TEST(RunMetrics, SurviveJson) {
  const std::string text = to_json(some_metrics());
  const RunMetrics back = parse_run_metrics(text, "metrics.json");
  EXPECT_EQ(back.seed, 113U);
  EXPECT_EQ(back.attention, "bidirectional");
  EXPECT_THAT(back.held_out, ElementsAre("great", "awful"));
  EXPECT_EQ(back.ppl, 2.152);
  EXPECT_TRUE(std::isnan(back.seen_only_ppl));
  EXPECT_EQ(back.feature_mse, 0.0087);
  ASSERT_EQ(back.ppl_by_epoch.size(), 3U);
  EXPECT_EQ(back.ppl_by_epoch[0], 5.474);
  EXPECT_TRUE(std::isnan(back.ppl_by_epoch[1])) << "what is not finite is null";
  EXPECT_EQ(back.parameters, 564'321U);
  EXPECT_EQ(back.step_ms, 12.5);
  EXPECT_TRUE(std::isnan(back.token_us));
  EXPECT_EQ(back.seconds, 30.25);
  ASSERT_EQ(back.focus.size(), 2U);
  EXPECT_EQ(back.focus[0].word, "good");
  EXPECT_EQ(back.focus[0].occurrences, 120U);
  EXPECT_EQ(back.focus[0].cross_entropy, 0.00177);
  EXPECT_EQ(back.focus[1].word, "\"<&\\");
  EXPECT_TRUE(std::isnan(back.focus[1].cross_entropy));
  ASSERT_TRUE(back.controls);
  expect_counts(back.controls->hard_positive, 100);
  expect_counts(back.controls->hard_negative, 200);
  expect_counts(back.controls->positive, 300);
  expect_counts(back.controls->negative, 400);
  expect_counts(back.controls->positive_usual_nucleus, 500);
  expect_counts(back.controls->negative_usual_nucleus, 600);
  ASSERT_EQ(back.samples.size(), 2U);
  EXPECT_EQ(back.samples[0].setting, "paper-neutral");
  EXPECT_THAT(back.samples[0].texts, ElementsAre("One.", "Two!"));
  EXPECT_EQ(back.samples[1].prompt, "Carol starts the model,");
  EXPECT_TRUE(back.samples[1].texts.empty());
  EXPECT_EQ(to_json(back), text);

  const RunMetrics empty = parse_run_metrics(to_json(RunMetrics{}), "metrics.json");
  EXPECT_FALSE(empty.controls);
  EXPECT_EQ(to_json(empty), to_json(RunMetrics{}));
}

TEST(RunMetrics, TheFloorSurvivesJsonAndMayBeMissing) {
  RunMetrics metrics = some_metrics();
  EXPECT_FALSE(parse_run_metrics(to_json(metrics), "metrics.json").floor);
  metrics.floor = SampleFloor{.ppl = 2.67, .over = {.ratio = 0.8, .low = 0.7, .high = NAN}};
  const std::string text = to_json(metrics);
  const RunMetrics back = parse_run_metrics(text, "metrics.json");
  ASSERT_TRUE(back.floor);
  EXPECT_EQ(back.floor->ppl, 2.67);
  EXPECT_EQ(back.floor->over.ratio, 0.8);
  EXPECT_EQ(back.floor->over.low, 0.7);
  EXPECT_TRUE(std::isnan(back.floor->over.high));
  for (const char* wrong : {"5", "null", "{}", "[]", R"({"ppl":"x","ratio":1,"low":1,"high":1})"}) {
    nlohmann::json json = nlohmann::json::parse(text);
    json["floor"] = nlohmann::json::parse(wrong);
    EXPECT_THROW(parse_run_metrics(json.dump(), "metrics.json"), Error) << wrong;
  }
}

TEST(RunMetrics, RefuseOtherText) {
  const std::string whole = to_json(some_metrics());
  const auto attempt = [](const std::string& text) { return [text] { parse_run_metrics(text, "DIR/metrics.json"); }; };
  const auto refused = ThrowsMessage<Error>(testing::StartsWith("DIR/metrics.json"));
  EXPECT_NO_THROW(attempt(whole)());
  for (const char* junk :
       {"", " ", "{", "[]", "null", "5", "\"x\"", "{}", "{\"seed\": 1}", "\xff\xfe", "{\"seed\": 1}}"})
    EXPECT_THAT(attempt(junk), refused) << junk;
  EXPECT_THAT(attempt(whole.substr(0, whole.size() / 2)), refused);
  EXPECT_THAT(attempt(std::string(100'000, '[')), refused) << "depth";

  const nlohmann::json json = nlohmann::json::parse(whole);
  for (const auto& [key, value] : json.items()) {
    nlohmann::json changed = json;
    changed.erase(key);
    EXPECT_THAT(attempt(changed.dump()), refused) << "without " << key;
    for (const nlohmann::json& other : {nlohmann::json("text"), nlohmann::json::object({{"a", 1}})}) {
      if (key == "attention" && other.is_string()) continue;
      changed[key] = other;
      EXPECT_THAT(attempt(changed.dump()), refused) << key << " is " << other.dump();
    }
  }
  nlohmann::json negative = json;
  negative["controls"]["positive"]["trials"] = -1;
  EXPECT_THAT(attempt(negative.dump()), refused);
  nlohmann::json incomplete = json;
  incomplete["focus"][0].erase("occurrences");
  EXPECT_THAT(attempt(incomplete.dump()), refused);
}

TEST(FocusWords, AreThePapers) {
  EXPECT_THAT(focus_words(), ElementsAre("good", "great", "terrible", "slightly", "very", "!", "?", ","));
}

Experiment measured_experiment() {
  Experiment experiment = small_experiment();
  experiment.corpus.val = 30;
  return experiment;
}

// All words are about as probable, so that samples differ: a model that always says the same has one.
LanguageModel undecided_model(bool fusion) {
  LanguageModel model = synthetic_model(small_options(AttentionMask::causal, fusion));
  ModelAccess::change_weights(model, [](ParameterBlock& weights) {
    for (float& weight : std::span(weights.data(), weights.size())) weight *= 0.02f;
  });
  return model;
}

TEST(MeasureRun, MeasuresWhatEvaluateDoes) {
  const Experiment experiment = measured_experiment();
  for (const bool fusion : {false, true}) {
    const LanguageModel model = undecided_model(fusion);
    const RunMetrics metrics = measure_run(model, experiment, 2);
    const SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
    const Evaluation expected =
        evaluate(model, make_synthetic_corpus(corpus).val,
                 {.held_out = corpus.held_out, .count_end = experiment.training.count_end, .threads = 1});
    EXPECT_EQ(metrics.seed, 17U);
    EXPECT_EQ(metrics.attention, "causal");
    EXPECT_EQ(metrics.held_out, paper_held_out_words());
    EXPECT_EQ(metrics.ppl, expected.perplexity);
    EXPECT_EQ(metrics.seen_only_ppl, expected.seen_only_perplexity);
    EXPECT_EQ(std::isnan(metrics.feature_mse), !fusion);
    EXPECT_EQ(metrics.parameters, model.parameter_count());
    EXPECT_EQ(metrics.focus.size(), focus_words().size());
    EXPECT_GT(metrics.token_us, 0.0);
    EXPECT_EQ(metrics.controls.has_value(), fusion);
    // With and without a prompt.
    EXPECT_EQ(metrics.samples.size(), fusion ? 6U : 2U);
    for (const SampleSet& set : metrics.samples) {
      EXPECT_EQ(set.texts.size(), 3U) << set.setting;
      for (const std::string& text : set.texts) EXPECT_THAT(text, testing::StartsWith(set.prompt));
    }
  }
}

TEST(MeasureRun, SamplesDoNotRepeat) {
  // With its hard controls the paper's positive setting leaves few sentences after a prompt.
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Experiment experiment = measured_experiment();
    experiment.seed = seed;
    for (const SampleSet& set :
         measure_run(random_model(small_options(AttentionMask::bidirectional, true)), experiment, 1).samples) {
      EXPECT_EQ(std::set<std::string>(set.texts.begin(), set.texts.end()).size(), set.texts.size()) << set.setting;
    }
  }
}

TEST(MeasureRun, HardControlIsPerfectWhateverTheModel) {
  const LanguageModel model = random_model(small_options(AttentionMask::bidirectional, true));
  const RunMetrics metrics = measure_run(model, measured_experiment(), 2);
  ASSERT_TRUE(metrics.controls);
  EXPECT_EQ(metrics.controls->hard_positive.trials, 200U);
  EXPECT_EQ(metrics.controls->hard_positive.positive, 200U);
  EXPECT_EQ(metrics.controls->hard_positive.exclamation, 200U);
  EXPECT_EQ(metrics.controls->hard_negative.negative, 200U);
  EXPECT_EQ(metrics.controls->hard_negative.question, 200U);
  EXPECT_EQ(metrics.controls->negative.negative, 200U);
  // The usual nucleus keeps a token that the paper's leaves out, so both are worth a row.
  EXPECT_EQ(metrics.controls->negative_usual_nucleus.negative, 200U);
  EXPECT_GT(metrics.controls->positive.held_out, 0U);
  EXPECT_LT(metrics.controls->positive.held_out, 200U);
  const RunMetrics again = measure_run(model, measured_experiment(), 1);
  EXPECT_EQ(again.controls->positive.held_out, metrics.controls->positive.held_out);
  EXPECT_EQ(again.samples[0].texts, metrics.samples[0].texts);
}

// Their words do not make a sentence of the paper's grammar.
TEST(MeasureRun, LeavesOutWhatALexiconCannotSay) {
  const std::vector<Lexicon> lexicons = {
      Lexicon({{.word = "good", .word_class = WordClass::kAdjective, .polarity = 0.5}}),
      Lexicon(std::vector<LexiconEntry>()),
  };
  for (const Lexicon& lexicon : lexicons) {
    const LanguageModel model(small_options(AttentionMask::causal, true),
                              Vocabulary::from_words(synthetic_corpus_words()), FeatureBank(lexicon), 3);
    const RunMetrics metrics = measure_run(model, measured_experiment(), 1);
    EXPECT_TRUE(std::isfinite(metrics.ppl));
    EXPECT_TRUE(std::isfinite(metrics.feature_mse));
    EXPECT_FALSE(metrics.controls);
    EXPECT_TRUE(metrics.samples.empty());
    EXPECT_TRUE(std::isnan(metrics.token_us));
  }
}

TEST(MeasureRun, LeavesOutAPromptThatCannotBe) {
  std::vector<LexiconEntry> entries;
  const Lexicon lexicon = synthetic_lexicon();
  for (const LexiconEntry& entry : lexicon.entries()) {
    if (entry.word != "Carol") entries.push_back(entry);
  }
  const LanguageModel model(small_options(AttentionMask::causal, true),
                            Vocabulary::from_words(synthetic_corpus_words()), FeatureBank(Lexicon(entries)), 3);
  const RunMetrics metrics = measure_run(model, measured_experiment(), 1);
  EXPECT_TRUE(metrics.controls);
  ASSERT_EQ(metrics.samples.size(), 3U);
  for (const SampleSet& set : metrics.samples) EXPECT_EQ(set.prompt, "");
}

TEST(MeasureRun, TakesAModelWithAddedWords) {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.output_features = options.open_vocabulary = true;
  const LanguageModel model =
      synthetic_model(options).with_words({{.word = "superb", .word_class = WordClass::kAdjective, .polarity = 1.0}});
  const RunMetrics metrics = measure_run(model, measured_experiment(), 1);
  ASSERT_TRUE(metrics.controls);
  EXPECT_EQ(metrics.controls->hard_positive.positive, 200U);
  EXPECT_EQ(parse_run_metrics(to_json(metrics), "x").parameters, model.parameter_count());
}

}  // namespace
}  // namespace semfuse
