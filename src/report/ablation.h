// What each part of the semfuse model is worth: variants trained over seeds, measured beside the entropy floor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "semfuse/evaluation.h"
#include "semfuse/experiment.h"

namespace semfuse {

struct AblationVariant {
  std::string name;       // "without_gate"
  std::string title;      // "without the gate"
  std::string preset;     // What it begins from,
  std::string settings;   // and what it changes there: "model.gate=false"; empty: nothing.
  Experiment experiment;  // Both, as one value; the seed is set by each run.
};

// The semfuse model, the two causal models of the paper, and the semfuse model with each part removed in turn.
// `settings` ("training.epochs=2") change every variant. Throws Error as set_key() and validate() do.
std::vector<AblationVariant> ablation_variants(const std::vector<std::string>& settings = {});

struct AblationRun {
  std::uint64_t seed = 0;
  Evaluation evaluation;
  EntropyFloor floor;
};

// Trains on one seed and measures on that seed's validation sentences, over positions with a target. Asks `go_on`
// before each step; nothing if it said no.
std::optional<AblationRun> run_ablation(const AblationVariant& variant, std::uint64_t seed, std::size_t threads,
                                        const std::function<bool()>& go_on);

// The mean of some runs with its 95 % interval (Student's t); the half width is NaN for fewer than two runs.
struct MeanInterval {
  double mean = 0.0;
  double half_width = 0.0;
};
MeanInterval mean_interval(const std::vector<double>& values);

struct AblationRow {
  AblationVariant variant;
  std::vector<AblationRun> runs;

  MeanInterval over_floor() const;  // Of perplexity / floor.
  MeanInterval perplexity() const;
  MeanInterval seen_only() const;
  MeanInterval held_out() const;        // Cross-entropy of a held-out word.
  MeanInterval after_held_out() const;  // Cross-entropy after one.
};

std::string ablation_table(const std::vector<AblationRow>& rows);  // Markdown.
std::string ablation_json(const std::vector<AblationRow>& rows);
std::string ablation_svg(const std::vector<AblationRow>& rows);

}  // namespace semfuse
