#include "study/ablation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "semfuse/error.h"

namespace semfuse {
namespace {

TEST(Ablation, RemovesEachPartInTurn) {
  const std::vector<AblationVariant> variants = ablation_variants({"training.epochs=2"});
  const std::string whole = to_toml(preset_experiment("semfuse"));
  std::set<std::string> texts, names;
  for (const AblationVariant& variant : variants) {
    EXPECT_EQ(variant.experiment.training.epochs, 2U);
    EXPECT_EQ(variant.experiment.model.attention, AttentionMask::causal);
    EXPECT_FALSE(variant.experiment.training.count_end);
    EXPECT_NO_THROW(validate(variant.experiment));
    texts.insert(to_toml(variant.experiment));
    names.insert(variant.name);
    if (variant.name == "without_gate") {
      EXPECT_FALSE(variant.experiment.model.gate);
    }
  }
  EXPECT_EQ(variants.size(), 11U);
  EXPECT_EQ(names.size(), 11U);
  EXPECT_EQ(texts.size(), 11U) << "no two variants are the same";
  EXPECT_THROW(ablation_variants({"training.epochs=0"}), Error);
}

TEST(Ablation, TrainsAndMeasuresARun) {
  const std::vector<std::string> tiny = {"corpus.train=64",      "corpus.val=20",     "model.width=8",
                                         "model.layers=1",       "model.heads=2",     "model.feed_forward=12",
                                         "model.feature_head=4", "training.epochs=1", "training.batch=32"};
  for (const AblationVariant& variant : ablation_variants(tiny)) {
    const std::optional<AblationRun> run = run_ablation(variant, 3, 1, [](double) { return true; });
    ASSERT_TRUE(run) << variant.name;
    EXPECT_TRUE(std::isfinite(run->evaluation.perplexity)) << variant.name;
    const SyntheticCorpusOptions corpus = synthetic_corpus_options(variant.on_seed(3));
    EXPECT_EQ(run->floor.perplexity,
              synthetic_floor_on(make_synthetic_corpus(corpus).val, corpus, /*count_end=*/false).perplexity);
    EXPECT_LT(run->over_floor_low, run->over_floor()) << variant.name;
    EXPECT_GT(run->over_floor_high, run->over_floor()) << variant.name;
    EXPECT_EQ((AblationRow{variant, {*run}}).over_floor().high, run->over_floor_high) << "one run has it of sentences";
    EXPECT_EQ(run_ablation(variant, 3, 2, [](double) { return true; })->evaluation.perplexity,
              run->evaluation.perplexity);
  }
  EXPECT_FALSE(run_ablation(ablation_variants(tiny)[0], 3, 1, [](double) { return false; }));
}

TEST(Ablation, ARunSurvivesJson) {
  AblationRun run{.seed = 7, .evaluation = {}, .floor = {}};
  run.evaluation.num_positions = 12;
  run.evaluation.perplexity = 0.1 + 0.2;
  run.evaluation.held_out_cross_entropy = NAN;
  run.floor.perplexity = 2.869;
  const AblationRun back = parse_ablation_run(to_json(run), "metrics.json");
  EXPECT_EQ(back.seed, 7U);
  EXPECT_EQ(back.evaluation.num_positions, 12U);
  EXPECT_EQ(back.evaluation.perplexity, 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(back.evaluation.held_out_cross_entropy));
  EXPECT_EQ(back.floor.perplexity, 2.869);
  EXPECT_EQ(to_json(back), to_json(run));
  run.over_floor_low = 1.25;
  EXPECT_EQ(parse_ablation_run(to_json(run), "metrics.json").over_floor_low, 1.25);
  // Files of before the interval was measured.
  const std::string text = to_json(run);
  const std::string older = text.substr(0, text.find(",\n \"ppl_over_floor_low\"")) + "}";
  EXPECT_TRUE(std::isnan(parse_ablation_run(older, "metrics.json").over_floor_low)) << older;
  for (const char* junk : {"", "[]", "{}", "{\"seed\":1}", "null", "\xff"})
    EXPECT_THROW(parse_ablation_run(junk, "metrics.json"), Error) << junk;
}

}  // namespace
}  // namespace semfuse
