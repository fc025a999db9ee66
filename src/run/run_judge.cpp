#include "run/run_judge.h"

#include <fmt/format.h>

#include "config/data_tables.h"
#include "data/text_hash.h"
#include "run/run_files.h"
#include "semfuse/error.h"

namespace semfuse {

TrainedJudge train_run_judge(const Experiment& experiment, const Knob& knob) {
  const DataOptions& data = experiment.data;
  if (data.kind != DataKind::files || data.judge_share == 0.0) {
    throw Error(fmt::format(
        "knob {}: no texts were kept apart for a judge (data.judge_share is 0); name one with --judge", knob.name));
  }
  const auto takes = [&](std::string_view text) {
    return is_judge_text(text, data.judge_share) && !(data.val.empty() && is_validation_text(text, data.val_share));
  };
  const LabelledTexts texts = read_labelled_texts(
      {data.train.begin(), data.train.end()},
      {.text_column = data.text, .columns = {}, .skip_bad = data.skip_bad, .table = table_options(data)}, knob, {},
      takes);
  return train_judge(texts, {.seed = experiment.seed});
}

std::string judge_doubts(const Knob& knob, const JudgeQuality& quality) {
  constexpr double kLeastGain = 0.5;  // Of the errors that always saying the same would make.
  constexpr double kLeastCorrelation = 0.5;
  const bool is_good = knob.kind == KnobKind::scalar
                           ? quality.correlation >= kLeastCorrelation
                           : 1.0 - quality.accuracy <= (1.0 - kLeastGain) * (1.0 - quality.majority);
  return is_good ? "" : fmt::format("a judge of its labels learned too little ({})", to_string(knob, quality));
}

void require_judge_of(const Knob& knob, const LinearJudge& judge, const std::string& origin) {
  const Knob& judged = judge.knob();
  if (judged.kind == knob.kind && judged.labels == knob.labels && judged.low == knob.low && judged.high == knob.high)
    return;
  throw Error(fmt::format("{}: judges \"{}\", and the knob is \"{}\"; train one with `semfuse judge train`", origin,
                          to_string(judged), to_string(knob)));
}

std::optional<LinearJudge> find_run_judge(const std::filesystem::path& folder, const Knob& knob) {
  const std::filesystem::path file = RunFiles{folder}.judge(knob.name);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  LinearJudge judge = LinearJudge::load(file);
  require_judge_of(knob, judge, file.string());
  return judge;
}

}  // namespace semfuse
