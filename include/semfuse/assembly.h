// What an experiment describes, put together: its sentences, a new model, and how the model is trained and measured.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "semfuse/evaluation.h"
#include "semfuse/experiment.h"

namespace semfuse {

// The texts of an experiment: sentences of the synthetic corpus, or datasets that were made of files.
struct ExperimentData {
  Corpus corpus;                         // Empty if they are of files,
  std::shared_ptr<const Dataset> train;  // null if they are not.
  std::shared_ptr<const Dataset> val;
  std::shared_ptr<const Dataset> held_out;  // Of files: texts with held-out words; null if there are none.
  std::string fingerprint;                  // Of files: other ones have another one.
  std::vector<std::string> notes;           // Of files: what a person should know of them, a line each.

  std::size_t num_train() const { return train ? train->size() : corpus.train.size(); }
};

struct Assembly {
  ExperimentData data;
  LanguageModel model;  // With the initial weights of the experiment's seed.
  TrainingOptions training;
  TrainerOptions trainer_options;
  EvaluationOptions evaluation;  // How validation texts are measured.

  // Trains `model` from its first step. The assembly must outlive the trainer and not be moved.
  Trainer new_trainer();
  // Measures `model` on the validation texts.
  Evaluation evaluate() const;
};

// How long preparing takes is known only while it goes on: from 0 to 1. False stops it with an Error.
using DataProgress = std::function<bool(double done)>;

// `threads` work in training and evaluation (0: one for each processor); the results are the same for any number. Files
// are prepared once and found again (docs/file_formats.md says where).
// With `init` the model has its weights, tokenizer and features; the experiment's options must be that model's. Throws
// Error if values of the experiment are out of range or do not fit together, or files cannot be read.
Assembly assemble(const Experiment& experiment, std::size_t threads = 0, const DataProgress& on_progress = {},
                  const LanguageModel* init = nullptr);

// The validation texts of an experiment as `model`, which it trained, reads them; of the synthetic corpus
// `data.corpus.val`, of files `data.val`. Without training files only the validation files are
// read. Throws Error like assemble().
ExperimentData validation_data(const Experiment& experiment, const LanguageModel& model, std::size_t threads = 0,
                               const DataProgress& on_progress = {});

// All texts of training files as `model` reads them, as `train`, with what they show of one knob, which need not be the
// model's; of `data` the files and how they are read. Throws Error like assemble().
ExperimentData labelled_data(const DataOptions& data, const LanguageModel& model, const Knob& knob,
                             std::size_t threads = 0, const DataProgress& on_progress = {});

}  // namespace semfuse
