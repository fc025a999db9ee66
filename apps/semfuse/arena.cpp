#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "config/data_tables.h"
#include "data/builtin_corpora.h"
#include "interrupt.h"
#include "io/file.h"
#include "judge_option.h"
#include "processes.h"
#include "report/arena_report.h"
#include "run/shared_run.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study/arena.h"
#include "study/spread_jobs.h"
#include "study/study_folder.h"
#include "study_progress.h"
#include "table.h"
#include "table_options.h"
#include "terminal.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

// Sizes of every model: three seeds of all methods take half an hour on two cores.
constexpr std::uint64_t kSteps = 1600;
constexpr std::size_t kWords = 4000;
constexpr std::size_t kFeedForward = 256;

struct ArenaFlags {
  std::vector<std::string> data;
  TableFlags table;
  std::string out;
  std::string knob;
  std::vector<std::string> methods;
  std::vector<std::string> strengths;
  std::optional<std::string> seeds;
  std::optional<std::string> n;
  std::optional<std::string> judge;
  std::optional<std::string> patience;
  std::vector<std::string> settings;
  std::optional<std::string> threads;
  bool resume = false;
  bool quiet = false;
};

// The knob of that name that a column gives, or one that is declared.
Knob chosen_knob(const ArenaFlags& options, const DataOptions& data) {
  if (options.knob.find(':') != std::string::npos) return parse_knob(options.knob);
  const std::vector<Knob> knobs = column_knobs(data).knobs;
  std::vector<std::string> names;
  for (const Knob& knob : knobs) {
    if (knob.kind != KnobKind::probability) continue;
    if (options.knob.empty() || knob.name == options.knob) return knob;
    names.push_back(knob.name);
  }
  if (options.knob.empty())
    throw Error(
        "no column has two values that could be a label; declare the knob, as --knob 'good: probability of column "
        "good'");
  throw Error(fmt::format("--knob {}: no column gives such a probability{}", printable(options.knob),
                          names.empty() ? "" : fmt::format("; there is {}", fmt::join(names, ", "))));
}

std::vector<const ArenaMethod*> chosen_methods(const ArenaFlags& options) {
  std::vector<const ArenaMethod*> methods;
  const std::vector<std::string> names = split_at_commas(options.methods);
  for (const std::string& name : names) arena_method(name);  // Throws.
  for (const ArenaMethod& method : arena_methods()) {
    const bool wanted =
        names.empty() || method.name == "unconditional" || std::ranges::find(names, method.name) != names.end();
    if (wanted) methods.push_back(&method);
  }
  return methods;
}

// Every model of the arena is trained so; words, as most of the field has them.
Experiment base_experiment(const ArenaFlags& options, const DataOptions& data) {
  Experiment experiment = preset_experiment("text");
  experiment.data = data;
  const DataSize size = estimated_size(data);
  const DataFit fit = fit_for(size, experiment.training, experiment.data.max_length);
  experiment.training.batch = fit.batch;
  experiment.training.steps = kSteps;
  experiment.training.knob_share = kShareOfOneKnob;
  experiment.text.vocabulary = kWords;
  experiment.model.feed_forward = kFeedForward;
  apply_settings(experiment, options.settings);
  return experiment;
}

void write(const fs::path& folder, const ArenaReport& report) {
  write_atomically(folder / "results.json", arena_json(report));
  write_atomically(folder / "table.md", arena_markdown(report));
  write_atomically(folder / "index.html", arena_page(report));
}

void print(const Terminal& terminal, const ArenaReport& report) {
  if (!terminal.is_terminal()) return terminal.print(arena_markdown(report));
  for (const auto& cells : {arena_cells(report), level_cells(report)}) {
    Table table({Table::Align::left, Table::Align::right});
    for (const std::vector<std::string>& row : cells) {
      std::vector<Table::Cell> line;
      line.reserve(row.size());
      for (const std::string& text : row) line.push_back({.text = text});
      table.add(std::move(line));
    }
    terminal.print(table.text(terminal, 0, 2) + '\n');
  }
  terminal.print(terminal.flowed(arena_note(report)) + '\n');
}

