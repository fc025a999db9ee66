#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "command.h"
#include "config/data_tables.h"
#include "data/data_description.h"
#include "data/knob_proposals.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "io/quoted_text.h"
#include "judge/judge_training.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study_progress.h"
#include "table_options.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct JudgeFlags {
  std::vector<std::string> data;
  TableFlags table;
  std::string label;
  std::string out;
  std::string judge;
  std::optional<std::string> seed;
  std::optional<std::string> bits;
  std::optional<std::string> order;
  bool json = false;
};

RecordOptions records_of(const JudgeFlags& options) {
  return {.text_column = options.table.text.value_or(""),
          .columns = {},
          .skip_bad = options.table.skip_bad,
          .table = options.table.options()};
}

// What the column says, as `train` would make a knob of it.
Knob knob_of(const JudgeFlags& options) {
  DataOptions data;
  data.train = options.data;
  data.labels = {options.label};
  options.table.apply_to(data);
  try {
    return column_knobs(data).knobs.at(0);
  } catch (const Error& error) {
    constexpr std::string_view kOfKey = "data.labels names ";
    const std::string what = error.what();
    if (!what.starts_with(kOfKey)) throw;
    const DataDescription columns =
        describe_data({options.data.begin(), options.data.end()},
                      {.text_column = data.text, .table = table_options(data), .columns_only = true, .progress = {}});
    for (const ColumnFault& fault : column_faults(columns)) {
      if (fault.column == options.label)
        throw Error(fmt::format("--label {}: {}; write it otherwise", quoted_text(fault.column), fault.why));
    }
    throw Error(fmt::format("--label names {}", what.substr(kOfKey.size())));
  }
}

Json as_json(const Knob& knob, const JudgeQuality& quality) {
  Json object = {{"knob", to_string(knob)}, {"texts", quality.texts}};
  if (knob.kind == KnobKind::scalar) {
    object["correlation"] = quality.correlation;
    object["rmse"] = quality.error;
    return object;
  }
  object["accuracy"] = quality.accuracy;
  object["majority"] = quality.majority;
  object["log_loss"] = quality.log_loss;
  object["calibration_error"] = quality.calibration_error;
  return object;
}

int train(const JudgeFlags& options) {
  if (options.out.empty()) throw Error("--out is empty; name a file");
  require_new_file(options.out);
  JudgeTrainingOptions training;
  training.seed = parse_whole_number("--seed", options.seed, 0, 1'000'000'000).value_or(training.seed);
  SlotOptions slots;
  slots.bits = parse_whole_number("--bits", options.bits, kFewestSlotBits, kMostSlotBits).value_or(slots.bits);
  slots.order = parse_whole_number("--order", options.order, 1, kMostSlotOrder).value_or(slots.order);
  const LabelledTexts texts = read_labelled_texts({options.data.begin(), options.data.end()}, records_of(options),
                                                  knob_of(options), slots, {}, show_progress("reading the texts"));
  training.on_progress = show_progress("training the judge");
  const TrainedJudge trained = train_judge(texts, training);
  const std::string bytes = trained.judge.bytes();
  write_atomically(options.out, bytes);
  const Terminal terminal(stdout);
  const Knob& knob = trained.judge.knob();
  if (options.json) {
    Json object = as_json(knob, trained.quality);
    object["trained_on"] = trained.texts;
    object["bytes"] = bytes.size();
    object["fingerprint"] = trained.judge.fingerprint();
    terminal.print(object.dump() + '\n');
    return 0;
  }
  terminal.print(
      terminal.flowed_lines(printable(fmt::format("{}: {}, trained on {}; {}", options.out, to_string(knob),
                                                  counted(trained.texts, "text"), to_string(knob, trained.quality))) +
                            '\n'));
  return 0;
}

int check(const JudgeFlags& options) {
  const LinearJudge judge = LinearJudge::load(options.judge);
  const LabelledTexts texts = read_labelled_texts({options.data.begin(), options.data.end()}, records_of(options),
                                                  judge.knob(), judge.weights().slots);
  if (texts.size() == 0) {
    throw Error(
        fmt::format("{}: no text has a label of {}; name a file that has", options.data.front(), judge.knob().source));
  }
  const JudgeQuality quality = quality_of(judge, texts);
  const Terminal terminal(stdout);
  if (options.json) {
    Json object = as_json(judge.knob(), quality);
    object["fingerprint"] = judge.fingerprint();
    terminal.print(object.dump() + '\n');
    return 0;
  }
  terminal.print(terminal.flowed_lines(
      printable(fmt::format("{}: {}", to_string(judge.knob()), to_string(judge.knob(), quality))) + '\n'));
  return 0;
}

// A number a line for a text a line, as any judge program does.
int say(const JudgeFlags& options) {
  const LinearJudge judge = LinearJudge::load(options.judge);
  const Terminal terminal(stdout);
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::string> texts;
  const auto judge_them = [&] {
    const std::vector<double> values = judge.judge(texts);
    const std::size_t num_values = judge.knob().num_values();
    std::string lines;
    for (std::size_t i = 0; i < values.size(); ++i)
      lines += fmt::format("{}{}", values[i], (i + 1) % num_values == 0 ? '\n' : ' ');
    if (!lines.empty()) terminal.print(lines);
    texts.clear();
  };
  for (std::string line; std::getline(std::cin, line);) {
    texts.push_back(std::move(line));
    if (texts.size() == kAtOnce) judge_them();
  }
  judge_them();
  return 0;
}

}  // namespace

