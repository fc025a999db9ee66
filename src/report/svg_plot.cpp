#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/html.h"
#include "report/plot.h"

namespace semfuse {
namespace {

constexpr double kWidth = 460.0;
constexpr double kRight = 22.0;       // Half of a last label fits.
constexpr double kCharacter = 7.6;    // About the width of one; text is never measured.
constexpr double kLegendLine = 20.0;  // From line to line of the legend.
constexpr const char* kColours[] = {"var(--one, #0b62b8)",   "var(--two, #c2410c)",    "var(--three, #15803d)",
                                    "var(--four, #7e22ce)",  "var(--five, #a16207)",   "var(--six, #0f766e)",
                                    "var(--seven, #be185d)", "var(--eight, #475569)",  "var(--nine, #0891b2)",
                                    "var(--ten, #7f1d1d)",   "var(--eleven, #4d7c0f)", "var(--twelve, #a855f7)"};
constexpr const char* kDashed = " stroke-dasharray=\"6 4\"";
constexpr const char* kDotted = " stroke-dasharray=\"2 3\"";
constexpr const char* kInk = "var(--ink)";

const char* colour(std::size_t index) {
  return kColours[index % std::size(kColours)];
}

double width_of(std::string_view text) {
  return kCharacter * static_cast<double>(std::ranges::count_if(
                          text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<double> values_of(const std::vector<Reference>& references) {
  std::vector<double> values;
  values.reserve(references.size());
  for (const Reference& reference : references) values.push_back(reference.at);
  return values;
}

// A picture that grows downwards: each plot is drawn below the last one.
class Picture {
 public:
  void text(double x, double y, const char* anchor, std::string_view text, const char* more = "") {
    shapes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                           escaped_html(text));
  }
  void line(double x1, double y1, double x2, double y2, const char* stroke, double width = 1.0, const char* more = "") {
    shapes_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", x1, y1,
        x2, y2, stroke, width, more);
  }
  void circle(double x, double y, double radius, const char* fill, const char* more = "") {
    shapes_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"{}/>\n", x, y, radius, fill, more);
  }
  void shape(std::string_view markup) { shapes_ += markup; }

  // The title of the next plot; what is drawn after it stands below top().
  void begin(const std::string& title) {
    if (label_.empty()) label_ = title;
    text(12, top_ + 22, "start", title, " class=\"title\"");
    top_ += 34;
  }
  double top() const { return top_; }
  void move_to(double top) { top_ = top; }

  std::string svg() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "role=\"img\" aria-label=\"{2}\" class=\"plot\">\n"
        "<style>.plot {{ font: 14px system-ui, sans-serif; --ink: #1f2328; --line: #d0d7de; --paper: #ffffff }}\n"
        "@media (prefers-color-scheme: dark) {{ .plot {{ --ink: #e6edf3; --line: #3d444d; --paper: #0d1117; --one: "
        "#6cb6ff; --two: #f69d50; --three: #57ab5a; --four: #dcbdfb; --five: #daaa3f; --six: #4ac6b7; --seven: "
        "#f778ba; "
        "--eight: #b1bac4; --nine: #76e3ea; --ten: #ff938a; --eleven: #b4d455; --twelve: #b083f0 }} }}\n"
        ".plot text {{ fill: var(--ink); stroke: none }} .plot .title {{ font-size: 15px; font-weight: 600 }}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n{3}</svg>\n",
        kWidth, std::max(top_, 40.0), escaped_html(label_), shapes_);
  }

 private:
  std::string shapes_;
  std::string label_;
  double top_ = 0.0;
};

// Names above the frame, where neither a line nor the grid crosses them.
class Legend {
 public:
  explicit Legend(Picture& picture) : picture_(picture), y_(picture.top() + 10) {}

  void add(const std::string& name, const char* stroke, const char* dash) {
    const double width = 32 + width_of(name);
    if (x_ > kLeft && x_ + width > kWidth - 8) x_ = kLeft, y_ += kLegendLine;
    picture_.line(x_, y_ - 4, x_ + 26, y_ - 4, stroke, 2.0, dash);
    picture_.text(x_ + 32, y_, "start", name);
    x_ += width + 14;
  }
  ~Legend() { picture_.move_to(y_ + 14); }
  Legend(const Legend&) = delete;
  Legend& operator=(const Legend&) = delete;

