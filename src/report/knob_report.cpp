#include "report/knob_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "features/knob_index.h"
#include "io/json_writer.h"
#include "report/html.h"
#include "report/plot.h"

namespace semfuse {
namespace {

// One value, or one for each label.
template <typename ValueOf>
Json by_label(const Knob& knob, const ValueOf& value) {
  if (knob.kind != KnobKind::distribution) return value(0);
  Json object = Json::object();
  for (std::size_t i = 0; i < knob.labels.size(); ++i) object[knob.labels[i]] = value(i);
  return object;
}

Json realised_json(const Knob& knob, const Realised& realised) {
  return by_label(knob, [&](std::size_t i) { return Json(realised.values[i]); });
}

Json interval_json(const Knob& knob, const Realised& realised) {
  return by_label(knob, [&](std::size_t i) {
    return Json::array({realised.values[i] - realised.half_widths[i], realised.values[i] + realised.half_widths[i]});
  });
}

void add_summary(Json& json, const KnobSweep& sweep) {
  json["mae"] = sweep.mean_absolute_error;
  if (sweep.spearman) {
    json["spearman"] = *sweep.spearman;
    json["monotony_violations"] = sweep.violations;
  }
  if (sweep.texts) json["texts"] = {{"mae", sweep.texts->distance}, {"correlation", sweep.texts->correlation}};
  if (!sweep.gaps.empty()) json["gaps"] = sweep.gaps;
  json["side_effect_mean"] = sweep.mean_side_effect;
  json["side_effect_largest"] = sweep.largest_side_effect;
}

Json level_json(const Knob& knob, const KnobSetting& setting, const Realised& realised) {
  return {{"requested", by_label(knob, [&](std::size_t i) { return Json(setting.values[i]); })},
          {"realised", realised_json(knob, realised)},
          {"ci95", interval_json(knob, realised)}};
}

// Of no texts at all there is none. A division says "-nan" of it, a file that is read again "nan".
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.3f}", value);
}

std::string values_text(const std::vector<double>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const double value : values) parts.push_back(number_text(value));
  return fmt::format("{}", fmt::join(parts, " / "));
}

std::string half_widths_text(const Realised& realised) {
  return number_text(*std::max_element(realised.half_widths.begin(), realised.half_widths.end()));
}

using Rows = std::vector<std::vector<std::string>>;

Rows summary_rows(const std::vector<KnobSweep>& sweeps) {
  Rows rows = {{"knobs", "levels", "mean absolute error", "Spearman", "falls", "side effect, mean", "largest"}};
  for (const KnobSweep& sweep : sweeps) {
    const bool others = sweep.mean_side_effect > 0.0;
    rows.push_back({fmt::format("{}", fmt::join(sweep.knobs, " + ")), std::to_string(sweep.levels.size()),
                    fmt::format("{:.3f}", sweep.mean_absolute_error),
                    sweep.spearman ? sweep.gaps.empty() ? fmt::format("{:.3f}", *sweep.spearman) : "none" : "",
                    sweep.spearman ? std::to_string(sweep.violations) : "",
                    others ? fmt::format("{:.3f}", sweep.mean_side_effect) : "",
                    others ? fmt::format("{:.3f}", sweep.largest_side_effect) : ""});
  }
  return rows;
}

Rows level_rows(const std::vector<Knob>& knobs, const KnobSweep& sweep) {
  Rows rows = {{"requested", "realised", "±"}};
  for (const SweepLevel& level : sweep.levels) {
    std::vector<std::string> requested;
    std::vector<std::string> values;
    std::vector<std::string> half_widths;
    for (const KnobSetting& setting : level.requested) {
      const Realised& realised = level.realised[knob_index(knobs, setting.knob)];
      requested.push_back(to_string(knobs, setting));
      values.push_back(values_text(realised.values));
      half_widths.push_back(half_widths_text(realised));
    }
    rows.push_back({fmt::format("{}", fmt::join(requested, " ")), fmt::format("{}", fmt::join(values, "; ")),
                    fmt::format("{}", fmt::join(half_widths, "; "))});
  }
  return rows;
}

// Escaped, as cells of a table are.
Rows as_html(Rows rows) {
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = escaped_html(cell);
  }
  return rows;
}

