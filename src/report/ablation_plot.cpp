#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/ablation.h"
#include "report/html.h"

namespace semfuse {
namespace {

constexpr double kLabelWidth = 250.0;
constexpr double kPanelWidth = 220.0;
constexpr double kPanelGap = 30.0;
constexpr double kRowHeight = 26.0;
constexpr double kTop = 60.0;

struct Panel {
  std::string_view title;
  std::function<MeanInterval(const AblationRow&)> value;
  double lowest;  // What the true distribution has.
};

// Logarithmic: differences near the floor and far from it are both to be seen.
class Scale {
 public:
  Scale(double low, double high, double left) : low_(std::log(low)), high_(std::log(high)), left_(left) {}
  double at(double value) const {
    return left_ + kPanelWidth * std::clamp((std::log(value) - low_) / (high_ - low_), 0.0, 1.0);
  }

 private:
  double low_, high_, left_;
};

double half_width_of(const MeanInterval& value) {
  return std::isnan(value.half_width) ? 0.0 : value.half_width;
}

std::string draw(const Panel& panel, const std::vector<AblationRow>& rows, double left, double bottom) {
  double highest = panel.lowest;
  for (const AblationRow& row : rows) {
    const MeanInterval value = panel.value(row);
    if (!std::isnan(value.mean)) highest = std::max(highest, value.mean + half_width_of(value));
  }
  const Scale scale(panel.lowest * 0.97, highest * 1.08, left);
  std::string svg = fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="title">{}</text>)"
                                R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="floor"/>)"
                                R"(<text x="{:.1f}" y="{:.1f}" class="tick">{:.3g}</text>)"
                                "\n",
                                left, kTop - 24.0, escaped_html(panel.title), scale.at(panel.lowest), kTop - 8.0,
                                scale.at(panel.lowest), bottom, scale.at(panel.lowest), bottom + 14.0, panel.lowest);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const MeanInterval value = panel.value(rows[r]);
    if (std::isnan(value.mean)) continue;
    const double y = kTop + kRowHeight * (static_cast<double>(r) + 0.5);
    const double x = scale.at(value.mean);
    const double low = scale.at(std::max(value.mean - half_width_of(value), panel.lowest * 0.5));
    const double high = scale.at(value.mean + half_width_of(value));
    // The number stands beside the interval, on the side that has more room.
    const bool right = left + kPanelWidth - high > low - left;
    svg += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="interval"/>)"
                       R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" class="mean"/>)"
                       R"(<text x="{:.1f}" y="{:.1f}" class="value" text-anchor="{}">{:.3f}</text>)"
                       "\n",
                       low, y, high, y, x, y, right ? std::max(high, x + 4.0) + 5.0 : std::min(low, x - 4.0) - 5.0,
                       y + 4.0, right ? "start" : "end", value.mean);
  }
  return svg;
}

}  // namespace

std::string ablation_svg(const std::vector<AblationRow>& all_rows) {
  std::vector<AblationRow> rows;
  for (const AblationRow& row : all_rows) {
    if (!row.runs.empty()) rows.push_back(row);
  }
  std::vector<Panel> panels = {{"perplexity / floor", [](const AblationRow& row) { return row.over_floor(); }, 1.0}};
  if (!rows.empty() && std::isfinite(rows.front().runs.front().floor.held_out_cross_entropy)) {
    const EntropyFloor& floor = rows.front().runs.front().floor;
    panels.push_back(
        {"CE of a held-out word", [](const AblationRow& row) { return row.held_out(); }, floor.held_out_cross_entropy});
    panels.push_back({"CE after one", [](const AblationRow& row) { return row.after_held_out(); },
                      floor.after_held_out_cross_entropy});
  }
  const double bottom = kTop + kRowHeight * static_cast<double>(rows.size());
  const double width = kLabelWidth + (kPanelWidth + kPanelGap) * static_cast<double>(panels.size());
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">)"
      "\n<style>text{{font:13px "
      "sans-serif;fill:#222}}.title{{font-weight:bold}}.tick,.value{{font-size:11px;fill:#555}}"
      ".tick{{text-anchor:middle}}.floor{{stroke:#999;stroke-dasharray:4 3}}.interval{{stroke:#3566a8;stroke-width:2}}"
      ".mean{{fill:#3566a8}}.row{{fill:#f4f6f9}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, bottom + 44.0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = kTop + kRowHeight * static_cast<double>(r);
    if (r % 2 == 0)
      svg +=
          fmt::format(R"(<rect x="0" y="{:.1f}" width="{:.0f}" height="{:.0f}" class="row"/>)", y, width, kRowHeight);
    svg += fmt::format("<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y + kRowHeight * 0.5 + 4.0,
                       escaped_html(rows[r].variant.title));
  }
  for (std::size_t p = 0; p < panels.size(); ++p) {
    svg += draw(panels[p], rows, kLabelWidth + (kPanelWidth + kPanelGap) * static_cast<double>(p), bottom);
  }
  svg += fmt::format(
      "<text x=\"8\" y=\"{:.1f}\" class=\"value\">dashed: the true distribution; means with 95 % intervals, "
      "logarithmic "
      "scale</text>\n</svg>\n",
      bottom + 34.0);
  return svg;
}

}  // namespace semfuse
