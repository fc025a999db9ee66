#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "io/file.h"
#include "io/output_file.h"
#include "report/plot.h"
#include "run/run_files.h"
#include "run/run_log.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct LogFlags {
  std::string run;
  std::optional<std::string> svg;
};

std::vector<Plot> plots_of(const RunHistory& history) {
  Series loss{.name = "loss", .x = {}, .y = {}};
  for (const LoggedStep& step : history.steps) {
    loss.x.push_back(static_cast<double>(step.step));
    loss.y.push_back(step.loss);
  }
  constexpr std::size_t kMostPoints = 1000;
  // By logarithm: the first loss is many times the last.
  std::vector<Plot> plots = {{.title = "Training loss (logarithmic)",
                              .x_label = "step",
                              .y_scale = Scale::logarithmic,
                              .series = {thinned(loss, kMostPoints)}}};
  if (history.evaluations.empty()) return plots;
  Series all{.name = "all words", .x = {}, .y = {}}, seen{.name = "seen words only", .x = {}, .y = {}};
  for (const LoggedEvaluation& evaluation : history.evaluations) {
    all.x.push_back(static_cast<double>(evaluation.step));
    all.y.push_back(evaluation.perplexity);
    seen.x.push_back(static_cast<double>(evaluation.step));
    seen.y.push_back(evaluation.seen_only_perplexity);
  }
  plots.push_back(
      {.title = fmt::format("Validation perplexity ({} attention)", printable(history.evaluations.back().attention)),
       .x_label = "step",
       .y_scale = Scale::logarithmic,
       .series = {std::move(all), std::move(seen)}});
  return plots;
}

std::string summary(const RunHistory& history) {
  std::size_t skipped = 0;
  for (const LoggedStep& step : history.steps) skipped += step.skipped ? 1 : 0;
  std::string text =
      fmt::format("{}, last loss {}", counted(history.steps.size(), "step"), readable(history.steps.back().loss, 4));
  if (skipped > 0) text += fmt::format(", {} skipped", with_separators(skipped));
  if (!history.evaluations.empty()) {
    const LoggedEvaluation& last = history.evaluations.back();
    text += fmt::format("; perplexity {} ({} attention) after epoch {}", readable(last.perplexity, 4),
                        printable(last.attention), last.epoch);
  }
  return text;
}

// Whether the text, without the end of its first line, may become one: a log in the making, not something else.
bool begins_an_event(std::string_view text) {
  constexpr std::string_view kEvent = "{\"event\":";
  return text.substr(0, kEvent.size()) == kEvent.substr(0, text.size());
}

int run(const LogFlags& options) {
  const RunFiles files{options.run};
  const fs::path path = files.log();
  if (!is_there(path)) throw Error(fmt::format("{}: has no log.jsonl; name a run folder", options.run));
  const std::string log = read_text(path);
  const RunHistory history = parse_run_log(log, path.string());
  if (history.steps.empty() && !begins_an_event(log))
    throw Error(fmt::format("{}: is not the log of a run; name a run folder", path.string()));
  if (history.steps.empty()) throw Error(fmt::format("{}: has no step yet; wait for the first", path.string()));
  const std::vector<Plot> plots = plots_of(history);
  const fs::path svg = options.svg ? fs::path(*options.svg) : files.curves();
  require_own_file(svg, {"<svg", "<?xml"}, "an SVG");
  write_atomically(svg, to_svg(plots));

  const Terminal terminal(stdout);
  std::string text;
  if (terminal.is_terminal()) {
    constexpr std::size_t kHeight = 18;
    for (const Plot& plot : plots)
      text += to_text(plot, std::min<std::size_t>(terminal.width() - 1, 100), kHeight) + '\n';
  }
  text += terminal.flowed(
              fmt::format("{}: {}; drawn in {}", printable(path.string()), summary(history), printable(svg.string()))) +
          '\n';
  terminal.print(text);
  return 0;
}

}  // namespace

Command log_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("log", "Draw the loss and perplexity curves of a run");
  const auto options = std::make_shared<LogFlags>();
  app->add_option("RUN", options->run, "A run folder, finished or not")->required();
  app->add_option("--svg", options->svg, "Where to draw (default: RUN/log.svg); only an SVG is overwritten")
      ->type_name("FILE");
  app->footer(
      "On a terminal the curves are shown as text too.\n\n"
      "Examples:\n"
      "  semfuse log run\n"
      "  semfuse log run --svg curves.svg\n");
  return {.app = app, .purpose = "this log", .run = [options] { return run(*options); }};
}

}  // namespace semfuse
