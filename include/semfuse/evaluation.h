// Measures a language model on sentences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "semfuse/dataset.h"
#include "semfuse/language_model.h"

namespace semfuse {

struct EvaluationOptions {
  std::vector<std::string> held_out;  // Words whose positions the seen-only perplexity leaves out.
  bool count_end = true;  // Whether <eos> is read too, at a position that predicts <pad>, as in the authors' code.
  std::size_t max_length = 28;  // Most tokens of a sentence, <bos> and <eos> included; longer ones are refused.
  std::size_t threads = 0;      // 0: one for each processor.
  std::function<void(double done)> on_progress = {};  // Told how much is read, from 0 to 1.
};

struct Evaluation {
  AttentionMask attention = AttentionMask::causal;  // A perplexity means nothing without it.
  std::size_t num_positions = 0;
  double perplexity = 0.0;  // exp of the mean cross-entropy, without label smoothing.
  // All of the cross-entropy, in bits, by the bytes of the text and one for the end of each: what models of different
  // tokenizers can be compared by. NaN if the bytes are not known.
  double bits_per_byte = 0.0;
  double seen_only_perplexity = 0.0;  // The same over positions whose target is not held out; NaN if there is none.
  double feature_mse = 0.0;           // Of the features read back; NaN without fusion.

  // Mean cross-entropy, in nats, where the next word is a held-out one, and where the word just read is; NaN if there
  // is no such position.
  double held_out_cross_entropy = 0.0;
  double after_held_out_cross_entropy = 0.0;

  std::vector<double> sentence_nats;  // Cross-entropy of each sentence, summed over its positions.
};

// The result is the same for any number of threads. Throws Error for an unknown or held-out word that the vocabulary
// lacks, and for an empty list of sentences.
Evaluation evaluate(const LanguageModel& model, std::span<const Sentence> sentences,
                    const EvaluationOptions& options = {});

// The same for texts that are encoded already: by the model's vocabulary and for its features. A piece of a longer text
// is read behind the end of the piece before, half as long at least. Of the options, max_length does not matter.
Evaluation evaluate(const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options = {});

// Some words of texts, each wherever it is next.
struct WordGroup {
  std::size_t num_words = 0;      // Entries of the vocabulary.
  std::size_t num_positions = 0;  // How often they are met.
  double cross_entropy = 0.0;     // Mean in nats; NaN if they are never met.
  // What it would be if a word's probability were its share of all tokens, training texts and these: what a model has
  // to be better than.
  double unigram = 0.0;
};

struct HeldOutEvaluation {
  std::size_t num_texts = 0;
  WordGroup held_out;
  WordGroup matched;  // For each held-out entry four that training showed about as often as these texts have it.
  WordGroup others;   // All other words that training showed.
  WordGroup after;    // Whatever follows a held-out word; without `unigram`.
};

// Measures a model with a tokenizer of words on the texts that `words` kept out of its training. Words that are no
// tokens of it do not count. The result is the same for any number of threads.
HeldOutEvaluation evaluate_held_out(const LanguageModel& model, const Dataset& texts, const Dataset& train,
                                    const std::vector<std::string>& words, const EvaluationOptions& options = {});

// Whether anything at a position changes when only later text does.
struct Audit {
  AttentionMask attention = AttentionMask::causal;
  std::size_t num_sentences = 0;
  std::size_t num_changes = 0;    // Sentences with other text after some position that were tried.
  double max_logit_change = 0.0;  // The largest change of any logit up to that position; exactly 0 without look-ahead.
  // Features of the model's bank whose value at a position changed with later text, in the bank's order. Empty without
  // fusion, which reads none.
  std::vector<std::string> features_looking_ahead;
};

// Replaces, behind every position of every sentence, all later words and then all later feature rows, and compares what
// the model says up to the position bit by bit. The same seed tries the same changes. Throws Error as evaluate() does.
// `on_progress` is told how much is done, from 0 to 1.
Audit audit(const LanguageModel& model, std::span<const Sentence> sentences, std::uint64_t seed = 1,
            std::size_t threads = 0, const std::function<void(double done)>& on_progress = {});

}  // namespace semfuse
