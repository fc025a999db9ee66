#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "paper/published.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/reproduction.h"

namespace semfuse {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string fixed_number(double value, int digits = 3) {
  if (!std::isfinite(value)) return "–";
  constexpr double kLargestFixed = 1e6;  // A perplexity may have thirty digits.
  if (digits > 0 && std::abs(value) >= kLargestFixed) return fmt::format("{:.4g}", value);
  return fmt::format("{:.{}f}", value, digits);
}

std::string interval(const Estimate& e, int digits = 3) {
  if (!std::isfinite(e.mean)) return "–";
  if (!std::isfinite(e.low)) return fixed_number(e.mean, digits);
  return fmt::format("{} [{}, {}]", fixed_number(e.mean, digits), fixed_number(e.low, digits),
                     fixed_number(e.high, digits));
}

std::string percent(double value) {
  return std::isfinite(value) ? fmt::format("{:+.1f} %", value) : "–";
}

int digits_of(const Metric& metric) {
  return metric.name == "feature_mse" ? 4 : 3;
}

std::string each(const std::vector<double>& values, int digits) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) texts.push_back(fixed_number(value, digits));
  return fmt::format("{}", fmt::join(texts, " · "));
}

// On the sentences that the models are measured on; nothing for runs that have not measured it.
void add_floor_rows(Rows& rows, const Reproduction& r) {
  for (const bool fusion : {false, true}) {
    const FloorComparison floor = compare_with_floor(r, fusion);
    const std::vector<RunMetrics>& runs = fusion ? r.fusion : r.baseline;
    if (!std::isfinite(floor.over_floor.mean)) continue;
    if (!fusion) {
      rows.push_back({"perplexity", "that floor, on the same sentences", "causal", "–",
                      interval(estimate(floor.floors)), each(floor.floors, 3)});
    }
    rows.push_back({"perplexity / floor on the same sentences", fusion ? "fusion" : "baseline", runs.front().attention,
                    "–", interval(floor.over_floor), each(floor.ratios, 3)});
  }
}

Rows table1_rows(const Reproduction& r) {
  Rows rows = {{"metric", "model", "attention", "published", "ours: mean [95 %]", "each seed"}};
  const std::vector<Metric> baseline = table1(r, false);
  const std::vector<Metric> fusion = table1(r, true);
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    for (const auto& [name, metric] : {std::pair{"baseline", &baseline[i]}, std::pair{"fusion", &fusion[i]}}) {
      if (metric->values.empty() || !std::isfinite(metric->values.front())) continue;
      const int digits = digits_of(*metric);
      const std::vector<RunMetrics>& runs = metric == &fusion[i] ? r.fusion : r.baseline;
      rows.push_back({metric->title, name, runs.front().attention, fixed_number(metric->published, digits),
                      interval(estimate(metric->values), digits), each(metric->values, digits)});
    }
    if (baseline[i].name == "ppl") {
      rows.push_back(
          {baseline[i].title, "the corpus' own floor", "causal", "–", fixed_number(r.entropy_floor_ppl), "–"});
      add_floor_rows(rows, r);
    }
  }
  return rows;
}

Rows held_out_rows(const Reproduction& r) {
  const auto rates = [&](ControlCounts ControlMetrics::*which) {
    std::vector<double> values;
    for (const RunMetrics& run : r.fusion) {
      if (!run.controls) continue;
      const ControlCounts& c = (*run.controls).*which;
      values.push_back(static_cast<double>(c.held_out) / static_cast<double>(c.trials));
    }
    return interval(estimate(values));
  };
  return {{"class", "published", "paper's nucleus", "usual nucleus", "class-uniform"},
          {"positive", fixed_number(published().fusion.held_out_pos, 2), rates(&ControlMetrics::positive),
           rates(&ControlMetrics::positive_usual_nucleus), "0.60"},
          {"negative", fixed_number(published().fusion.held_out_neg, 2), rates(&ControlMetrics::negative),
           rates(&ControlMetrics::negative_usual_nucleus), "0.60"}};
}