std::vector<double> parsed_strengths(const std::vector<std::string>& texts) {
  std::vector<double> strengths;
  for (const std::string& text : texts) {
    const double strength = *parse_number("--strengths", text);
    if (!(strength > 0.0 && strength <= 100.0))
      throw Error(fmt::format("--strengths {}: must be above 0 and at most 100", printable(text)));
    strengths.push_back(strength);
  }
  return strengths;
}

// An earlier call may have had other strengths, or another judge.
bool is_of(const ArenaRun& run, const ArenaMethod& method, const ArenaSettings& settings, const ArenaJury& jury) {
  return run.judge == jury.judge_b().fingerprint() &&
         std::ranges::equal(run.points, strengths_of(method, settings), {}, &ArenaPoint::strength);
}

int run_arena(const ArenaFlags& options, Exchange& exchange) {
  const bool leads = exchange.rank() == 0;
  StudyFolder folder(options.out, "arena");
  if (std::error_code ignored; options.resume && !fs::exists(folder.path(), ignored))
    throw Error(fmt::format("{}: there is nothing to resume; leave out --resume", printable(options.out)));
  const std::vector<const ArenaMethod*> methods = chosen_methods(options);
  const std::uint64_t seeds = parse_whole_number("--seeds", options.seeds, 1, 100).value_or(3);
  const std::vector<double> strengths = parsed_strengths(split_at_commas(options.strengths));
  ArenaSettings settings;
  settings.n = parse_whole_number("--n", options.n, 20, 1'000'000).value_or(settings.n);
  settings.threads = parse_threads(options.threads);
  settings.strengths = strengths;
  DataOptions data;
  data.kind = DataKind::files;
  for (const std::string& file : options.data) data.train.push_back(absolute_data_name(file));
  options.table.apply_to(data);
  const Knob knob = chosen_knob(options, data);
  Experiment experiment = base_experiment(options, data);
  experiment.model.knobs = {knob};

  const auto name_of = [&](const ArenaMethod& method, std::uint64_t seed) {
    return fmt::format("{}-{}-n{}", method.name, seed, settings.n);
  };
  const auto finished = [&](const ArenaMethod& method, std::uint64_t seed) {
    experiment.seed = seed;
    return folder.finished(name_of(method, seed), experiment);
  };
  // What was measured with other settings is found before anything is done.
  for (const ArenaMethod* method : methods) finished(*method, 1);
  const InterruptGuard interrupt;
  first_then_others(exchange, [&] {
    if (leads) folder.open();
    return 0;
  });
  StudyProgress progress(options.quiet || !leads);
  const ArenaTexts texts = read_arena_texts(
      {data.train.begin(), data.train.end()},
      {.text_column = data.text, .columns = {}, .skip_bad = data.skip_bad, .table = table_options(data)}, knob);
  std::shared_ptr<const Judge> judge;  // Null: one is trained.
  if (options.judge) judge = open_judge(*options.judge, options.patience, texts.knob, interrupt);
  const ArenaJury jury(texts, std::move(judge));
  ArenaReport report{.knob = knob.name,
                     .real_positive = jury.real(true),
                     .real_negative = jury.real(false),
                     .real_perplexity = jury.real_perplexity(),
                     .texts = settings.n,
                     .runs = {}};
  const double all = static_cast<double>(seeds * methods.size());
  double done = 0.0;
  const auto go_on = [&](const std::string& what, double share) {
    progress.show(what, (done + share) / all);
    return interrupt.signal() == 0;
  };
  // Each method on a seed, as it is in the folder afterwards.
  const auto measure = [&](std::uint64_t seed, const std::function<void(ArenaRun)>& on_run) {
    experiment.seed = seed;
    ArenaParts parts(folder.path() / "models" / fmt::format("seed-{}", seed), texts, jury.judge_a(), experiment, seed,
                     settings.threads, [&](const std::string& what, double share) {
                       return go_on(fmt::format("seed {}: {} {:.0f} %", seed, what, share * 100.0), 0.0);
                     });
    for (const ArenaMethod* method : methods) {
      const std::string name = name_of(*method, seed);
      std::optional<std::string> kept = finished(*method, seed);
      if (!kept || !is_of(parse_arena_run(*kept, folder.metrics_path(name).string()), *method, settings, jury)) {
        const ArenaRun run = run_method(*method, parts, jury, settings, [&](double share) {
          return go_on(fmt::format("seed {}: {}", seed, method->title), share);
        });
        kept = to_json(run);
        folder.keep(name, experiment, *kept);
      }
      on_run(parse_arena_run(*kept, folder.metrics_path(name).string()));
    }
  };
  bool stopped = false;
  try {
    // Several processes first leave the seeds in the folder, each its own; what follows then finds them there.
    const auto leave = [&](std::size_t job) -> std::optional<std::string> {
      try {
        measure(job + 1, [&](const ArenaRun&) { done += static_cast<double>(exchange.size()); });
      } catch (const Error&) {
        if (interrupt.signal() == 0) throw;
        return std::nullopt;
      }
      return "done";
    };
    if (exchange.size() > 1) stopped = !spread_jobs(exchange, seeds, leave, [](std::size_t, const std::string&) {});
    if (!leads) return 0;
    done = 0.0;
    for (std::uint64_t seed = 1; seed <= seeds && !stopped; ++seed) {
      measure(seed, [&](ArenaRun run) {
        report.runs.push_back(std::move(run));
        done += 1.0;
        write(folder.path(), report);
      });
    }
  } catch (const Error&) {
    if (interrupt.signal() == 0) throw;
    stopped = true;
  }
  if (stopped) {
    progress.clear();
    notify("stopped; the same command goes on");
    return interrupt.exit_code();
  }
  progress.clear();
  if (!options.quiet) {
    print(Terminal(stdout), report);
    notify(fmt::format("{} has the page", (folder.path() / "index.html").string()));
  }
  return 0;
}

}  // namespace