Command judge_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("judge", "Train and check judges, which say of texts what a label said");
  app->require_subcommand();
  const auto options = std::make_shared<JudgeFlags>();
  CommandLine* trains = app->add_subcommand("train", "Train a judge from labelled texts");
  CommandLine* checks = app->add_subcommand("check", "Measure how often a judge is right, and how sure it may be");
  CommandLine* says = app->add_subcommand("say", "Judge the lines of standard input: a number for each");
  for (CommandLine* command : {checks, says})
    command->add_option("JUDGE", options->judge, "A judge's file")->required();
  for (CommandLine* command : {trains, checks}) {
    command
        ->add_option("--data", options->data, "Labelled texts: tsv, csv or jsonl, also .gz or .zst; several files too")
        ->type_name("FILE")
        ->several()
        ->required();
  }
  trains
      ->add_option(
          "--label", options->label,
          "The column of the labels: yes and no, names of classes, or numbers, as `semfuse data describe` says")
      ->type_name("COLUMN")
      ->required();
  trains->add_option("--out", options->out, "The judge's file, made anew")->type_name("JUDGE")->required();
  trains->add_option("--seed", options->seed, "Decides the order of the texts (1)")->type_name("N");
  trains->add_option("--order", options->order, "Most words of an n-gram (3)")->type_name("N");
  trains->add_option("--bits", options->bits, "N-grams are told apart by so many bits (20)")->type_name("N");
  for (CommandLine* command : {trains, checks}) {
    options->table.add_to(*command);
    options->table.add_skip_bad(*command);
    command->add_flag("--json", options->json, "Print one JSON object");
  }
  trains->footer(
      "One text in ten, by a hash of the text, is not learned from: it decides how sure the judge may be, and measures "
      "it.\n\n"
      "Examples:\n"
      "  semfuse judge train --data reviews.tsv --label polarity --out polarity.safetensors\n"
      "  semfuse judge train --data reviews.tsv --label stars --out stars.safetensors\n");
  checks->footer(
      "Examples:\n"
      "  semfuse judge check polarity.safetensors --data more.tsv\n");
  says->footer(
      "Of a distribution a number for each label.\n\n"
      "Examples:\n"
      "  semfuse generate model --n 100 --knob polarity=1 | semfuse judge say polarity.safetensors\n");
  app->footer(
      "Examples:\n"
      "  semfuse judge train --data reviews.tsv --label polarity --out polarity.safetensors\n"
      "  semfuse judge check polarity.safetensors --data more.tsv\n");
  return {.app = app, .purpose = "this judge", .run = [options, trains, says] {
            return trains->parsed() ? train(*options) : says->parsed() ? say(*options) : check(*options);
          }};
}

}  // namespace semfuse