 private:
  static constexpr double kLeft = 12.0;
  Picture& picture_;
  double x_ = kLeft;
  double y_;
};

// A frame with its axes; data become places in the picture.
struct Frame {
  const Axis& x;
  const Axis& y;
  double left, right, top, bottom;

  bool has_place(double x_value, double y_value) const { return x.has_place(x_value) && y.has_place(y_value); }
  double x_place(double value) const { return left + x.place(value) * (right - left); }
  double y_place(double value) const { return bottom - y.place(value) * (bottom - top); }
  std::string point(double x_value, double y_value) const {
    return fmt::format("{:.1f},{:.1f} ", x_place(x_value), y_place(y_value));
  }
};

void draw_band(Picture& picture, const Frame& frame, const Series& series, const char* fill) {
  std::string upper, lower;
  for (std::size_t i = 0; i < series.low.size(); ++i) {
    if (!frame.has_place(series.x[i], series.low[i]) || !frame.has_place(series.x[i], series.high[i])) continue;
    upper += frame.point(series.x[i], series.high[i]);
    lower.insert(0, frame.point(series.x[i], series.low[i]));
  }
  if (!upper.empty())
    picture.shape(fmt::format("<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.18\"/>\n", upper, lower, fill));
}

void draw_line(Picture& picture, const Frame& frame, const Series& series, const char* stroke) {
  constexpr std::size_t kFewPoints = 60;
  std::string points;
  std::size_t count = 0;
  const auto end_line = [&] {
    if (count > 1) {
      picture.shape(fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", points,
                                stroke, series.dashed ? kDashed : ""));
    }
    points.clear();
    count = 0;
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!frame.has_place(series.x[i], series.y[i])) {
      end_line();
      continue;
    }
    points += frame.point(series.x[i], series.y[i]);
    ++count;
    if (series.x.size() <= kFewPoints) {
      picture.circle(frame.x_place(series.x[i]), frame.y_place(series.y[i]), 3, stroke);
    }
  }
  end_line();
}

void draw(Picture& picture, const Plot& plot) {
  constexpr double kHeight = 240.0;
  std::vector<double> xs, ys;
  for (const Series& series : plot.series) {
    append(xs, series.x);
    for (const auto* values : {&series.y, &series.low, &series.high}) append(ys, *values);
  }
  const Axis x(xs, {}, Scale::linear, 5, 0.0);
  const Axis y(ys, values_of(plot.references), plot.y_scale, 6, 0.05);
  const auto is_drawn = [&](const Reference& reference) { return y.has_place(reference.at); };

  picture.begin(plot.title);
  if (plot.series.size() + static_cast<std::size_t>(std::ranges::count_if(plot.references, is_drawn)) > 1) {
    Legend legend(picture);
    for (std::size_t s = 0; s < plot.series.size(); ++s)
      legend.add(plot.series[s].name, colour(s), plot.series[s].dashed ? kDashed : "");
    for (const Reference& reference : plot.references) {
      if (is_drawn(reference)) legend.add(reference.name, kInk, kDotted);
    }
  }
  double labels = 0.0;
  for (const double tick : y.ticks()) labels = std::max(labels, width_of(tick_text(tick)));
  const double left = labels + (plot.y_label.empty() ? 20.0 : 36.0);
  const Frame frame{.x = x,
                    .y = y,
                    .left = left,
                    .right = kWidth - kRight,
                    .top = picture.top() + 4,
                    .bottom = picture.top() + 4 + kHeight};
  for (const double tick : y.ticks()) {
    picture.line(frame.left, frame.y_place(tick), frame.right, frame.y_place(tick), "var(--line)");
    picture.text(frame.left - 8, frame.y_place(tick) + 5, "end", tick_text(tick));
  }
  for (const double tick : x.ticks()) picture.text(frame.x_place(tick), frame.bottom + 20, "middle", tick_text(tick));
  picture.text((frame.left + frame.right) / 2, frame.bottom + 42, "middle", plot.x_label);
  if (!plot.y_label.empty()) {
    picture.shape(fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                              (frame.top + frame.bottom) / 2, escaped_html(plot.y_label)));
  }
  for (std::size_t s = 0; s < plot.series.size(); ++s) draw_band(picture, frame, plot.series[s], colour(s));
  for (std::size_t s = 0; s < plot.series.size(); ++s) draw_line(picture, frame, plot.series[s], colour(s));
  for (const Reference& reference : plot.references) {
    if (is_drawn(reference))
      picture.line(frame.left, frame.y_place(reference.at), frame.right, frame.y_place(reference.at), kInk, 1.0,
                   kDotted);
  }
  picture.move_to(frame.bottom + 54);
}