// In Markdown HTML is markup too.
std::string in_markdown(std::string_view text) {
  std::string result;
  for (const char c : escaped_html(text)) {
    if (std::string_view("\\`*[]|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown(Rows rows) {
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = in_markdown(cell);
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += fmt::format("| {} |\n", fmt::join(rows[r], " | "));
    if (r > 0) continue;
    text += '|';
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += c == 0 ? "---|" : "---:|";
    text += '\n';
  }
  return text;
}

constexpr std::string_view kMeaning =
    "Side effect: how far the values of the other knobs move from where they are with nothing stated. Falls: "
    "neighbouring levels of which the higher came out lower, beyond sampling error.";

}  // namespace

std::string sweep_json(const std::vector<Knob>& knobs, const SweepOptions& options, const SweepResult& result) {
  Json json = {{"n", options.n}, {"seed", options.seed}, {"guidance", options.guidance}};
  json["temperature"] = options.sampling.temperature;
  json["top_k"] = options.sampling.top_k;
  json["top_p"] = options.sampling.top_p;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    json["unstated"][knobs[k].name] = realised_json(knobs[k], result.unstated[k]);
  json["knobs"] = Json::object();
  json["combinations"] = Json::array();
  for (const KnobSweep& sweep : result.sweeps) {
    const bool single = sweep.knobs.size() == 1;
    Json levels = Json::array();
    for (const SweepLevel& level : sweep.levels) {
      Json all;
      for (const KnobSetting& setting : level.requested) {
        const std::size_t index = knob_index(knobs, setting.knob);
        (single ? all : all[setting.knob]) = level_json(knobs[index], setting, level.realised[index]);
      }
      for (std::size_t k = 0; k < knobs.size(); ++k) {
        if (std::ranges::find(level.requested, knobs[k].name, &KnobSetting::knob) == level.requested.end())
          all["others"][knobs[k].name] = realised_json(knobs[k], level.realised[k]);
      }
      levels.push_back(std::move(all));
    }
    Json object;
    if (!single) object["knobs"] = sweep.knobs;
    object["levels"] = std::move(levels);
    add_summary(object, sweep);
    if (single) {
      json["knobs"][sweep.knobs.front()] = std::move(object);
    } else {
      json["combinations"].push_back(std::move(object));
    }
  }
  return json.dump(2) + '\n';
}

std::string sweep_table(const std::vector<Knob>& knobs, const SweepResult& result) {
  std::string text = markdown(summary_rows(result.sweeps)) + '\n' + std::string(kMeaning) + '\n';
  for (const KnobSweep& sweep : result.sweeps) {
    text += fmt::format("\n### {}\n\n{}", fmt::join(sweep.knobs, " + "), markdown(level_rows(knobs, sweep)));
    for (const std::string& gap : sweep.gaps) text += fmt::format("\nNo Spearman: {}.\n", in_markdown(gap));
  }
  return text;
}

std::string sweep_plot(const Knob& knob, std::size_t index, const KnobSweep& sweep) {
  Plot plot{.title = knob.name, .x_label = "requested", .y_label = "realised"};
  plot.series.push_back({.name = "as asked", .x = {knob.low, knob.high}, .y = {knob.low, knob.high}, .dashed = true});
  for (std::size_t i = 0; i < knob.num_values(); ++i) {
    Series line{.name = knob.labels.empty() ? "realised" : knob.labels[i], .x = {}, .y = {}};
    std::vector<std::size_t> order(sweep.levels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto requested = [&](std::size_t level) { return sweep.levels[level].requested.front().values[i]; };
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return requested(a) < requested(b); });
    for (const std::size_t level : order) {
      const Realised& realised = sweep.levels[level].realised[index];
      line.x.push_back(requested(level));
      line.y.push_back(realised.values[i]);
      line.low.push_back(realised.values[i] - realised.half_widths[i]);
      line.high.push_back(realised.values[i] + realised.half_widths[i]);
    }
    plot.series.push_back(std::move(line));
  }
  return to_svg(plot);
}

std::string sweep_page(const std::vector<Knob>& knobs, const SweepOptions& options, const SweepResult& result) {
  std::string body = fmt::format(
      "<p>Free sampling at temperature {}, top-k {}, top-p {} with no grammar and no mask, guidance {}, {} sentences a "
      "level.</p>\n",
      options.sampling.temperature, options.sampling.top_k == 0 ? "off" : std::to_string(options.sampling.top_k),
      options.sampling.top_p, options.guidance, options.n);
  body += html_table(as_html(summary_rows(result.sweeps)), kMeaning);
  for (const KnobSweep& sweep : result.sweeps) {
    body += fmt::format("<h2>{}</h2>\n", escaped_html(fmt::format("{}", fmt::join(sweep.knobs, " + "))));
    const std::size_t index = knob_index(knobs, sweep.knobs.front());
    if (sweep.knobs.size() == 1) body += sweep_plot(knobs[index], index, sweep);
    for (const std::string& gap : sweep.gaps) body += fmt::format("<p>No Spearman: {}.</p>\n", escaped_html(gap));
    body += html_table(as_html(level_rows(knobs, sweep)));
  }
  return html_page("Knobs: requested against realised", body);
}

}  // namespace semfuse