Rows hard_rows(const Reproduction& r) {
  ControlCounts positive, negative;
  const auto add = [](ControlCounts& sum, const ControlCounts& c) {
    sum.trials += c.trials;
    sum.positive += c.positive;
    sum.negative += c.negative;
    sum.other += c.other;
    sum.exclamation += c.exclamation;
    sum.question += c.question;
  };
  for (const RunMetrics& run : r.fusion) {
    if (!run.controls) continue;
    add(positive, run.controls->hard_positive);
    add(negative, run.controls->hard_negative);
  }
  const auto of = [](std::size_t count, const ControlCounts& c) { return fmt::format("{} / {}", count, c.trials); };
  return {{"setting", "published", "adjective as asked", "mark as asked"},
          {"positive, strong", "200 / 200", of(positive.positive, positive), of(positive.exclamation, positive)},
          {"negative, question", "200 / 200", of(negative.negative, negative), of(negative.question, negative)}};
}

Rows confusion_rows(const Reproduction& r) {
  Rows rows = {{"intended", "POS", "NEG", "OTHER"}};
  for (const auto& [name, which] :
       {std::pair{"POS", &ControlMetrics::positive}, std::pair{"NEG", &ControlMetrics::negative}}) {
    std::size_t positive = 0, negative = 0, other = 0;
    for (const RunMetrics& run : r.fusion) {
      if (!run.controls) continue;
      const ControlCounts& c = (*run.controls).*which;
      positive += c.positive;
      negative += c.negative;
      other += c.other;
    }
    rows.push_back({name, std::to_string(positive), std::to_string(negative), std::to_string(other)});
  }
  return rows;
}

Estimate focus_estimate(const std::vector<RunMetrics>& runs, std::size_t word) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunMetrics& run : runs) values.push_back(word < run.focus.size() ? run.focus[word].cross_entropy : NAN);
  return estimate(values);
}

Rows focus_rows(const Reproduction& r) {
  Rows rows = {{"word", "published: baseline → fusion", "change", "ours: baseline", "fusion", "change"}};
  for (std::size_t i = 0; i < focus_words().size(); ++i) {
    const PublishedFocus& p = published().focus[i];
    const Estimate baseline = focus_estimate(r.baseline, i);
    const Estimate fusion = focus_estimate(r.fusion, i);
    rows.push_back({focus_words()[i], fmt::format("{:.4f} → {:.4f}", p.baseline, p.fusion),
                    percent((p.fusion / p.baseline - 1.0) * 100.0), interval(baseline, 4), interval(fusion, 4),
                    percent((fusion.mean / baseline.mean - 1.0) * 100.0)});
  }
  return rows;
}

Rows claim_rows(const Reproduction& r) {
  Rows rows = {{"the paper says", "fusion − baseline, paired [95 %]", "over these seeds"}};
  for (const Claim& claim : claims(r)) rows.push_back({claim.statement, interval(claim.difference, 4), claim.verdict});
  return rows;
}

Rows authors_rows(const Reproduction& r) {
  Rows rows = {{"", "authors' code (4 seeds)", "ours", "difference [95 %, Welch]", ""}};
  for (const CodeComparison& c : compare_with_authors_code(r)) {
    rows.push_back({c.metric, fixed_number(c.authors_mean), interval(c.ours), interval(c.difference),
                    c.differs                         ? "differs"
                    : std::isfinite(c.difference.low) ? "no difference at 95 %"
                                                      : "one seed: no interval"});
  }
  return rows;
}

Rows overhead_rows(const Reproduction& r) {
  Rows rows = {{"", "baseline", "fusion", "fusion / baseline"}};
  if (r.baseline.empty()) return rows;
  const auto row = [&](const char* name, const std::function<double(const RunMetrics&)>& get, int digits) {
    std::vector<double> baseline, fusion;
    for (const RunMetrics& run : r.baseline) baseline.push_back(get(run));
    for (const RunMetrics& run : r.fusion) fusion.push_back(get(run));
    const double b = estimate(baseline).mean;
    const double f = estimate(fusion).mean;
    rows.push_back({name, fixed_number(b, digits), fixed_number(f, digits), fixed_number(f / b, 2)});
  };
  row(
      "parameters", [](const RunMetrics& run) { return static_cast<double>(run.parameters); }, 0);
  row(
      "training step, ms", [](const RunMetrics& run) { return run.step_ms; }, 2);
  row(
      "generated token, µs (whole prefix read again)", [](const RunMetrics& run) { return run.token_us; }, 1);
  return rows;
}

