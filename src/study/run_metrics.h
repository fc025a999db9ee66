// Everything that the paper reports of one trained model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/focus_words.h"
#include "io/json_writer.h"
#include "paper/control_counts.h"
#include "semfuse/evaluation.h"
#include "semfuse/experiment.h"
#include "semfuse/language_model.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {

// Sentences of a fusion model under the paper's controls.
struct ControlMetrics {
  ControlCounts hard_positive;  // pos_high and str_high: a positive adjective and "!"
  ControlCounts hard_negative;  // neg_high, str_med and is_question: a negative adjective and "?"
  // Intended polarity against realised, and how often the adjective was a held-out one; with the paper's nucleus and
  // with the usual one.
  ControlCounts positive;
  ControlCounts negative;
  ControlCounts positive_usual_nucleus;
  ControlCounts negative_usual_nucleus;
};

struct SampleSet {
  std::string setting;  // A generation preset.
  std::string prompt;
  std::vector<std::string> texts;
};

// The entropy floor on the sentences that a perplexity is measured on.
struct SampleFloor {
  double ppl = 0.0;
  FloorRatio over;  // Of the model's perplexity over it.
};

struct RunMetrics {
  std::uint64_t seed = 0;
  std::string attention;
  std::vector<std::string> held_out;
  double ppl = 0.0;
  double seen_only_ppl = 0.0;        // NaN where no position is eligible.
  double feature_mse = 0.0;          // NaN without fusion.
  std::vector<double> ppl_by_epoch;  // Empty if the training was not watched.
  std::size_t parameters = 0;
  double step_ms = 0.0;   // Of training; 0 if it was not watched.
  double token_us = 0.0;  // Of generation; NaN if the model's words cannot complete the paper's grammar.
  double seconds = 0.0;   // That training and measuring took; 0 if it was not watched.
  std::vector<WordCrossEntropy> focus;
  std::optional<ControlMetrics> controls;           // Of a fusion model whose words can complete the paper's grammar.
  std::vector<SampleSet> samples;                   // Likewise of any model.
  std::optional<SampleFloor> floor = std::nullopt;  // Of what reproduce() measures; older files have none.
};

// Measures a model on the experiment's validation sentences, and what it generates: 200 sentences for each setting. Any
// model will do. Throws Error like evaluate().
RunMetrics measure_run(const LanguageModel& model, const Experiment& experiment, std::size_t threads);

// The same with the validation sentences and what evaluate() says of them at hand.
RunMetrics measure_run(const LanguageModel& model, const Experiment& experiment, std::span<const Sentence> sentences,
                       const Evaluation& evaluation, std::size_t threads);

// Adds what a model has besides its perplexity to a JSON object: "parameters", "focus", "controls", "samples".
void add_model_metrics(Json& json, const RunMetrics& metrics);

// The metrics as JSON text; numbers that are not finite are null. parse_run_metrics() gives the same metrics again and
// throws Error if the text is something else.
std::string to_json(const RunMetrics& metrics);
RunMetrics parse_run_metrics(std::string_view json, std::string_view origin);

}  // namespace semfuse
