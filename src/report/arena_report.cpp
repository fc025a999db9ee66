#include "report/arena_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "evaluation/statistics.h"
#include "io/json_writer.h"
#include "report/estimate_text.h"
#include "report/html.h"
#include "report/plot.h"

namespace semfuse {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// One method at one strength, on each seed.
struct StrengthRow {
  const ArenaMethod* method = nullptr;
  double strength = 0.0;
  std::vector<const ArenaRun*> runs;
  std::vector<const ArenaPoint*> points;  // Of each.
  std::vector<double> unconditional;      // Perplexity of texts with nothing asked, on each seed.
  std::vector<double> plain_time;         // What a token of these took.

  Estimate over(const std::function<double(const ArenaPoint&)>& value) const {
    std::vector<double> values;
    for (const ArenaPoint* point : points) values.push_back(value(*point));
    return estimate(values);
  }
};

const ArenaPoint* plain_point(const ArenaReport& report, std::uint64_t seed) {
  for (const ArenaRun& run : report.runs) {
    if (run.method == "unconditional" && run.seed == seed && !run.points.empty()) return &run.points.front();
  }
  return nullptr;
}

std::vector<StrengthRow> rows_of(const ArenaReport& report) {
  std::vector<StrengthRow> rows;
  for (const ArenaMethod& method : arena_methods()) {
    std::map<double, StrengthRow> by_strength;
    for (const ArenaRun& run : report.runs) {
      if (run.method != method.name) continue;
      const ArenaPoint* plain = plain_point(report, run.seed);
      for (const ArenaPoint& point : run.points) {
        StrengthRow& row = by_strength[point.strength];
        row.method = &method;
        row.strength = point.strength;
        row.runs.push_back(&run);
        row.points.push_back(&point);
        row.unconditional.push_back(plain != nullptr ? plain->positive.perplexity : NAN);
        row.plain_time.push_back(plain != nullptr ? plain->microseconds : NAN);
      }
    }
    for (auto& [strength, row] : by_strength) rows.push_back(std::move(row));
  }
  return rows;
}

// Perplexity over that of texts with nothing asked, corrected by what real texts of the label have.
Estimate ratio(const ArenaReport& report, const StrengthRow& row, bool positive) {
  const ArenaEnd& real = positive ? report.real_positive : report.real_negative;
  std::vector<double> values;
  for (std::size_t i = 0; i < row.points.size(); ++i) {
    const ArenaEnd& end = positive ? row.points[i]->positive : row.points[i]->negative;
    values.push_back(end.perplexity / row.unconditional[i] / (real.perplexity / report.real_perplexity));
  }
  return estimate(values);
}

bool is_plain(const StrengthRow& row) {
  return row.method->name == "unconditional";
}

std::string both(const StrengthRow& row, double ArenaEnd::*field, int digits) {
  return fmt::format("{} / {}", estimate_text(row.over([&](const ArenaPoint& p) { return p.positive.*field; }), digits),
                     estimate_text(row.over([&](const ArenaPoint& p) { return p.negative.*field; }), digits));
}

std::string ratios(const ArenaReport& report, const StrengthRow& row) {
  return fmt::format("{} / {}", estimate_text(ratio(report, row, true), 2),
                     estimate_text(ratio(report, row, false), 2));
}

std::string strength_text(const StrengthRow& row) {
  return row.method->strengths.size() < 2 ? "" : fmt::format("{:g}", row.strength);
}

Estimate times(const StrengthRow& row) {
  std::vector<double> values;
  for (std::size_t i = 0; i < row.points.size(); ++i) values.push_back(row.points[i]->microseconds / row.plain_time[i]);
  return estimate(values);
}

std::string plain_markdown(const Rows& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows[i], " | "));
    if (i > 0) continue;
    for (std::size_t c = 0; c < rows[i].size(); ++c) text += c == 0 ? "|---|" : "---|";
    text += '\n';
  }
  return text + '\n';
}

bool is_ours(std::string_view method) {
  return method == "knob" || method == "knob-guided" || method == "value" || method == "calibrated";
}

// A code and its guidance are one line, and so are a knob and its guidance.
std::string line_of(const ArenaMethod& method) {
  if (method.name == "ctrl" || method.name == "guidance") return "CTRL, guided";
  if (method.name == "knob" || method.name == "knob-guided") return "semfuse knob, guided";
  return std::string(method.title);
}

