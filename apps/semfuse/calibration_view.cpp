#include "calibration_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "interrupt.h"
#include "run/label_calibration.h"
#include "study_progress.h"
#include "table.h"

namespace semfuse {
namespace {

std::string joined(const std::vector<double>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) texts.push_back(fmt::format("{:.3f}", value));
  return fmt::format("{}", fmt::join(texts, " / "));
}

}  // namespace

std::string calibration_table(const Terminal& terminal, const Knob& knob, const CalibrationResult& result) {
  Table table({Table::Align::left, Table::Align::right});
  table.add({{.text = "asked"}, {.text = "raw"}, {.text = "calibrated"}, {.text = "±"}});
  for (const CalibrationLevel& level : result.levels) {
    table.add({{.text = to_string({&knob, 1}, level.asked)},
               {.text = joined(level.raw.values)},
               {.text = joined(level.calibrated.values)},
               {.text = fmt::format("{:.3f}", *std::ranges::max_element(level.calibrated.half_widths)), .dim = true}});
  }
  std::string texts;
  if (result.texts && result.raw_texts) {
    texts = fmt::format("  a text: error {:.3f} raw, {:.3f} calibrated; correlation {:.3f} raw, {:.3f} calibrated\n",
                        result.raw_texts->distance, result.texts->distance, result.raw_texts->correlation,
                        result.texts->correlation);
  }
  std::string heading = terminal.flowed_lines(
      fmt::format("{}  mean error {:.3f} raw, {:.3f} calibrated; largest {:.3f} raw, {:.3f} calibrated\n", knob.name,
                  result.raw_mean_error, result.mean_error, result.raw_largest_error, result.largest_error) +
      texts);
  heading.replace(0, knob.name.size(), terminal.bold(knob.name));
  return heading + table.text(terminal, 2, 2);
}

bool calibrate_labels(const TrainingRun& run, bool only_missing, bool quiet, std::size_t threads, bool to_stderr) {
  const Terminal terminal(to_stderr ? stderr : stdout);
  const InterruptGuard interrupt;
  std::optional<StudyProgress> progress;  // Of one knob.
  LabelCalibrationOptions options{.threads = threads, .only_missing = only_missing};
  options.go_on = [&](const Knob& knob, double done) {
    if (!progress) progress.emplace(quiet);
    progress->show(fmt::format("calibrating {}", knob.name), done);
    return interrupt.signal() == 0;
  };
  options.on_result = [&](const Knob& knob, const CalibrationResult& result) {
    progress.reset();
    if (!quiet) terminal.print(calibration_table(terminal, knob, result));
  };
  options.on_note = [&](const std::string& note) {
    progress.reset();
    notify(printable(note));
  };
  return calibrate_labels(run, options);
}

}  // namespace semfuse
