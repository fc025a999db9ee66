#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>

#include "report/plot.h"

namespace semfuse {
namespace {

std::vector<double> all_of(const Plot& plot, std::vector<double> Series::*values) {
  std::vector<double> all;
  for (const Series& series : plot.series) all.insert(all.end(), (series.*values).begin(), (series.*values).end());
  return all;
}

}  // namespace

Series thinned(const Series& series, std::size_t most) {
  assert(most > 0 && series.x.size() == series.y.size());
  Series result{.name = series.name, .x = {}, .y = {}, .dashed = series.dashed};
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

std::string to_text(const Plot& plot, std::size_t width, std::size_t height) {
  constexpr std::size_t kLabel = 10;
  constexpr std::string_view kMarks = "*o+x#";
  const std::size_t columns = std::max<std::size_t>(width, 30) - kLabel - 2;
  const std::size_t rows = std::max<std::size_t>(height, 6) - 4;
  const Axis x(all_of(plot, &Series::x), {}, Scale::linear, 8, 0.0);
  const Axis y(all_of(plot, &Series::y), {}, plot.y_scale, std::max<std::size_t>(rows / 3, 2), 0.0);
  const auto cell = [](double place, std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(std::max(0.0, place * static_cast<double>(count - 1) + 0.5)));
  };
  std::vector<std::string> canvas(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const Series series = thinned(plot.series[s], columns);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!x.has_place(series.x[i]) || !y.has_place(series.y[i])) continue;
      canvas[rows - 1 - cell(y.place(series.y[i]), rows)][cell(x.place(series.x[i]), columns)] =
          kMarks[s % kMarks.size()];
    }
  }
  std::vector<std::string> labels(rows);
  for (const double tick : y.ticks()) labels[rows - 1 - cell(y.place(tick), rows)] = tick_text(tick);

  std::string text = plot.title;
  std::size_t line = text.size();
  for (std::size_t s = 0; plot.series.size() > 1 && s < plot.series.size(); ++s) {
    const std::string name = fmt::format("{} {}", kMarks[s % kMarks.size()], plot.series[s].name);
    const bool fits = line + 3 + name.size() <= width;
    text += (fits ? "   " : "\n") + name;
    line = (fits ? line + 3 : 0) + name.size();
  }
  text += '\n';
  for (std::size_t row = 0; row < rows; ++row) {
    canvas[row].erase(canvas[row].find_last_not_of(' ') + 1);
    text += fmt::format("{:>{}} |{}\n", labels[row], kLabel, canvas[row]);
  }
  const std::string first = tick_text(x.low()), last = tick_text(x.high());
  text += fmt::format("{:>{}} +{}\n", "", kLabel, std::string(columns, '-'));
  const std::size_t room = columns > last.size() ? columns - last.size() : 0;
  text += fmt::format("{:>{}}  {:<{}}{}\n", "", kLabel, first, room, last);
  text += fmt::format("{:>{}}  {:^{}}\n", "", kLabel, plot.x_label, columns);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + '\n';
}

}  // namespace semfuse
