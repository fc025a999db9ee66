// Everything that decides a training run, as one value that a TOML file, a preset or single keys describe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/feature_bank.h"
#include "semfuse/language_model.h"
#include "semfuse/synthetic_corpus.h"
#include "semfuse/tokenizer.h"
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

// Where the texts of an experiment come from.
enum class DataKind {
  synthetic,  // The paper's corpus, drawn: CorpusOptions say how.
  files       // A person's own: DataOptions say which, TextOptions how they become tokens.
};

// What becomes of a text that is longer than a model reads.
enum class LongTexts {
  split,  // It becomes several, each of which goes on where the one before ends.
  cut     // Its beginning stays, the rest is left out.
};

std::string_view to_string(DataKind kind);
std::string_view to_string(LongTexts rule);

struct DataOptions {
  DataKind kind = DataKind::synthetic;
  // .txt (a text a line), .tsv, .csv, .jsonl, each also .gz or .zst.
  std::vector<std::string> train;
  std::vector<std::string> val;  // None: some of the training texts, chosen by a hash of the text.
  // "txt", "tsv", "csv" or "jsonl", for files whose names do not say; empty: by their names.
  std::string format;
  // The names of the columns, for tsv and csv that do not begin with a line of them.
  std::vector<std::string> heading;
  std::string text;                 // The column of the texts; empty: found by its name.
  std::vector<std::string> labels;  // Columns that `semfuse train` makes knobs of; none: all that can be one.
  // Texts with one of these words, in capitals or not, are neither trained on nor validated with: semfuse evaluate
  // measures with them what the model makes of words that it has never seen.
  std::vector<std::string> held_out;
  double val_share = 0.05;  // How many of the training texts validate instead, in [0, 1), if `val` names none.
  // How many of the training texts with a label of a column are kept apart, in [0, 1): judges of these labels are
  // trained on them, which calibrate the model's knobs. 0: none; a judge must then come from elsewhere.
  double judge_share = 0.0;
  // Most tokens of a sequence, <bos> and <eos> included: raise it for long texts, at a price in time and memory.
  std::size_t max_length = 128;
  LongTexts longer = LongTexts::split;
  bool skip_bad = false;    // Leave out rows at fault, and count them, instead of refusing the file.
  std::string fingerprint;  // Of files and options: a run keeps it here, and goes on with the same data only.
};

struct TextOptions {
  TokenizerKind tokenizer = TokenizerKind::words;
  std::size_t vocabulary = 8000;  // Most tokens of `words` and `pieces`.
  bool leading_blank = false;     // The first word of a text is the token that it is elsewhere.
};

// What is trained beside a frozen model, instead of a whole one.
struct AdapterOptions {
  // A model that `semfuse import` wrote (its folder or its file); empty: none, a whole model is trained. The keys of
  // model are then the backbone's, but for knobs, gate and feature_head.
  std::string backbone;
  // Of the low-rank updates of attention and feed-forward; 0: the request enters at the embedding alone. Raise it if a
  // knob does too little; each rank costs memory and time a token.
  std::size_t rank = 8;
};

// As constructed: the paper's fusion model.
struct Experiment {
  std::uint64_t seed = 111;  // Decides corpus, initial weights, order of sentences and dropout; below 2^63.
  CorpusOptions corpus;      // Of the synthetic kind,
  DataOptions data;          // and of files.
  TextOptions text;
  // What words mean: the name of a built-in lexicon, a TSV file, or "none". Set it to describe the corpus' words
  // otherwise. A run keeps a copy of the file.
  std::string lexicon = "synthetic";
  // Of FeatureSet::natural: which features there are, and what finds parts of speech. The name of a built-in one, a
  // file, or, of the tagger, "none". A run keeps copies of the files.
  std::string declaration = "english";
  std::string tagger = "english";
  // Dense vectors of words beside the readable features: "none", "data" (trained on the training texts) or a file of
  // other texts, a text a line. For words that are to be added later, or that training seldom shows. Of a tokenizer of
  // words only.
  std::string vectors = "none";
  std::size_t vector_width = 50;  // Numbers of such a vector.
  FeatureOptions features;
  // A model (a run folder or its file) whose weights training goes on from; empty: new ones. The keys of model and
  // features are then that model's.
  std::string init;
  AdapterOptions adapter;
  ModelOptions model;
  TrainingOptions training;
};

// The corpus options with the experiment's seed and its held-out words, drawn if they are random.
SyntheticCorpusOptions synthetic_corpus_options(const Experiment& experiment);

// Names of the built-in experiments, sorted.
std::vector<std::string> preset_names();

// A built-in experiment. Throws Error that lists the presets if there is none of that name.
Experiment preset_experiment(std::string_view name);

// Reads TOML; keys that the text lacks have the value of the preset that it begins with (`from = "causal-fusion"`), or
// the paper's. Throws Error as "origin:line: what" for text that is not
// TOML, unknown keys (with the nearest known one), wrong types, numbers out of range and settings that do not fit
// together.
Experiment parse_experiment(std::string_view toml, std::string_view origin);

// The same of a file. A lexicon, a declaration, a tagger, and files of data, with a relative name are beside that file.
Experiment load_experiment(const std::filesystem::path& path);

// Reads the lexicon that the experiment names. Throws Error.
Lexicon load_lexicon(const Experiment& experiment);

// The features that it describes, with that lexicon and, of natural text, declaration and tagger; without vectors,
// which take texts to be trained on: assemble() adds them. Throws Error.
FeatureBank make_feature_bank(const Experiment& experiment);

// Sets one key from "model.width=256". The value is TOML; bare words and comma lists need no quotes or brackets
// (model.attention=causal, corpus.held_out=great,awful). Throws Error for an unknown key or a value that the key cannot
// take, and then leaves the experiment as it was. Whether keys fit together is left to validate().
void set_key(Experiment& experiment, std::string_view assignment);

// Throws Error that names the key if a value is out of its range or values do not fit together.
void validate(const Experiment& experiment);

// Every key that matters with its value and a line on what it means; parse_experiment() gives the same experiment
// again. Held-out words are listed also when they are random.
std::string to_toml(const Experiment& experiment);

}  // namespace semfuse
