#include "report/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "paper/published.h"
#include "support/markup.h"

namespace semfuse {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kT2 = 4.302653;  // Of three seeds.

struct Numbers {
  std::uint64_t seed;
  double ppl;
  double seen_only_ppl;
  double first_epoch;
};

RunMetrics run_of(const Numbers& n, bool fusion) {
  RunMetrics run{.seed = n.seed,
                 .attention = "bidirectional",
                 .held_out = {"great", "awful"},
                 .ppl = n.ppl,
                 .seen_only_ppl = n.seen_only_ppl,
                 .feature_mse = fusion ? 0.01 : NAN,
                 .ppl_by_epoch = {n.first_epoch, 3.0, 2.5, 2.4, 2.3, n.ppl},
                 .parameters = fusion ? 1200U : 1000U,
                 .step_ms = fusion ? 12.0 : 10.0,
                 .token_us = fusion ? 60.0 : 50.0,
                 .seconds = 20.0,
                 .focus = {},
                 .controls = std::nullopt,
                 .samples = {{.setting = fusion ? "paper-positive" : "paper-baseline-fair",
                              .prompt = "Carol starts <the> model,",
                              .texts = {"Carol & \"friends\"!"}}}};
  for (const std::string& word : focus_words()) {
    // "?" does not occur.
    run.focus.push_back({.word = word,
                         .occurrences = word == "?" ? 0U : 10U,
                         .cross_entropy = word == "?" ? NAN
                                          : fusion    ? 0.25
                                                      : 0.5});
  }
  if (fusion) {
    run.controls =
        ControlMetrics{.hard_positive = {.trials = 200, .positive = 200, .held_out = 120, .exclamation = 200},
                       .hard_negative = {.trials = 200, .negative = 190, .other = 10, .held_out = 90, .question = 180},
                       .positive = {.trials = 200, .positive = 198, .negative = 2, .held_out = 120},
                       .negative = {.trials = 200, .negative = 199, .other = 1, .held_out = 80},
                       .positive_usual_nucleus = {.trials = 200, .positive = 200, .held_out = 130},
                       .negative_usual_nucleus = {.trials = 200, .negative = 200, .held_out = 100}};
  }
  return run;
}

// Fusion has the lower perplexity, the higher seen-only one, and a first epoch that goes both ways.
Reproduction three_seeds() {
  Reproduction r{.baseline = {}, .fusion = {}, .paper_held_out = true, .entropy_floor_ppl = 2.672, .seconds = 120.0};
  for (const Numbers& n : {Numbers{111, 2.0, 1.3, 8.0}, Numbers{112, 2.2, 1.4, 8.1}, Numbers{113, 2.4, 1.5, 8.2}})
    r.baseline.push_back(run_of(n, false));
  for (const Numbers& n : {Numbers{111, 1.8, 1.5, 8.1}, Numbers{112, 1.95, 1.6, 8.0}, Numbers{113, 2.1, 1.7, 8.2}})
    r.fusion.push_back(run_of(n, true));
  return r;
}

Reproduction one_seed() {
  Reproduction r = three_seeds();
  r.baseline.resize(1);
  r.fusion.resize(1);
  return r;
}

void expect_metric(const json& metric, const json& published, double mean, double half, const json& values) {
  SCOPED_TRACE(metric.dump());
  ASSERT_TRUE(metric.is_object());
  EXPECT_EQ(metric.size(), 4U);
  EXPECT_EQ(metric.at("published"), published);
  EXPECT_NEAR(metric.at("mean").get<double>(), mean, 1e-9);
  ASSERT_EQ(metric.at("ci95").size(), 2U);
  EXPECT_NEAR(metric.at("ci95")[0].get<double>(), mean - half, 1e-6);
  EXPECT_NEAR(metric.at("ci95")[1].get<double>(), mean + half, 1e-6);
  EXPECT_EQ(metric.at("values"), values);
}

TEST(ResultsJson, HoldsTable1) {
  const json results = json::parse(results_json(three_seeds()));
  EXPECT_EQ(results["attention"], "bidirectional");
  EXPECT_EQ(results["seeds"], json::array({111, 112, 113}));
  EXPECT_EQ(results["held_out"], "paper");
  EXPECT_EQ(results["entropy_floor_ppl"], 2.672);
  EXPECT_EQ(results["seconds"], 120.0);

  const json& baseline = results["table1"]["baseline"];
  const json& fusion = results["table1"]["fusion"];
  const std::vector<std::string> names = {
      "ppl",          "seen_only_ppl", "feature_mse", "adjective_control", "punctuation_control",
      "held_out_pos", "held_out_neg"};
  for (const std::string& name : names) {
    EXPECT_TRUE(baseline.contains(name)) << name;
    EXPECT_TRUE(fusion.contains(name)) << name;
  }
  EXPECT_EQ(baseline.size(), names.size());
  EXPECT_EQ(fusion.size(), names.size());
  expect_metric(baseline["ppl"], 2.249, 2.2, kT2 * 0.2 / std::sqrt(3.0), {2.0, 2.2, 2.4});
  expect_metric(baseline["seen_only_ppl"], 1.511, 1.4, kT2 * 0.1 / std::sqrt(3.0), {1.3, 1.4, 1.5});
  expect_metric(fusion["ppl"], 2.152, 1.95, kT2 * 0.15 / std::sqrt(3.0), {1.8, 1.95, 2.1});
  expect_metric(fusion["seen_only_ppl"], 1.431, 1.6, kT2 * 0.1 / std::sqrt(3.0), {1.5, 1.6, 1.7});
  expect_metric(fusion["feature_mse"], 0.0087, 0.01, 0.0, {0.01, 0.01, 0.01});
  // Means of both settings, as fractions: (1 + 0.95) / 2 and (1 + 0.9) / 2.
  expect_metric(fusion["adjective_control"], 1.0, 0.975, 0.0, {0.975, 0.975, 0.975});
  expect_metric(fusion["punctuation_control"], 1.0, 0.95, 0.0, {0.95, 0.95, 0.95});
  expect_metric(fusion["held_out_pos"], 0.62, 0.6, 0.0, {0.6, 0.6, 0.6});
  expect_metric(fusion["held_out_neg"], 0.43, 0.4, 0.0, {0.4, 0.4, 0.4});
  for (const char* name : {"feature_mse", "adjective_control", "punctuation_control", "held_out_pos", "held_out_neg"})
    EXPECT_TRUE(baseline[name].is_null()) << name << " does not apply";
}

TEST(ResultsJson, HoldsTheRest) {
  const json results = json::parse(results_json(three_seeds()));
  EXPECT_EQ(
      results["figure1"]["baseline"],
      json::array({{8.0, 3.0, 2.5, 2.4, 2.3, 2.0}, {8.1, 3.0, 2.5, 2.4, 2.3, 2.2}, {8.2, 3.0, 2.5, 2.4, 2.3, 2.4}}));
  EXPECT_EQ(results["figure1"]["fusion"].size(), 3U);
  EXPECT_EQ(results["figure1"]["fusion"][2].size(), 6U);
  EXPECT_EQ(results["hard_control"]["positive"][0]["POS"], 200);
  EXPECT_EQ(results["hard_control"]["negative_question"].size(), 3U);
  EXPECT_EQ(results["hard_control"]["negative_question"][0]["question"], 180);
  EXPECT_EQ(results["confusion"]["POS"][1]["NEG"], 2);
  EXPECT_EQ(results["confusion"]["NEG"][1]["OTHER"], 1);
  EXPECT_EQ(results["held_out_rate"]["class_uniform"], 0.6);
  expect_metric(results["held_out_rate"]["paper_nucleus"]["NEG"], 0.43, 0.4, 0.0, {0.4, 0.4, 0.4});
  expect_metric(results["held_out_rate"]["usual_nucleus"]["POS"], nullptr, 0.65, 0.0, {0.65, 0.65, 0.65});

  EXPECT_EQ(results["focus"].size(), 8U);
  const json& good = results["focus"]["good"];
  expect_metric(good["baseline"], 0.00258, 0.5, 0.0, {0.5, 0.5, 0.5});
  expect_metric(good["fusion"], 0.00177, 0.25, 0.0, {0.25, 0.25, 0.25});
  EXPECT_DOUBLE_EQ(good["change_percent"].get<double>(), -50.0);
  EXPECT_NEAR(good["published_change_percent"].get<double>(), -31.395, 1e-3);
  const json& question = results["focus"]["?"];
  EXPECT_TRUE(question["change_percent"].is_null());
  EXPECT_TRUE(question["fusion"]["mean"].is_null()) << "it does not occur";
  EXPECT_EQ(question["fusion"]["published"], 2.91456);

  EXPECT_EQ(results["overhead"]["baseline"]["parameters"], 1000);
  EXPECT_EQ(results["overhead"]["fusion"]["step_ms"]["mean"], 12.0);
  EXPECT_EQ(results["overhead"]["fusion"]["token_us"]["mean"], 60.0);
  EXPECT_EQ(results["samples"]["fusion"][0]["setting"], "paper-positive");
  EXPECT_EQ(results["samples"]["baseline"][0]["texts"], json::array({"Carol & \"friends\"!"}));
  EXPECT_EQ(results["authors_code"].size(), 4U);
  EXPECT_EQ(results["claims"].size(), claims(three_seeds()).size());
  EXPECT_EQ(results["claims"][0]["verdict"], "holds");
}

TEST(ResultsJson, OneSeedHasNoInterval) {
  const json results = json::parse(results_json(one_seed()));
  const json& ppl = results["table1"]["fusion"]["ppl"];
  EXPECT_EQ(ppl["mean"], 1.8);
  EXPECT_EQ(ppl["ci95"], json::array({nullptr, nullptr}));
  EXPECT_EQ(ppl["values"], json::array({1.8}));
  for (const json& claim : results["claims"]) EXPECT_EQ(claim["verdict"], "undecided");
  for (const json& comparison : results["authors_code"]) EXPECT_EQ(comparison["differs"], false);
}

// The floor on the same sentences is 2.5 for every run, and the interval over sentences 0.1 wide to both sides.
Reproduction with_floors(Reproduction r) {
  for (std::vector<RunMetrics>* runs : {&r.baseline, &r.fusion}) {
    for (RunMetrics& run : *runs) {
      const double ratio = run.ppl / 2.5;
      run.floor = SampleFloor{.ppl = 2.5, .over = {.ratio = ratio, .low = ratio - 0.1, .high = ratio + 0.1}};
    }
  }
  return r;
}

TEST(ResultsJson, HoldsTheFloorOnTheSameSentences) {
  const json over_seeds = json::parse(results_json(with_floors(three_seeds())))["sample_floor"];
  EXPECT_EQ(over_seeds["ppl"], json::array({2.5, 2.5, 2.5}));
  EXPECT_NEAR(over_seeds["baseline"]["mean"].get<double>(), 0.88, 1e-9);
  EXPECT_NEAR(over_seeds["baseline"]["ci95"][1].get<double>(), 0.88 + kT2 * 0.08 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(over_seeds["fusion"]["values"].size(), 3U);
  const json over_sentences = json::parse(results_json(with_floors(one_seed())))["sample_floor"];
  EXPECT_NEAR(over_sentences["fusion"]["ci95"][0].get<double>(), 0.62, 1e-9);
  EXPECT_NEAR(over_sentences["fusion"]["ci95"][1].get<double>(), 0.82, 1e-9);
  const std::string page = report_page(with_floors(one_seed()));
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_THAT(page, HasSubstr("that floor, on the same sentences"));
  EXPECT_THAT(page, HasSubstr("0.720 [0.620, 0.820]"));
  // Runs that an older version measured do not have it.
  EXPECT_TRUE(json::parse(results_json(one_seed()))["sample_floor"]["fusion"]["mean"].is_null());
  EXPECT_THAT(report_page(one_seed()), Not(HasSubstr("on the same sentences")));
}

TEST(ResultsJson, RandomWordsAreNotComparedWithTheAuthorsRuns) {
  Reproduction r = three_seeds();
  r.paper_held_out = false;
  const json results = json::parse(results_json(r));
  EXPECT_EQ(results["held_out"], "random");
  EXPECT_TRUE(results["authors_code"].empty());
  EXPECT_THAT(report_page(r), Not(HasSubstr("Against the authors")));
}

TEST(Claims, AreJudgedByThePairedDifference) {
  const std::vector<Claim> list = claims(three_seeds());
  ASSERT_GE(list.size(), 4U);
  EXPECT_EQ(list[0].statement, "fusion lowers perplexity");
  EXPECT_NEAR(list[0].difference.mean, -0.25, 1e-9);
  EXPECT_NEAR(list[0].difference.low, -0.25 - kT2 * 0.05 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(list[0].difference.high, -0.25 + kT2 * 0.05 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(list[0].verdict, "holds");
  EXPECT_EQ(list[1].statement, "fusion lowers seen-only perplexity");
  EXPECT_EQ(list[1].verdict, "does not hold");
  EXPECT_EQ(list[2].statement, "fusion is ahead after the first epoch");
  EXPECT_NEAR(list[2].difference.mean, 0.0, 1e-9);
  EXPECT_EQ(list[2].verdict, "undecided");
  std::vector<std::string> statements;
  for (const Claim& claim : list) {
    statements.push_back(claim.statement);
    if (claim.statement == "fusion lowers the cross-entropy of \"good\"") {
      EXPECT_EQ(claim.verdict, "holds");
    }
    if (claim.statement == "fusion lowers the cross-entropy of \"?\"") {
      EXPECT_EQ(claim.verdict, "undecided") << "it does not occur";
    }
  }
  EXPECT_THAT(statements, testing::Contains("fusion lowers the cross-entropy of \"?\""));
  EXPECT_THAT(statements, Not(testing::Contains("fusion lowers the cross-entropy of \"great\"")))
      << "in the paper fusion raises it";
}

TEST(AuthorsCode, IsComparedByWelch) {
  Reproduction r = three_seeds();
  // Ours are the authors' own runs: no difference at all.
  const AuthorsCode& code = authors_code();
  r.baseline.assign(4, r.baseline[0]);
  r.fusion.assign(4, r.fusion[0]);
  for (std::size_t i = 0; i < 4; ++i) {
    r.baseline[i].ppl = code.baseline_ppl[i];
    r.baseline[i].seen_only_ppl = code.baseline_seen_only_ppl[i];
    r.fusion[i].ppl = code.fusion_ppl[i];
    r.fusion[i].seen_only_ppl = code.fusion_seen_only_ppl[i] + 5.0;
  }
  const std::vector<CodeComparison> comparisons = compare_with_authors_code(r);
  ASSERT_EQ(comparisons.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(comparisons[i].difference.mean, 0.0, 1e-9) << comparisons[i].metric;
    EXPECT_LT(comparisons[i].difference.low, 0.0);
    EXPECT_FALSE(comparisons[i].differs);
  }
  EXPECT_NEAR(comparisons[0].authors_mean, 2.1155, 1e-9);
  EXPECT_NEAR(comparisons[1].ours.mean, 2.32975, 1e-9);
  EXPECT_EQ(comparisons[3].metric, "fusion, seen-only perplexity");
  EXPECT_NEAR(comparisons[3].difference.mean, 5.0, 1e-9);
  EXPECT_TRUE(comparisons[3].differs);
}

TEST(Table1, HasTheSameRowsForBothModels) {
  const std::vector<Metric> baseline = table1(three_seeds(), false);
  const std::vector<Metric> fusion = table1(three_seeds(), true);
  ASSERT_EQ(baseline.size(), 7U);
  ASSERT_EQ(fusion.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(baseline[i].name, fusion[i].name);
    EXPECT_EQ(baseline[i].values.size(), 3U);
    EXPECT_TRUE(std::isfinite(fusion[i].values[0])) << fusion[i].name;
    EXPECT_EQ(std::isfinite(baseline[i].values[0]), i < 2) << baseline[i].name;
    EXPECT_EQ(std::isfinite(baseline[i].published), i < 2) << baseline[i].name;
  }
}

// No "nan" and no "inf" as a word by itself; "finance" may be spoken of.
bool has_no_number(const std::string& text) {
  std::string word;
  for (const char c : text + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (word == "nan" || word == "inf") return false;
    word.clear();
  }
  return true;
}

TEST(ReportPage, HasEverySection) {
  for (const Reproduction& r : {three_seeds(), one_seed()}) {
    const std::string page = report_page(r);
    EXPECT_EQ(markup_fault(page), "");
    EXPECT_TRUE(has_no_number(page));
    for (const char* section :
         {"Table 1", "Figure 1", "Which claims hold over seeds", "Against the authors' code", "Hard control",
          "Held-out adjectives under control", "Cross-entropy of single words", "Samples", "What fusion costs"})
      EXPECT_THAT(page, HasSubstr(std::string("<h2>") + section));
    EXPECT_EQ(count_of("<h2>", page), 9U);
    EXPECT_EQ(count_of("<svg", page), 2U);
    EXPECT_GE(count_of("<table>", page), 8U);
    EXPECT_EQ(count_of("<script", page), 0U);
    // What the protocol hides is said: who looks ahead, and the floor of those who do not.
    EXPECT_THAT(page, HasSubstr("bidirectional attention"));
    EXPECT_THAT(page, HasSubstr("2.672"));
    EXPECT_THAT(page, HasSubstr("prompt “Carol starts &lt;the&gt; model,”"));
    EXPECT_THAT(page, HasSubstr("Carol &amp; &quot;friends&quot;!"));
  }
  const std::string page = report_page(three_seeds());
  EXPECT_THAT(
      page,
      HasSubstr("<th>perplexity</th><td data-label=\"model\">fusion</td><td data-label=\"attention\">bidirectional</td>"
                "<td class=\"number\" data-label=\"published\">2.152</td>"));
  EXPECT_THAT(page,
              HasSubstr("<td data-label=\"model\">the corpus' own floor</td><td data-label=\"attention\">causal</td>"
                        "<td class=\"number\" data-label=\"published\">–</td>"
                        "<td class=\"number\" data-label=\"ours: mean [95 %]\">2.672</td>"));
  EXPECT_THAT(page, HasSubstr("1.800 · 1.950 · 2.100"));
  EXPECT_THAT(page, HasSubstr("-50.0 %"));
  EXPECT_THAT(page, HasSubstr("600 / 600"));
  EXPECT_THAT(page, HasSubstr("3 seeds (111, 112, 113)"));
  EXPECT_THAT(page, HasSubstr("Bands are 95 % intervals"));
  EXPECT_THAT(report_page(one_seed()), Not(HasSubstr("Bands are")));
  EXPECT_THAT(report_page(one_seed()), HasSubstr("1 seed (111)"));
}

TEST(ResultsMarkdown, HasTheTables) {
  const std::string text = results_markdown(three_seeds());
  EXPECT_TRUE(has_no_number(text));
  for (const char* section :
       {"# Results", "## Table 1", "## Claims over seeds", "## Against the authors' code", "## Hard control",
        "## Held-out adjectives under control", "## Cross-entropy of single words", "## What fusion costs"})
    EXPECT_THAT(text, HasSubstr(std::string(section) + "\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| perplexity | baseline | bidirectional | 2.249 | 2.200 [1.703, 2.697] | 2.000 · 2.200 · 2.400 |"));
}

TEST(Published, HasANumberForEveryWordAndEpoch) {
  EXPECT_EQ(published().focus.size(), focus_words().size());
  EXPECT_EQ(published().baseline_curve.size(), 6U);
  EXPECT_EQ(published().fusion_curve.size(), 6U);
  EXPECT_EQ(published().baseline_curve.back(), published().baseline.ppl);
  EXPECT_EQ(published().fusion_curve.back(), published().fusion.ppl);
}

}  // namespace
}  // namespace semfuse
