#include "report/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"

namespace semfuse {

namespace {

constexpr double kWidth = 640.0;
constexpr double kLeft = 64.0;
constexpr double kRight = 20.0;
constexpr double kTop = 36.0;
constexpr double kBottom = 48.0;
constexpr const char* kColours[] = {"var(--one, #0b62b8)",  "var(--two, #c2410c)",  "var(--three, #15803d)",
                                    "var(--four, #7e22ce)", "var(--five, #a16207)", "var(--six, #0f766e)"};

const char* colour(std::size_t index) {
  return kColours[index % std::size(kColours)];
}

std::string text_at(double x, double y, const char* anchor, std::string_view text, const char* extra = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                     escaped_html(text));
}

std::string begin_svg(double height, const std::string& title) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" class=\"plot\">\n"
      "<style>.plot {{ font: 12px system-ui, sans-serif; --ink: #1f2328; --line: #d0d7de; --paper: #ffffff }}\n"
      "@media (prefers-color-scheme: dark) {{ .plot {{ --ink: #e6edf3; --line: #3d444d; --paper: #0d1117; --one: "
      "#6cb6ff; "
      "--two: #f69d50; --three: #57ab5a; --four: #dcbdfb; --five: #daaa3f; --six: #4ac6b7 }} }}\n"
      ".plot text {{ fill: var(--ink); stroke: none }}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n",
      kWidth, height, escaped_html(title));
  return svg + text_at(kLeft, 20, "start", title, " font-weight=\"600\" font-size=\"14\"");
}

// Maps data to the plot, linearly or by logarithm.
struct Axis {
  double low;
  double high;
  double from;
  double to;
  bool logarithmic = false;

  double place(double value) const {
    const auto f = [&](double x) { return logarithmic ? std::log(x) : x; };
    return from + (f(value) - f(low)) / (f(high) - f(low)) * (to - from);
  }
};

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double decade = std::pow(10.0, std::floor(std::log10(low))); decade <= high; decade *= 10.0) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (decade * digit >= low && decade * digit <= high) ticks.push_back(decade * digit);
    }
  }
  return ticks;
}

struct Range {
  double low = INFINITY;
  double high = -INFINITY;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Never empty and with a little air.
  void widen(bool logarithmic) {
    if (low > high) low = 0.0, high = 1.0;
    if (logarithmic) {
      low /= 1.08, high *= 1.08;
      return;
    }
    const double air = high > low ? 0.05 * (high - low) : std::max(0.5, 0.05 * std::abs(high));
    low -= air, high += air;
  }
};

// Whether the lines leave more room at the upper left than at the upper right.
bool rises(const std::vector<PlotSeries>& series) {
  return std::ranges::all_of(series,
                             [](const PlotSeries& one) { return !one.y.empty() && one.y.front() < one.y.back(); });
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, std::size_t count) {
  const double rough = (high - low) / static_cast<double>(std::max<std::size_t>(count, 1));
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double digit : {5.0, 2.5, 2.0, 1.0}) {
    if (digit * power >= rough) step = digit * power;
  }
  std::vector<double> ticks;
  for (double index = std::ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index += 1.0) {
    ticks.push_back(index * step + 0.0);
  }
  return ticks;
}

