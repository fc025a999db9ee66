// The judge of a knob that a run has: trained on labelled texts that its model never saw.
#pragma once

#include <filesystem>
#include <optional>

#include "judge/judge_training.h"
#include "semfuse/experiment.h"

namespace semfuse {

// From the texts of the experiment's files that data.judge_share keeps apart. Throws Error if it keeps none, or files
// cannot be read or changed.
TrainedJudge train_run_judge(const Experiment& experiment, const Knob& knob);

// Why what the judge says should not decide what a setting means: it knows too little. Empty if it may.
std::string judge_doubts(const Knob& knob, const JudgeQuality& quality);

// Loads the judge of a run's folder that calibrates this knob. Nothing if there is none; throws Error if it is one of
// something else.
std::optional<LinearJudge> find_run_judge(const std::filesystem::path& folder, const Knob& knob);

// Whether a judge's numbers mean the knob's: kinds, labels and ranges agree. Throws Error that names the file if not.
void require_judge_of(const Knob& knob, const LinearJudge& judge, const std::string& origin);

}  // namespace semfuse
