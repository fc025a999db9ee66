#include "report/ablation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::Not;

AblationRow row_with(const std::string& name, const std::vector<double>& perplexities) {
  AblationRow row{.variant = {.name = name, .title = name + " <&>"}, .runs = {}};
  std::uint64_t seed = 1;
  for (const double perplexity : perplexities) {
    row.runs.push_back({.seed = seed++,
                        .evaluation = {.perplexity = perplexity,
                                       .seen_only_perplexity = 2.5,
                                       .held_out_cross_entropy = 2.4,
                                       .after_held_out_cross_entropy = 1.3},
                        .floor = {.perplexity = 2.0,
                                  .seen_only_perplexity = 1.9,
                                  .held_out_cross_entropy = 2.3,
                                  .after_held_out_cross_entropy = 1.2}});
  }
  return row;
}

TEST(MeanInterval, IsStudentsT) {
  const MeanInterval interval = mean_interval({1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(interval.mean, 2.0);
  EXPECT_NEAR(interval.half_width, 4.302652729911275 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(mean_interval({5.0}).mean, 5.0);
  EXPECT_TRUE(std::isnan(mean_interval({5.0}).half_width));
  EXPECT_TRUE(std::isnan(mean_interval({}).mean));
  EXPECT_NEAR(mean_interval(std::vector<double>(40, 1.5)).half_width, 0.0, 1e-12);
}

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
    const std::optional<AblationRun> run = run_ablation(variant, 3, 1, [] { return true; });
    ASSERT_TRUE(run) << variant.name;
    EXPECT_TRUE(std::isfinite(run->evaluation.perplexity)) << variant.name;
    EXPECT_NEAR(run->floor.perplexity, 2.869, 1e-3);
    EXPECT_EQ(run_ablation(variant, 3, 2, [] { return true; })->evaluation.perplexity, run->evaluation.perplexity);
  }
  EXPECT_FALSE(run_ablation(ablation_variants(tiny)[0], 3, 1, [] { return false; }));
}

TEST(Ablation, WritesTableJsonAndPlot) {
  const std::vector<AblationRow> rows = {row_with("good", {2.0, 2.2}), row_with("poor", {5.0, 5.4}),
                                         row_with("none", {})};
  const std::string table = ablation_table(rows);
  EXPECT_THAT(table, HasSubstr("| good <&> | 2 | 2.100 ± 1.271 | 1.0500 ± 0.6353 | 2.500 ± 0.000 |"));
  EXPECT_THAT(table, HasSubstr("| the true distribution | | 2.000 | 1 | 1.900 | 2.300 | 1.200 |"));
  EXPECT_THAT(table, Not(HasSubstr("none")));
  const nlohmann::json json = nlohmann::json::parse(ablation_json(rows));
  EXPECT_EQ(json["variants"][1]["ppl"]["mean"], 5.2);
  EXPECT_EQ(json["variants"][0]["runs"][1]["ppl_over_floor"], 1.1);
  EXPECT_TRUE(json["variants"][2]["ppl"]["mean"].is_null());
  const std::string svg = ablation_svg(rows);
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("good &lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr(">2.600</text>"));  // 5.2 over a floor of 2.
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(ablation_svg({}), testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace semfuse
