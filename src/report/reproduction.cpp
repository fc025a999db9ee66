#include "report/reproduction.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "io/json_writer.h"
#include "paper/published.h"

namespace semfuse {

namespace {

std::vector<double> collect(const std::vector<RunMetrics>& runs, const std::function<double(const RunMetrics&)>& get) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunMetrics& run : runs) values.push_back(get(run));
  return values;
}

double share(std::size_t count, const ControlCounts& counts) {
  return counts.trials == 0 ? NAN : static_cast<double>(count) / static_cast<double>(counts.trials);
}

double of_controls(const RunMetrics& run, const std::function<double(const ControlMetrics&)>& get) {
  return run.controls ? get(*run.controls) : NAN;
}

Json metric_json(const Metric& metric) {
  const bool applies = std::isfinite(metric.values.empty() ? NAN : metric.values.front());
  if (!applies && !std::isfinite(metric.published)) return Json();
  const Estimate e = estimate(metric.values);
  return {{"published", metric.published},
          {"mean", e.mean},
          {"ci95", Json::array({e.low, e.high})},
          {"values", Json(metric.values)}};
}

Json estimate_json(const Estimate& e) {
  return {{"mean", e.mean}, {"ci95", Json::array({e.low, e.high})}};
}

Json counts_json(const std::vector<RunMetrics>& runs, ControlCounts ControlMetrics::*which) {
  Json list = Json::array();
  for (const RunMetrics& run : runs) {
    if (!run.controls) continue;
    const ControlCounts& c = (*run.controls).*which;
    list.push_back({{"trials", c.trials},
                    {"POS", c.positive},
                    {"NEG", c.negative},
                    {"OTHER", c.other},
                    {"held_out", c.held_out},
                    {"exclamation", c.exclamation},
                    {"question", c.question}});
  }
  return list;
}

Json held_out_json(const Reproduction& r, ControlCounts ControlMetrics::*which, double published) {
  const Metric metric{"", "", published, collect(r.fusion, [&](const RunMetrics& run) {
                        return of_controls(
                            run, [&](const ControlMetrics& c) { return share((c.*which).held_out, c.*which); });
                      })};
  return metric_json(metric);
}

double focus_value(const RunMetrics& run, std::size_t word) {
  return word < run.focus.size() ? run.focus[word].cross_entropy : NAN;
}

std::vector<double> focus_values(const std::vector<RunMetrics>& runs, std::size_t word) {
  return collect(runs, [&](const RunMetrics& run) { return focus_value(run, word); });
}

std::string verdict_of(const Estimate& difference) {
  if (difference.high < 0.0) return "holds";
  if (difference.low > 0.0) return "does not hold";
  return "undecided";
}

}  // namespace

std::vector<Metric> table1(const Reproduction& r, bool fusion) {
  const std::vector<RunMetrics>& runs = fusion ? r.fusion : r.baseline;
  const Published& p = published();
  const PublishedModel& row = fusion ? p.fusion : p.baseline;
  const auto controls = [&](const std::function<double(const ControlMetrics&)>& get) {
    return collect(runs, [&](const RunMetrics& run) { return of_controls(run, get); });
  };
  return {
      {"ppl", "perplexity", row.ppl, collect(runs, [](const RunMetrics& run) { return run.ppl; })},
      {"seen_only_ppl", "seen-only perplexity", row.seen_only_ppl,
       collect(runs, [](const RunMetrics& run) { return run.seen_only_ppl; })},
      {"feature_mse", "feature MSE", row.feature_mse,
       collect(runs, [](const RunMetrics& run) { return run.feature_mse; })},
      {"adjective_control", "adjective control", row.adjective_control, controls([](const ControlMetrics& c) {
         return (share(c.hard_positive.positive, c.hard_positive) + share(c.hard_negative.negative, c.hard_negative)) /
                2.0;
       })},
      {"punctuation_control", "punctuation control", row.punctuation_control, controls([](const ControlMetrics& c) {
         return (share(c.hard_positive.exclamation, c.hard_positive) +
                 share(c.hard_negative.question, c.hard_negative)) /
                2.0;
       })},
      {"held_out_pos", "held-out rate, positive", row.held_out_pos,
       controls([](const ControlMetrics& c) { return share(c.positive.held_out, c.positive); })},
      {"held_out_neg", "held-out rate, negative", row.held_out_neg,
       controls([](const ControlMetrics& c) { return share(c.negative.held_out, c.negative); })}};
}

