#include "report/ablation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/json_writer.h"
#include "report/estimate_text.h"
#include "report/plot.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

Json json_of(const Estimate& value) {
  return {{"mean", value.mean}, {"ci95", value.high - value.mean}};
}

// Logarithmic: differences near the floor and far from it are both to be seen.
IntervalPlot panel(const char* title, const std::vector<AblationRow>& rows, Estimate (AblationRow::*value)() const,
                   double floor) {
  IntervalPlot plot{.title = title,
                    .label = "means with 95 % intervals, logarithmic scale",
                    .scale = Scale::logarithmic,
                    .show_means = true,
                    .references = {{fmt::format("floor {:.3g}", floor), floor}}};
  for (const AblationRow& row : rows) {
    const Estimate e = (row.*value)();
    // A wide interval of few runs would make the rest a point.
    plot.rows.push_back(
        {.name = row.variant.title, .mean = e.mean, .low = std::max(e.low, 0.9 * floor), .high = e.high});
  }
  return plot;
}

}  // namespace

std::vector<std::vector<std::string>> ablation_cells(const std::vector<AblationRow>& rows) {
  std::vector<std::vector<std::string>> cells = {{"model", "runs", "perplexity", "over the floor",
                                                  "perplexity, seen words", "CE of a held-out word", "CE after one"}};
  const AblationRow* any = nullptr;
  for (const AblationRow& row : rows) {
    if (row.runs.empty()) continue;
    if (any == nullptr || row.runs.size() > any->runs.size()) any = &row;
    cells.push_back({row.variant.title, std::to_string(row.runs.size()), estimate_text(row.perplexity(), 3),
                     estimate_text(row.over_floor(), 4), estimate_text(row.seen_only(), 3),
                     estimate_text(row.held_out(), 3), estimate_text(row.after_held_out(), 3)});
  }
  if (any != nullptr) {
    const auto mean = [&](double EntropyFloor::*value) {
      double sum = 0.0;
      for (const AblationRun& run : any->runs) sum += run.floor.*value;
      return fmt::format("{:.3f}", sum / static_cast<double>(any->runs.size()));
    };
    cells.push_back({"the true distribution", "", mean(&EntropyFloor::perplexity), "1",
                     mean(&EntropyFloor::seen_only_perplexity), mean(&EntropyFloor::held_out_cross_entropy),
                     mean(&EntropyFloor::after_held_out_cross_entropy)});
  }
  return cells;
}

std::string ablation_note() {
  return "Means over seeds with 95 % intervals, over sentences where there is one seed; causal attention, positions "
         "with a target. The true distribution is measured on the same sentences.";
}

std::string ablation_table(const std::vector<AblationRow>& rows) {
  std::string text;
  for (const std::vector<std::string>& row : ablation_cells(rows)) {
    const bool is_heading = text.empty();
    for (const std::string& cell : row) text += cell.empty() ? "| " : fmt::format("| {} ", cell);
    text += "|\n";
    if (is_heading) text += "|---|---|---|---|---|---|---|\n";
  }
  return text + '\n' + ablation_note() + '\n';
}

std::string ablation_json(const std::vector<AblationRow>& rows) {
  Json variants = Json::array();
  for (const AblationRow& row : rows) {
    Json runs = Json::array();
    for (const AblationRun& run : row.runs) {
      runs.push_back({{"seed", run.seed},
                      {"attention", to_string(run.evaluation.attention)},
                      {"ppl", run.evaluation.perplexity},
                      {"floor_ppl", run.floor.perplexity},
                      {"ppl_over_floor", run.over_floor()},
                      {"ppl_over_floor_low", run.over_floor_low},
                      {"ppl_over_floor_high", run.over_floor_high},
                      {"seen_only_ppl", run.evaluation.seen_only_perplexity},
                      {"held_out_ce", run.evaluation.held_out_cross_entropy},
                      {"after_held_out_ce", run.evaluation.after_held_out_cross_entropy}});
    }
    variants.push_back({{"name", row.variant.name},
                        {"preset", row.variant.preset},
                        {"change", row.variant.settings},
                        {"ppl", json_of(row.perplexity())},
                        {"ppl_over_floor", json_of(row.over_floor())},
                        {"seen_only_ppl", json_of(row.seen_only())},
                        {"held_out_ce", json_of(row.held_out())},
                        {"after_held_out_ce", json_of(row.after_held_out())},
                        {"runs", std::move(runs)}});
  }
  return Json{{"variants", std::move(variants)}}.dump(1) + '\n';
}

std::string ablation_svg(const std::vector<AblationRow>& all_rows) {
  std::vector<AblationRow> rows;
  for (const AblationRow& row : all_rows) {
    if (!row.runs.empty()) rows.push_back(row);
  }
  std::vector<IntervalPlot> plots = {panel("Perplexity / floor", rows, &AblationRow::over_floor, 1.0)};
  if (!rows.empty() && std::isfinite(rows.front().runs.front().floor.held_out_cross_entropy)) {
    const EntropyFloor& floor = rows.front().runs.front().floor;
    plots.push_back(
        panel("Cross-entropy of a held-out word", rows, &AblationRow::held_out, floor.held_out_cross_entropy));
    plots.push_back(panel("Cross-entropy after a held-out word", rows, &AblationRow::after_held_out,
                          floor.after_held_out_cross_entropy));
  }
  return to_svg(plots);
}

}  // namespace semfuse
