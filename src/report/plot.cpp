#include "report/plot.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string_view>

namespace semfuse {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An interval of an axis with round numbers to label it.
struct Axis {
  double low = 0.0;
  double high = 1.0;
  std::vector<double> ticks;

  // 0 at the low end, 1 at the high end.
  double place(double value) const { return (value - low) / (high - low); }
};

// The least of 1, 2, 5, 10, 20, ... times a power of ten that is not below `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1.0 - 1e-12)) return factor * power;
  }
  return 10.0 * power;
}

template <typename Values>
Axis make_axis(const std::vector<Series>& series, Values values, std::size_t num_ticks) {
  double low = kInfinity, high = -kInfinity;
  for (const Series& one : series) {
    for (const double value : values(one)) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) low = 0.0, high = 1.0;
  // Room around a flat line, as much as its numbers need to differ at all.
  const double least_span = std::max({std::abs(low), std::abs(high), 1e-300}) * 1e-6;
  if (high - low < least_span) {
    const double room = std::max(std::abs(high) * 0.1, least_span);
    low -= room;
    high += room;
  }
  Axis axis{.low = low, .high = high};
  const double step = round_step((high - low) / static_cast<double>(num_ticks));
  for (double tick = std::ceil(low / step) * step; tick <= high + 1e-9 * step && axis.ticks.size() < 100;
       tick += step) {
    axis.ticks.push_back(std::abs(tick) < 1e-9 * step ? 0.0 : tick);
  }
  return axis;
}

Axis x_axis(const Plot& plot) {
  return make_axis(
      plot.series, [](const Series& s) -> const std::vector<double>& { return s.x; }, 8);
}
Axis y_axis(const Plot& plot, std::size_t num_ticks) {
  return make_axis(
      plot.series, [](const Series& s) -> const std::vector<double>& { return s.y; }, num_ticks);
}

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

// One plot of the picture: the frame's corner, its size, and what is drawn in it.
class Panel {
 public:
  static constexpr double kWidth = 720.0;
  static constexpr double kHeight = 300.0;

  Panel(const Plot& plot, double top) : plot_(plot), top_(top + 34.0), x_(x_axis(plot)), y_(y_axis(plot, 5)) {}

  std::string svg() const {
    std::string text = fmt::format("<text x=\"{}\" y=\"{}\" class=\"title\">{}</text>\n", kLeft, number(top_ - 14.0),
                                   escaped_html(plot_.title));
    for (const double tick : y_.ticks) {
      const std::string at = number(y_place(tick));
      text += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" class=\"grid\"/>", kLeft, at,
                          kLeft + kInnerWidth);
      text +=
          fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\"4\">{}</text>\n", kLeft - 8, at, number(tick));
    }
    const double bottom = top_ + kInnerHeight;
    for (const double tick : x_.ticks) {
      const std::string at = number(x_place(tick));
      text += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" class=\"axis\"/>", at, number(bottom),
                          number(bottom + 5.0));
      text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, number(bottom + 19.0),
                          number(tick));
    }
    text += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" class=\"axis\"/>\n", kLeft, number(bottom),
                        kLeft + kInnerWidth);
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kLeft + kInnerWidth / 2,
                        number(bottom + 36.0), escaped_html(plot_.x_label));
    for (std::size_t i = 0; i < plot_.series.size(); ++i) text += series_svg(i);
    return text;
  }

 private:
  static constexpr int kLeft = 70;
  static constexpr int kInnerWidth = 630;
  static constexpr double kInnerHeight = 210.0;
  // Dark enough on white, and told apart by the colour-blind.
  static constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"};

  double x_place(double value) const { return kLeft + x_.place(value) * kInnerWidth; }
  double y_place(double value) const { return top_ + (1.0 - y_.place(value)) * kInnerHeight; }

  std::string series_svg(std::size_t index) const {
    const Series& series = plot_.series[index];
    const char* colour = kColours[index % std::size(kColours)];
    std::string text;
    std::string points;
    std::size_t count = 0;
    const auto end_line = [&] {
      if (count > 1) {
        text +=
            fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points, colour);
      }
      points.clear();
      count = 0;
    };
    const bool few = series.x.size() <= 60;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i]) || !std::isfinite(series.x[i])) {
        end_line();
        continue;
      }
      const std::string x = number(x_place(series.x[i])), y = number(y_place(series.y[i]));
      points += fmt::format("{}{},{}", count == 0 ? "" : " ", x, y);
      ++count;
      if (few) text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"{}\"/>\n", x, y, colour);
    }
    end_line();
    if (plot_.series.size() > 1) {
      const double y = top_ + 6.0 + 17.0 * static_cast<double>(index);
      text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{}\">{}</text>\n", kLeft + kInnerWidth,
                          number(y), colour, escaped_html(series.name));
    }
    return text;
  }

  const Plot& plot_;
  double top_;
  Axis x_;
  Axis y_;
};

}  // namespace