Series curve(const std::vector<RunMetrics>& runs, const char* name) {
  Series series{.name = name, .x = {}, .y = {}};
  for (std::size_t epoch = 0; !runs.empty() && epoch < runs.front().ppl_by_epoch.size(); ++epoch) {
    std::vector<double> values;
    for (const RunMetrics& run : runs) {
      if (epoch < run.ppl_by_epoch.size()) values.push_back(run.ppl_by_epoch[epoch]);
    }
    const Estimate e = estimate(values);
    series.x.push_back(static_cast<double>(epoch + 1));
    series.y.push_back(e.mean);
    series.low.push_back(std::isfinite(e.low) ? std::max(e.low, 1.0) : e.mean);
    series.high.push_back(std::isfinite(e.high) ? e.high : e.mean);
  }
  return series;
}

Series published_curve(const std::vector<double>& values, const char* name) {
  Series series{.name = name, .x = {}, .y = values, .dashed = true};
  for (std::size_t i = 0; i < values.size(); ++i) series.x.push_back(static_cast<double>(i + 1));
  return series;
}

std::string figure1(const Reproduction& r) {
  return to_svg(
      Plot{.title = "Validation perplexity by epoch",
           .x_label = "epoch",
           .y_label = "perplexity",
           .y_scale = Scale::logarithmic,
           .series = {curve(r.baseline, "baseline, ours"), curve(r.fusion, "fusion, ours"),
                      published_curve(published().baseline_curve, "baseline, published"),
                      published_curve(published().fusion_curve, "fusion, published")},
           .references = {{fmt::format("floor of a causal model, {:.3f}", r.entropy_floor_ppl), r.entropy_floor_ppl}}});
}

std::string difference_plot(const Reproduction& r) {
  IntervalPlot plot{.title = "Fusion − baseline, seed by seed (◇ published)",
                    .label = "difference; left of 0 fusion is better",
                    .references = {{"0", 0.0}}};
  const auto row = [&](const char* name, double RunMetrics::*value, double published_difference) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < r.fusion.size(); ++i) differences.push_back(r.fusion[i].*value - r.baseline[i].*value);
    const Estimate e = estimate(differences);
    plot.rows.push_back({.name = name,
                         .mean = e.mean,
                         .low = e.low,
                         .high = e.high,
                         .values = differences,
                         .reference = published_difference});
  };
  row("perplexity", &RunMetrics::ppl, published().fusion.ppl - published().baseline.ppl);
  row("seen-only perplexity", &RunMetrics::seen_only_ppl,
      published().fusion.seen_only_ppl - published().baseline.seen_only_ppl);
  return to_svg(plot);
}

std::string samples_html(const std::vector<RunMetrics>& runs) {
  std::string text;
  if (runs.empty()) return text;
  for (const SampleSet& set : runs.front().samples) {
    text += fmt::format("<p><strong>{}</strong>{}<br><span class=\"sample\">", escaped_html(set.setting),
                        set.prompt.empty() ? "" : fmt::format(", prompt “{}”", escaped_html(set.prompt)));
    for (const std::string& sample : set.texts) text += escaped_html(sample) + "<br>";
    text += "</span></p>\n";
  }
  return text;
}

std::string summary(const Reproduction& r) {
  std::vector<std::uint64_t> seeds;
  for (const RunMetrics& run : r.fusion) seeds.push_back(run.seed);
  return fmt::format("{} seed{} ({}), {} held-out words, {} attention, {:.0f} s.", seeds.size(),
                     seeds.size() == 1 ? "" : "s", fmt::join(seeds, ", "),
                     r.paper_held_out ? "the paper's" : "randomly drawn",
                     r.fusion.empty() ? "bidirectional" : r.fusion.front().attention, r.seconds);
}