std::string line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options) {
  constexpr double kHeight = 360.0;
  Range xs, ys;
  for (const PlotSeries& one : series) {
    for (const double x : one.x) xs.add(x);
    for (const auto* values : {&one.y, &one.low, &one.high}) {
      for (const double y : *values) {
        if (!options.log_y || y > 0.0) ys.add(y);
      }
    }
  }
  for (const PlotReference& reference : options.references) ys.add(reference.y);
  const bool logarithmic = options.log_y && ys.low > 0.0 && ys.low <= ys.high;
  ys.widen(logarithmic);
  if (!(xs.low < xs.high)) xs.widen(false);
  const Axis x{xs.low, xs.high, kLeft, kWidth - kRight};
  const Axis y{ys.low, ys.high, kHeight - kBottom, kTop, logarithmic};
  const auto drawable = [&](double value) { return std::isfinite(value) && (!logarithmic || value > 0.0); };
  const auto drawable_at = [&](double at, double value) { return std::isfinite(at) && drawable(value); };

  std::string svg = begin_svg(kHeight, options.title);
  for (const double tick : logarithmic ? logarithmic_ticks(ys.low, ys.high) : axis_ticks(ys.low, ys.high, 6)) {
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--line)\"/>\n", kLeft,
                       kWidth - kRight, y.place(tick), y.place(tick));
    svg += text_at(kLeft - 8, y.place(tick) + 4, "end", fmt::format("{:.4g}", tick));
  }
  for (const double tick : axis_ticks(xs.low, xs.high, 8)) {
    svg += text_at(x.place(tick), kHeight - kBottom + 18, "middle", fmt::format("{:.6g}", tick));
  }
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", options.x_label);
  svg += fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kTop + kHeight - kBottom) / 2, escaped_html(options.y_label));

  const double legend_x = rises(series) ? kLeft + 16 : kWidth - 210;
  double legend_y = kTop + 14;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const PlotSeries& one = series[s];
    if (!one.low.empty()) {
      std::string upper, lower;
      for (std::size_t i = 0; i < one.x.size(); ++i) {
        if (!drawable_at(one.x[i], one.low[i]) || !drawable_at(one.x[i], one.high[i])) continue;
        upper += fmt::format("{:.1f},{:.1f} ", x.place(one.x[i]), y.place(one.high[i]));
        lower = fmt::format("{:.1f},{:.1f} ", x.place(one.x[i]), y.place(one.low[i])) + lower;
      }
      if (!upper.empty())
        svg += fmt::format("<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.18\"/>\n", upper, lower, colour(s));
    }
    std::string points;
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      if (drawable_at(one.x[i], one.y[i]))
        points += fmt::format("{:.1f},{:.1f} ", x.place(one.x[i]), y.place(one.y[i]));
    }
    const char* dash = one.dashed ? " stroke-dasharray=\"6 4\"" : "";
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", points,
                       colour(s), dash);
    if (one.x.size() <= 40) {
      for (std::size_t i = 0; i < one.x.size(); ++i) {
        if (drawable_at(one.x[i], one.y[i]))
          svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.place(one.x[i]),
                             y.place(one.y[i]), colour(s));
      }
    }
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", legend_x,
                       legend_x + 26, legend_y - 4, legend_y - 4, colour(s), dash);
    svg += text_at(legend_x + 32, legend_y, "start", one.name);
    legend_y += 18;
  }
  for (const PlotReference& reference : options.references) {
    if (!drawable(reference.y)) continue;
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--ink)\" stroke-dasharray=\"2 3\"/>\n",
        kLeft, kWidth - kRight, y.place(reference.y), y.place(reference.y));
    svg += text_at(kWidth - kRight - 4, y.place(reference.y) - 5, "end", reference.name);
  }
  return svg + "</svg>\n";
}

std::string interval_plot(const std::vector<IntervalRow>& rows, const PlotOptions& options) {
  constexpr double kRow = 30.0;
  constexpr double kNames = 200.0;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  Range range;
  for (const IntervalRow& row : rows) {
    for (const double value : {row.mean, row.low, row.high, row.reference.value_or(row.mean)}) range.add(value);
    for (const double value : row.values) range.add(value);
  }
  for (const PlotReference& reference : options.references) range.add(reference.y);
  range.widen(false);
  const Axis x{range.low, range.high, kNames, kWidth - kRight};

  std::string svg = begin_svg(bottom + kBottom, options.title);
  for (const double tick : axis_ticks(range.low, range.high, 6)) {
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"var(--line)\"/>\n",
                       x.place(tick), x.place(tick), kTop, bottom);
    svg += text_at(x.place(tick), bottom + 18, "middle", fmt::format("{:.4g}", tick));
  }
  svg += text_at((kNames + kWidth - kRight) / 2, bottom + 38, "middle", options.x_label);
  for (const PlotReference& reference : options.references) {
    if (!std::isfinite(reference.y)) continue;
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"var(--ink)\" stroke-dasharray=\"2 3\"/>\n",
        x.place(reference.y), x.place(reference.y), kTop, bottom);
    svg += text_at(x.place(reference.y), kTop - 3, "middle", reference.name);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const IntervalRow& row = rows[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    svg += text_at(kNames - 10, y + 4, "end", row.name);
    for (const double value : row.values) {
      if (std::isfinite(value))
        svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" opacity=\"0.35\"/>\n",
                           x.place(value), y, colour(0));
    }
    if (std::isfinite(row.low) && std::isfinite(row.high)) {
      svg += fmt::format(
          "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"3\"/>\n",
          x.place(row.low), x.place(row.high), y, y, colour(0));
    }
    if (std::isfinite(row.mean))
      svg +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", x.place(row.mean), y, colour(0));
    if (row.reference && std::isfinite(*row.reference)) {
      svg += fmt::format(
          "<path d=\"M {:.1f} {:.1f} l 6 6 l -6 6 l -6 -6 z\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
          x.place(*row.reference), y - 6, colour(1));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace semfuse
