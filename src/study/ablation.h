// What each part of the semfuse model is worth: variants trained over seeds, measured beside the entropy floor.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/statistics.h"
#include "semfuse/evaluation.h"
#include "semfuse/experiment.h"
#include "study/trained_model.h"

namespace semfuse {

struct AblationVariant {
  std::string name;       // "without_gate"
  std::string title;      // "without the gate"
  std::string preset;     // What it begins from,
  std::string settings;   // and what it changes there: "model.gate=false"; empty: nothing.
  Experiment experiment;  // Both, as one value; the seed is set by each run.

  Experiment on_seed(std::uint64_t seed) const;
  std::string run_name(std::uint64_t seed) const;  // Of its folder: "without_gate-3".
};

// The semfuse model, the two causal models of the paper, and the semfuse model with each part removed in turn.
// `settings` ("training.epochs=2") change every variant. Throws Error as set_key() and validate() do.
std::vector<AblationVariant> ablation_variants(const std::vector<std::string>& settings = {});

struct AblationRun {
  std::uint64_t seed = 0;
  Evaluation evaluation;
  EntropyFloor floor;  // On the same sentences.
  // The 95 % interval over sentences of perplexity / floor; NaN in files that are older than it.
  double over_floor_low = std::numeric_limits<double>::quiet_NaN();
  double over_floor_high = std::numeric_limits<double>::quiet_NaN();

  double over_floor() const { return evaluation.perplexity / floor.perplexity; }
};

// Trains on one seed and measures on that seed's validation sentences, over positions with a target; nothing if go_on
// said no.
std::optional<AblationRun> run_ablation(const AblationVariant& variant, std::uint64_t seed, std::size_t threads,
                                        const GoOn& go_on);

// What a finished run is kept as. parse_ablation_run() gives the same run again and throws Error if the text is
// something else. NaN is null.
std::string to_json(const AblationRun& run);
AblationRun parse_ablation_run(std::string_view json, std::string_view origin);

struct AblationRow {
  AblationVariant variant;
  std::vector<AblationRun> runs;

  // Over the runs:
  Estimate over_floor() const;  // Of perplexity / floor; of a single run the interval is over its sentences.
  Estimate perplexity() const;
  Estimate seen_only() const;
  Estimate held_out() const;        // Cross-entropy of a held-out word.
  Estimate after_held_out() const;  // Cross-entropy after one.
};

}  // namespace semfuse