std::string look_ahead_note(const Reproduction& r) {
  return fmt::format(
      "The paper's encoder is bidirectional: at every position it reads the very token that it is asked to predict. "
      "Perplexities of this protocol are therefore no measure of a language model. The generator's own distribution "
      "sets a floor of {:.3f}: over all sentences of this corpus no model that reads only the past is below it, and on "
      "a sample of them only by chance. The published numbers are far below it: they have looked ahead.",
      r.entropy_floor_ppl);
}

std::string markdown_table(const Rows& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows[i], " | "));
    if (i == 0) {
      for (std::size_t c = 0; c < rows[i].size(); ++c) text += c == 0 ? "|---|" : "---|";
      text += '\n';
    }
  }
  return text + '\n';
}

}  // namespace

std::string report_page(const Reproduction& r) {
  std::string body = fmt::format(
      "<p class=\"soft\">Semantic Fusion with Fuzzy-Membership Features, trained and measured again. {}</p>\n",
      escaped_html(summary(r)));
  body += fmt::format("<p class=\"note\">{}</p>\n", escaped_html(look_ahead_note(r)));
  body += "<h2>Table 1: main metrics</h2>\n" +
          html_table(escaped_cells(table1_rows(r)),
                     fmt::format("{} attention; positions as in the authors' code",
                                 r.fusion.empty() ? "" : escaped_html(r.fusion.front().attention)));
  body += "<h2>Figure 1: perplexity by epoch</h2>\n" + figure1(r);
  if (r.fusion.size() > 1) body += "<p class=\"soft\">Bands are 95 % intervals of the mean over seeds.</p>\n";
  body += "<h2>Which claims hold over seeds</h2>\n" + difference_plot(r) +
          html_table(escaped_cells(claim_rows(r)),
                     "A claim holds if the interval of the paired difference is below 0, and does not if it is above.");
  if (r.paper_held_out)
    body +=
        "<h2>Against the authors' code</h2>\n" +
        html_table(escaped_cells(authors_rows(r)), "The published code with the same held-out words and four seeds.");
  body +=
      "<h2>Hard control</h2>\n" +
      html_table(escaped_cells(hard_rows(r)),
                 "200 sentences a seed and setting. Hard control rules everything else out, so this must be perfect.") +
      html_table(escaped_cells(confusion_rows(r)), "Intended against realised polarity, all seeds together.");
  body += "<h2>Held-out adjectives under control</h2>\n" +
          html_table(escaped_cells(held_out_rows(r)),
                     "Share of sentences whose adjective was never seen in training; 200 sentences a seed. The paper's "
                     "nucleus leaves out the token that crosses its mass, the usual one keeps it.");
  body += "<h2>Cross-entropy of single words</h2>\n" +
          html_table(escaped_cells(focus_rows(r)), "Nats, mean over the occurrences as target.");
  body += "<h2>Samples</h2>\n" + samples_html(r.baseline) + samples_html(r.fusion);
  body += "<h2>What fusion costs</h2>\n" +
          html_table(escaped_cells(overhead_rows(r)), "The paper says “small overhead” and gives no figure.");
  return html_page("The paper, reproduced", body);
}

std::string results_markdown(const Reproduction& r) {
  std::string text = fmt::format("{}; nothing here is typed by hand.\n\n", kResultsHeading) + summary(r) + "\n\n" +
                     look_ahead_note(r) + "\n\n";
  text += "## Table 1\n\n" + markdown_table(table1_rows(r));
  text += "## Claims over seeds\n\n" + markdown_table(claim_rows(r));
  if (r.paper_held_out) text += "## Against the authors' code\n\n" + markdown_table(authors_rows(r));
  text += "## Hard control\n\n" + markdown_table(hard_rows(r)) + "Intended against realised:\n\n" +
          markdown_table(confusion_rows(r));
  text += "## Held-out adjectives under control\n\n" + markdown_table(held_out_rows(r));
  text += "## Cross-entropy of single words\n\n" + markdown_table(focus_rows(r));
  text += "## What fusion costs\n\n" + markdown_table(overhead_rows(r));
  return text;
}

}  // namespace semfuse