Series thinned(const Series& series, std::size_t most) {
  assert(most > 0 && series.x.size() == series.y.size());
  Series result{.name = series.name, .x = {}, .y = {}};
  const std::size_t size = series.x.size();
  const std::size_t count = std::min(size, most);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * size / count, last = (i + 1) * size / count;
    double x = 0.0, y = 0.0, finite = 0.0;
    for (std::size_t p = first; p < last; ++p) {
      x += series.x[p] / static_cast<double>(last - first);
      if (!std::isfinite(series.y[p])) continue;
      y += series.y[p];
      finite += 1.0;
    }
    result.x.push_back(x);
    result.y.push_back(y / finite);  // NaN if there is none: a gap.
  }
  return result;
}

std::string to_svg(std::span<const Plot> plots) {
  const double height = Panel::kHeight * static_cast<double>(std::max<std::size_t>(plots.size(), 1));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.title {{ font-size: 15px; font-weight: bold }} .grid {{ stroke: #ddd }} .axis {{ stroke: #444 "
      "}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      Panel::kWidth, height);
  for (std::size_t i = 0; i < plots.size(); ++i) {
    text += Panel(plots[i], Panel::kHeight * static_cast<double>(i)).svg();
  }
  return text + "</svg>\n";
}

std::string to_text(const Plot& plot, std::size_t width, std::size_t height) {
  constexpr std::size_t kLabel = 10;
  constexpr std::string_view kMarks = "*o+x#";
  const std::size_t columns = std::max<std::size_t>(width, 30) - kLabel - 2;
  const std::size_t rows = std::max<std::size_t>(height, 6) - 4;
  const Axis x = x_axis(plot), y = y_axis(plot, std::max<std::size_t>(rows / 3, 2));
  const auto cell = [](double place, std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(std::max(0.0, place * static_cast<double>(count - 1) + 0.5)));
  };
  std::vector<std::string> canvas(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const Series series = thinned(plot.series[s], columns);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      canvas[rows - 1 - cell(y.place(series.y[i]), rows)][cell(x.place(series.x[i]), columns)] =
          kMarks[s % kMarks.size()];
    }
  }
  std::vector<std::string> labels(rows);
  for (const double tick : y.ticks) labels[rows - 1 - cell(y.place(tick), rows)] = number(tick);

  std::string text = plot.title;
  for (std::size_t s = 0; plot.series.size() > 1 && s < plot.series.size(); ++s)
    text += fmt::format("   {} {}", kMarks[s % kMarks.size()], plot.series[s].name);
  text += '\n';
  for (std::size_t row = 0; row < rows; ++row) {
    canvas[row].erase(canvas[row].find_last_not_of(' ') + 1);
    text += fmt::format("{:>{}} |{}\n", labels[row], kLabel, canvas[row]);
  }
  const std::string first = number(x.low), last = number(x.high);
  text += fmt::format("{:>{}} +{}\n", "", kLabel, std::string(columns, '-'));
  const std::size_t room = columns > last.size() ? columns - last.size() : 0;
  text += fmt::format("{:>{}}  {:<{}}{}\n", "", kLabel, first, room, last);
  text += fmt::format("{:>{}}  {:^{}}\n", "", kLabel, plot.x_label, columns);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + '\n';
}

}  // namespace semfuse
