// Everything that decides a training run, as one value that a TOML file, a preset or single keys describe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/feature_bank.h"
#include "semfuse/language_model.h"
#include "semfuse/trainer.h"

namespace semfuse {

// The synthetic corpus of an experiment. Its seed is the experiment's.
struct CorpusOptions {
  std::size_t train = 8000;                                    // Number of training sentences.
  std::size_t val = 1200;                                      // Number of validation sentences.
  double second_clause = 0.6;                                  // Probability of a second clause, in [0, 1].
  std::size_t max_length = 28;                                 // Most tokens of a sequence, <bos> and <eos> included.
  std::vector<std::string> held_out = paper_held_out_words();  // Words never drawn in training.
  bool random_held_out = false;          // Draw by the seed instead: three adjectives of each polarity.
  bool random_held_out_classes = false;  // Likewise a subject, a verb, an object, an adjective of each polarity.
};

// As constructed: the paper's fusion model.
struct Experiment {
  std::uint64_t seed = 111;  // Decides corpus, initial weights, order of sentences and dropout; below 2^63.
  CorpusOptions corpus;
  FeatureOptions features;
  ModelOptions model;
  TrainingOptions training;
};

// The corpus options with the experiment's seed and its held-out words, drawn if they are random.
SyntheticCorpusOptions synthetic_corpus_options(const Experiment& experiment);

// Names of the built-in experiments, sorted.
std::vector<std::string> preset_names();

// A built-in experiment. Throws Error that lists the presets if there is none of that name.
Experiment preset_experiment(std::string_view name);

// Reads TOML; keys that the text lacks keep the paper's value. Throws Error as "origin:line: what" for text that is not
// TOML, unknown keys (with the nearest known one), wrong types, numbers out of range and settings that do not fit
// together.
Experiment parse_experiment(std::string_view toml, std::string_view origin);
Experiment load_experiment(const std::filesystem::path& path);

// Sets one key from "model.width=256". The value is TOML; bare words and comma lists need no quotes or brackets
// (model.attention=causal, corpus.held_out=great,awful). Throws Error for an unknown key or a value that the key cannot
// take, and then leaves the experiment as it was. Whether keys fit together is left to validate().
void set_key(Experiment& experiment, std::string_view assignment);

// Throws Error that names the key if a value is out of its range or values do not fit together.
void validate(const Experiment& experiment);

// Every key with its value and a line on what it means; parse_experiment() gives the same experiment again. Held-out
// words are listed also when they are random.
std::string to_toml(const Experiment& experiment);

}  // namespace semfuse