Command arena_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("arena", "Compare methods of control on your own labelled texts");
  const auto options = std::make_shared<ArenaFlags>();
  app->add_option("--data", options->data, "Labelled texts: .tsv, .csv or .jsonl; may be repeated")
      ->type_name("FILE")
      ->required();
  options->table.add_to(*app);
  options->table.add_skip_bad(*app);
  app->add_option("--out", options->out,
                  "Folder for models, results.json, table.md and index.html; what is done is kept")
      ->type_name("DIR")
      ->required();
  app->add_option("--knob", options->knob,
                  "The column whose label is controlled, or a declaration (default: the first that has two values)")
      ->type_name("KNOB");
  app->add_option("--methods", options->methods, "Only these, with commas or repeated")->type_name("NAMES");
  app->add_option("--strengths", options->strengths, "Instead of those of each method; may be repeated")
      ->type_name("W");
  app->add_option("--seeds", options->seeds, "Models of each kind, on seeds from 1 (default: 3)")->type_name("N");
  app->add_option("--n", options->n, "Texts of each label and strength (default: 1000)")->type_name("N");
  app->add_option("--judge", options->judge,
                  "Who measures: a judge's file, or a command that reads a text a line and writes a number a line "
                  "(default: a judge that is trained on 20 % of the texts)")
      ->type_name("JUDGE");
  app->add_option("--judge-timeout", options->patience, "Seconds that a command may take at a time (600)")
      ->type_name("S");
  app->add_option("--set", options->settings, "Change one setting of every model; may be repeated")
      ->type_name("KEY=VALUE");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--resume", options->resume, "Go on with what is in the folder, as is done anyway; it must be there");
  app->add_flag("--quiet", options->quiet, "Print nothing");
  app->footer(
      "Texts are shared out by a hash: 60 % train models, 15 % the judge that methods may use, 20 % the judge that "
      "measures,\n"
      "5 % are prompts. Ctrl-C stops; the same command goes on.\n\n"
      "Examples:\n"
      "  semfuse arena --data reviews.tsv --knob polarity --out arena\n"
      "  semfuse arena --data reviews.tsv --methods gedi,value --seeds 1 --n 200 --out short\n");
  return {.app = app, .purpose = "these models", .run = [options] {
            return run_in_processes(
                [&](const std::shared_ptr<Exchange>& exchange) { return run_arena(*options, *exchange); });
          }};
}

}  // namespace semfuse
