// The paper's two models trained over seeds and measured as the paper does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/run_metrics.h"
#include "study/study_folder.h"
#include "study/trained_model.h"

namespace semfuse {

struct PaperRun {
  std::string model;  // "baseline" or "fusion"
  Experiment experiment;

  std::string name() const;   // Of its folder: "fusion-111".
  std::string title() const;  // "fusion, seed 111"
};

// What an earlier call measured of the run. Throws Error if it was another experiment or the file is damaged.
std::optional<RunMetrics> finished_run(const StudyFolder& folder, const PaperRun& run);

// Trains, measures and keeps model and metrics in the folder; nothing if go_on said no.
std::optional<RunMetrics> train_and_measure(const StudyFolder& folder, const PaperRun& run, std::size_t threads,
                                            const GoOn& go_on);

struct Reproduction {
  std::vector<RunMetrics> baseline;  // One a seed, in the order of the seeds.
  std::vector<RunMetrics> fusion;    // The same seeds.
  bool paper_held_out = true;        // Otherwise held-out words were drawn by the seed.
  double entropy_floor_ppl = 0.0;    // In expectation no model that reads only the past is below it.
  double seconds = 0.0;              // That training and measuring took.
};

}  // namespace semfuse