void draw_row(Picture& picture, const Frame& frame, const IntervalRow& row, double y, bool show_mean) {
  const auto place = [&](double value) { return frame.x_place(value); };
  picture.text(frame.left - 10, y + 5, "end", row.name);
  for (const double value : row.values) {
    if (frame.x.has_place(value)) picture.circle(place(value), y, 3, colour(0), " opacity=\"0.35\"");
  }
  const bool has_interval = frame.x.has_place(row.low) && frame.x.has_place(row.high);
  if (has_interval) picture.line(place(row.low), y, place(row.high), y, colour(0), 3.0);
  if (frame.x.has_place(row.mean)) {
    picture.circle(place(row.mean), y, 5, colour(0));
    const std::string mean =
        std::abs(row.mean) < 1e4 ? fmt::format("{:.3f}", row.mean) : fmt::format("{:.3g}", row.mean);
    if (show_mean) picture.text(kWidth - 8, y + 5, "end", mean);
  }
  if (row.reference && frame.x.has_place(*row.reference)) {
    picture.shape(fmt::format(
        "<path d=\"M {:.1f} {:.1f} l 6 6 l -6 6 l -6 -6 z\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
        place(*row.reference), y - 6, colour(1)));
  }
}

void draw(Picture& picture, const IntervalPlot& plot) {
  constexpr double kRow = 28.0;
  constexpr double kWidestNames = 272.0;
  constexpr double kMeans = 72.0;  // A column of numbers beside the frame.
  std::vector<double> values;
  double names = 60.0;
  for (const IntervalRow& row : plot.rows) {
    append(values, {row.mean, row.low, row.high, row.reference.value_or(row.mean)});
    append(values, row.values);
    names = std::max(names, 20.0 + 0.95 * width_of(row.name));
  }
  const Axis x(values, values_of(plot.references), plot.scale, 3, 0.08);
  const Axis none({}, {}, Scale::linear, 1, 0.0);
  picture.begin(plot.title);
  const double top = picture.top() + 16;
  const Frame frame{.x = x,
                    .y = none,
                    .left = std::min(names, kWidestNames),
                    .right = kWidth - (plot.show_means ? kMeans : kRight),
                    .top = top,
                    .bottom = top + kRow * static_cast<double>(plot.rows.size())};
  for (const double tick : x.ticks()) {
    picture.line(frame.x_place(tick), frame.top, frame.x_place(tick), frame.bottom, "var(--line)");
    picture.text(frame.x_place(tick), frame.bottom + 20, "middle", tick_text(tick));
  }
  picture.text(kWidth / 2, frame.bottom + 42, "middle", plot.label);
  for (const Reference& reference : plot.references) {
    if (!x.has_place(reference.at)) continue;
    picture.line(frame.x_place(reference.at), frame.top, frame.x_place(reference.at), frame.bottom, kInk, 1.0, kDotted);
    picture.text(frame.x_place(reference.at), frame.top - 5, "middle", reference.name);
  }
  for (std::size_t i = 0; i < plot.rows.size(); ++i)
    draw_row(picture, frame, plot.rows[i], frame.top + kRow * (static_cast<double>(i) + 0.5), plot.show_means);
  picture.move_to(frame.bottom + 54);
}

template <typename Kind>
std::string drawn(std::span<const Kind> plots) {
  Picture picture;
  for (const Kind& plot : plots) draw(picture, plot);
  return picture.svg();
}

}  // namespace

std::string to_svg(std::span<const Plot> plots) {
  return drawn(plots);
}

std::string to_svg(std::span<const IntervalPlot> plots) {
  return drawn(plots);
}

}  // namespace semfuse