FloorComparison compare_with_floor(const Reproduction& r, bool fusion) {
  const std::vector<RunMetrics>& runs = fusion ? r.fusion : r.baseline;
  FloorComparison result{
      .floors = collect(runs, [](const RunMetrics& run) { return run.floor ? run.floor->ppl : NAN; }),
      .ratios = collect(runs, [](const RunMetrics& run) { return run.floor ? run.floor->over.ratio : NAN; }),
      .over_floor = {}};
  result.over_floor = estimate(result.ratios);
  if (runs.size() == 1 && runs.front().floor) {
    const FloorRatio& over = runs.front().floor->over;
    result.over_floor = {.mean = over.ratio, .low = over.low, .high = over.high};
  }
  return result;
}

std::vector<Claim> claims(const Reproduction& r) {
  const auto claim = [&](std::string statement, const std::function<double(const RunMetrics&)>& get) {
    const Estimate difference = paired_difference(collect(r.baseline, get), collect(r.fusion, get));
    return Claim{.statement = std::move(statement), .difference = difference, .verdict = verdict_of(difference)};
  };
  std::vector<Claim> list = {
      claim("fusion lowers perplexity", [](const RunMetrics& run) { return run.ppl; }),
      claim("fusion lowers seen-only perplexity", [](const RunMetrics& run) { return run.seen_only_ppl; }),
      claim("fusion is ahead after the first epoch",
            [](const RunMetrics& run) { return run.ppl_by_epoch.empty() ? NAN : run.ppl_by_epoch.front(); })};
  for (std::size_t i = 0; i < focus_words().size(); ++i) {
    const std::string& word = focus_words()[i];
    const PublishedFocus& focus = published().focus[i];
    if (focus.fusion >= focus.baseline) continue;
    list.push_back(claim(fmt::format("fusion lowers the cross-entropy of \"{}\"", word),
                         [i](const RunMetrics& run) { return focus_value(run, i); }));
  }
  return list;
}

std::vector<CodeComparison> compare_with_authors_code(const Reproduction& r) {
  if (!r.paper_held_out) return {};
  const auto compare = [](std::string metric, const std::vector<double>& authors, const std::vector<double>& ours) {
    const Estimate difference = welch_difference(authors, ours);
    return CodeComparison{.metric = std::move(metric),
                          .authors_mean = estimate(authors).mean,
                          .ours = estimate(ours),
                          .difference = difference,
                          .differs = difference.low > 0.0 || difference.high < 0.0};
  };
  const AuthorsCode& code = authors_code();
  const auto ppl = [](const RunMetrics& run) { return run.ppl; };
  const auto seen = [](const RunMetrics& run) { return run.seen_only_ppl; };
  return {compare("baseline, perplexity", code.baseline_ppl, collect(r.baseline, ppl)),
          compare("fusion, perplexity", code.fusion_ppl, collect(r.fusion, ppl)),
          compare("baseline, seen-only perplexity", code.baseline_seen_only_ppl, collect(r.baseline, seen)),
          compare("fusion, seen-only perplexity", code.fusion_seen_only_ppl, collect(r.fusion, seen))};
}