Plot frontier(const ArenaReport& report, std::string title, double (ArenaPoint::*control)() const) {
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  std::vector<std::string> names;
  for (const bool ours : {false, true}) {
    for (const StrengthRow& row : rows_of(report)) {
      if (is_ours(row.method->name) != ours) continue;
      const std::string name = row.method->name == "unconditional" ? "" : line_of(*row.method);
      const double x = (ratio(report, row, true).mean + ratio(report, row, false).mean) / 2.0;
      if (name.empty() || !std::isfinite(x)) continue;
      if (!lines.contains(name)) names.push_back(name);
      lines[name].emplace_back(x, row.over([&](const ArenaPoint& p) { return (p.*control)(); }).mean);
    }
  }
  Plot plot{.title = std::move(title), .x_label = "perplexity over that with nothing asked, by label"};
  for (const std::string& name : names) {
    Series series{.name = name, .x = {}, .y = {}, .dashed = !name.starts_with("semfuse")};
    for (const auto& [x, y] : lines[name]) {
      series.x.push_back(x);
      series.y.push_back(y);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// Of each method that is asked for shares, by seed.
std::map<std::string, std::vector<const ArenaLevels*>> levels_of(const ArenaReport& report) {
  std::map<std::string, std::vector<const ArenaLevels*>> levels;
  for (const ArenaRun& run : report.runs) {
    if (run.levels) levels[run.method].push_back(&*run.levels);
  }
  return levels;
}

Plot level_plot(const ArenaReport& report) {
  Plot plot{.title = "Share asked for, and found", .x_label = "asked"};
  const auto levels = levels_of(report);
  for (const ArenaMethod& method : arena_methods()) {
    const auto found = levels.find(std::string(method.name));
    if (found == levels.end()) continue;
    Series series{.name = std::string(method.title), .x = found->second.front()->asked, .y = {}};
    series.dashed = !is_ours(method.name);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      std::vector<double> got;
      for (const ArenaLevels* of_seed : found->second) got.push_back(of_seed->got[i]);
      const Estimate share = estimate(got);
      series.y.push_back(share.mean);
      if (got.size() < 2 || series.dashed) continue;
      series.low.push_back(std::max(share.low, 0.0));
      series.high.push_back(std::min(share.high, 1.0));
    }
    plot.series.push_back(std::move(series));
  }
  plot.series.push_back({.name = "as asked", .x = {0.0, 1.0}, .y = {0.0, 1.0}, .dashed = true});
  return plot;
}

Json json_of(const ArenaReport& report, const StrengthRow& row) {
  const auto of = [](const Estimate& value) { return Json{{"mean", value.mean}, {"ci95", value.high - value.mean}}; };
  const auto ends = [&](double ArenaEnd::*field) {
    return Json{{"positive", of(row.over([&](const ArenaPoint& p) { return p.positive.*field; }))},
                {"negative", of(row.over([&](const ArenaPoint& p) { return p.negative.*field; }))}};
  };
  return {{"method", row.method->name},
          {"strength", row.strength},
          {"seeds", row.points.size()},
          {"control", ends(&ArenaEnd::control)},
          {"flip", ends(&ArenaEnd::flip)},
          {"perplexity", ends(&ArenaEnd::perplexity)},
          {"ratio", {{"positive", of(ratio(report, row, true))}, {"negative", of(ratio(report, row, false))}}},
          {"length", ends(&ArenaEnd::length)},
          {"time", of(times(row))},
          {"parameters", row.runs.front()->parameters},
          {"training_seconds", row.runs.front()->training_seconds}};
}

}  // namespace

Rows arena_cells(const ArenaReport& report) {
  Rows cells = {{"method", "strength", "control + / −", "flip + / −", "perplexity × + / −", "length + / −",
                 "distinct 1 / 2 / 3", "passes", "time ×", "parameters", "training"}};
  for (const StrengthRow& row : rows_of(report)) {
    std::array<std::string, 3> distinct;
    for (std::size_t n = 0; n < distinct.size(); ++n) {
      const auto mean = [&](const ArenaPoint& p) { return (p.positive.distinct[n] + p.negative.distinct[n]) / 2.0; };
      distinct[n] = fmt::format("{:.2f}", row.over(mean).mean);
    }
    const ArenaRun& run = *row.runs.front();
    cells.push_back({std::string(row.method->title), strength_text(row), both(row, &ArenaEnd::control, 3),
                     both(row, &ArenaEnd::flip, 3), is_plain(row) ? "" : ratios(report, row),
                     both(row, &ArenaEnd::length, 1), fmt::format("{}", fmt::join(distinct, " / ")),
                     std::string(row.method->cost), estimate_text(times(row), 1),
                     run.parameters == 0 ? "" : std::to_string(run.parameters),
                     run.training_seconds == 0.0 ? "" : fmt::format("{:.0f} s", run.training_seconds)});
  }
  const auto pair = [](double positive, double negative, int digits) {
    return fmt::format("{:.{}f} / {:.{}f}", positive, digits, negative, digits);
  };
  const ArenaEnd &p = report.real_positive, &n = report.real_negative;
  cells.push_back({"texts of people", "", pair(p.control, n.control, 3), "", "", pair(p.length, n.length, 1),
                   fmt::format("{:.2f} / {:.2f} / {:.2f}", (p.distinct[0] + n.distinct[0]) / 2,
                               (p.distinct[1] + n.distinct[1]) / 2, (p.distinct[2] + n.distinct[2]) / 2),
                   "", "", "", ""});
  return cells;
}

Rows level_cells(const ArenaReport& report) {
  Rows cells;
  const auto levels = levels_of(report);
  for (const ArenaMethod& method : arena_methods()) {
    const auto found = levels.find(std::string(method.name));
    if (found == levels.end()) continue;
    if (cells.empty()) {
      cells.push_back({"asked"});
      for (const double asked : found->second.front()->asked) cells.front().push_back(fmt::format("{:.2g}", asked));
      cells.front().insert(cells.front().end(), {"mean error", "largest"});
    }
    std::vector<std::string> row = {std::string(method.title)};
    for (std::size_t i = 0; i + 3 < cells.front().size(); ++i) {
      double sum = 0.0;
      for (const ArenaLevels* of_seed : found->second) sum += of_seed->got[i];
      row.push_back(fmt::format("{:.2f}", sum / static_cast<double>(found->second.size())));
    }
    std::vector<double> mean, largest;
    for (const ArenaLevels* of_seed : found->second) {
      mean.push_back(of_seed->mean_error());
      largest.push_back(of_seed->largest_error());
    }
    row.push_back(estimate_text(estimate(mean), 3));
    row.push_back(estimate_text(estimate(largest), 3));
    cells.push_back(std::move(row));
  }
  return cells;
}

std::string arena_note(const ArenaReport& report) {
  std::string slow;
  for (const StrengthRow& row : rows_of(report)) {
    if (!row.method->slow || slow.find(row.method->title) != std::string::npos) continue;
    slow += fmt::format(" {} is slow and was measured on a fifth as many texts, of which more words are distinct.",
                        row.method->title);
  }
  const std::string note = fmt::format(
      "Control is the share of {} texts a label that a judge finds as asked which no method has seen; flip the same of "
      "half as many texts that begin with three words of a text of the opposite label. Perplexity is that of words "
      "under "
      "a 5-gram of other texts, over that of texts with nothing asked, corrected by what people's texts of the label "
      "have. "
      "Every method had the strengths that are shown, and no other tuning on these texts. Means over "
      "seeds, with 95 % intervals where there are several.",
      report.texts);
  return note + slow;
}

std::string arena_markdown(const ArenaReport& report) {
  return plain_markdown(arena_cells(report)) + arena_note(report) + "\n\n" + plain_markdown(level_cells(report));
}

std::string arena_json(const ArenaReport& report) {
  Json rows = Json::array();
  for (const StrengthRow& row : rows_of(report)) rows.push_back(json_of(report, row));
  Json levels = Json::array();
  for (const auto& [method, of_seeds] : levels_of(report)) {
    std::vector<double> mean, largest;
    for (const ArenaLevels* of_seed : of_seeds) {
      mean.push_back(of_seed->mean_error());
      largest.push_back(of_seed->largest_error());
    }
    levels.push_back({{"method", method},
                      {"asked", of_seeds.front()->asked},
                      {"mean_error", estimate(mean).mean},
                      {"largest_error", estimate(largest).mean}});
  }
  return Json{{"knob", report.knob}, {"methods", std::move(rows)}, {"levels", std::move(levels)}}.dump(1) + '\n';
}

std::string arena_page(const ArenaReport& report) {
  std::string body = fmt::format("<p class=\"note\">{}</p>\n", escaped_html(arena_note(report)));
  const std::vector<Plot> frontiers = {frontier(report, "Control against fluency", &ArenaPoint::control),
                                       frontier(report, "After a prompt of the opposite label", &ArenaPoint::flip)};
  body +=
      "<h2>Frontier</h2>\n<p class=\"soft\">Of both labels the worse share as asked; up and to the left is better. "
      "A point is a strength.</p>\n" +
      to_svg(frontiers);
  body +=
      "<h2>What a setting means</h2>\n" + to_svg(level_plot(report)) +
      html_table(escaped_cells(level_cells(report)),
                 "Share of texts that the judge finds positive. A coin between two hard codes has any share without a "
                 "graded knob, so a share alone is no evidence for one.");
  body += "<h2>Methods</h2>\n" + html_table(escaped_cells(arena_cells(report)));
  return html_page(fmt::format("Arena: {}", report.knob), body);
}

}  // namespace semfuse
