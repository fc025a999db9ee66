#include "report/ablation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(AblationReport, WritesTableJsonAndPlot) {
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