std::string results_json(const Reproduction& r) {
  Json seeds = Json::array();
  Json held_out_words = Json::array();
  for (const RunMetrics& run : r.fusion) {
    seeds.push_back(run.seed);
    held_out_words.push_back(run.held_out);
  }
  Json json = {{"attention", r.fusion.empty() ? Json() : Json(r.fusion.front().attention)},
               {"seeds", std::move(seeds)},
               {"held_out", r.paper_held_out ? "paper" : "random"},
               {"held_out_words", std::move(held_out_words)},
               {"entropy_floor_ppl", r.entropy_floor_ppl},
               {"seconds", r.seconds}};
  json["sample_floor"]["ppl"] = compare_with_floor(r, true).floors;
  for (const bool fusion : {false, true}) {
    const char* model = fusion ? "fusion" : "baseline";
    for (const Metric& metric : table1(r, fusion)) json["table1"][model][metric.name] = metric_json(metric);
    const FloorComparison floor = compare_with_floor(r, fusion);
    json["sample_floor"][model] = {{"mean", floor.over_floor.mean},
                                   {"ci95", Json::array({floor.over_floor.low, floor.over_floor.high})},
                                   {"values", floor.ratios}};
    Json curves = Json::array();
    for (const RunMetrics& run : fusion ? r.fusion : r.baseline) curves.push_back(run.ppl_by_epoch);
    json["figure1"][model] = std::move(curves);
  }
  json["figure1"]["published"] = {{"baseline", published().baseline_curve}, {"fusion", published().fusion_curve}};
  json["hard_control"] = {{"positive", counts_json(r.fusion, &ControlMetrics::hard_positive)},
                          {"negative_question", counts_json(r.fusion, &ControlMetrics::hard_negative)}};
  json["confusion"] = {{"POS", counts_json(r.fusion, &ControlMetrics::positive)},
                       {"NEG", counts_json(r.fusion, &ControlMetrics::negative)}};
  json["held_out_rate"] = {{"class_uniform", 0.6},
                           {"paper_nucleus",
                            {{"POS", held_out_json(r, &ControlMetrics::positive, published().fusion.held_out_pos)},
                             {"NEG", held_out_json(r, &ControlMetrics::negative, published().fusion.held_out_neg)}}},
                           {"usual_nucleus",
                            {{"POS", held_out_json(r, &ControlMetrics::positive_usual_nucleus, NAN)},
                             {"NEG", held_out_json(r, &ControlMetrics::negative_usual_nucleus, NAN)}}}};
  for (std::size_t i = 0; i < focus_words().size(); ++i) {
    const PublishedFocus& p = published().focus[i];
    const std::vector<double> baseline = focus_values(r.baseline, i);
    const std::vector<double> fusion = focus_values(r.fusion, i);
    const double change = (estimate(fusion).mean / estimate(baseline).mean - 1.0) * 100.0;
    json["focus"][focus_words()[i]] = {{"baseline", metric_json({"", "", p.baseline, baseline})},
                                       {"fusion", metric_json({"", "", p.fusion, fusion})},
                                       {"change_percent", change},
                                       {"published_change_percent", (p.fusion / p.baseline - 1.0) * 100.0}};
  }
  for (const bool fusion : {false, true}) {
    const std::vector<RunMetrics>& runs = fusion ? r.fusion : r.baseline;
    if (runs.empty()) continue;
    json["overhead"][fusion ? "fusion" : "baseline"] = {
        {"parameters", runs.front().parameters},
        {"step_ms", estimate_json(estimate(collect(runs, [](const RunMetrics& run) { return run.step_ms; })))},
        {"token_us", estimate_json(estimate(collect(runs, [](const RunMetrics& run) { return run.token_us; })))}};
    Json samples = Json::array();
    for (const SampleSet& set : runs.front().samples)
      samples.push_back({{"setting", set.setting}, {"prompt", set.prompt}, {"texts", set.texts}});
    json["samples"][fusion ? "fusion" : "baseline"] = std::move(samples);
  }
  json["claims"] = Json::array();
  for (const Claim& claim : claims(r)) {
    json["claims"].push_back(
        {{"claim", claim.statement}, {"difference", estimate_json(claim.difference)}, {"verdict", claim.verdict}});
  }
  json["authors_code"] = Json::array();
  for (const CodeComparison& c : compare_with_authors_code(r)) {
    json["authors_code"].push_back({{"metric", c.metric},
                                    {"authors_mean", c.authors_mean},
                                    {"ours", estimate_json(c.ours)},
                                    {"difference", estimate_json(c.difference)},
                                    {"differs", c.differs}});
  }
  return json.dump(1) + '\n';
}

}  // namespace semfuse
