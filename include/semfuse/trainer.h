// Trains a language model: AdamW, warmup and cosine, label smoothing, the feature and the uniformity loss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "semfuse/dataset.h"
#include "semfuse/language_model.h"

namespace semfuse {

class Exchange;

// What moves the weights: AdamW, or Muon for the matrices of the layers and AdamW for the rest. Muon learns more in the
// same number of steps, and a step takes longer.
enum class OptimizerKind { adamw, muon };

std::string_view to_string(OptimizerKind optimizer);

struct TrainingOptions {
  std::size_t epochs = 6;   // Passes over the training sentences.
  std::uint64_t steps = 0;  // Steps in all, whatever the epochs, which may end amid one; 0: as many as the epochs have.
  std::size_t batch = 64;   // Sentences a step.
  // Tokens of the runs of sentences, called leaves, whose gradients are computed by themselves and then added as a
  // binary tree. Set it if several processes are to share a batch, to a quarter of a batch's tokens for four of them:
  // each needs a leaf or more. The bits of a model depend on it, and not on the number of processes. 0: a leaf is as
  // large as is good for one process, about 1,500 tokens.
  std::size_t grain = 0;
  OptimizerKind optimizer = OptimizerKind::adamw;
  double learning_rate = 3e-4;  // The highest rate, reached at the end of the warmup.
  double warmup = 0.1;  // Share of all steps in which the rate rises linearly from 0; then a cosine down to final_rate.
  double final_rate = 0.0;        // Share of the highest rate that the cosine ends at, in [0, 1].
  double weight_decay = 0.01;     // AdamW's decay, on every parameter.
  double beta1 = 0.9;             // AdamW's first moment.
  double beta2 = 0.999;           // AdamW's second moment.
  double epsilon = 1e-8;          // AdamW's epsilon.
  double clip_norm = 1.0;         // Largest norm of the whole gradient.
  double label_smoothing = 0.02;  // Share of a target spread over the whole vocabulary, in [0, 1).
  double feature_loss = 0.5;      // Weight of the loss that reads features back.
  double uniformity_loss = 0.01;  // Weight of the loss that spreads each adjective class evenly.
  double class_loss = 0.0;        // Weight of the loss in which features alone predict the next word's class.
  // Share of the words that each step takes the identity from, as input and as output, so that the model learns to read
  // words by their features; in [0, 1). Special entries keep theirs.
  double identity_dropout = 0.0;
  // Share of these words whose polarity the step draws anew, between 0 and their own, so that the model learns to read
  // and use polarities that no training word has; in [0, 1]. Raise it if words are to be added by description; it
  // needs an identity_dropout above 0.
  double polarity_jitter = 0.0;
  double knob_share = 0.5;  // Probability that a training sentence states a knob of the model, each knob by itself.
  double knob_noise =
      0.05;  // Standard deviation of a stated scalar around the sentence's own, as a share of its range.
  // Share of the stated probabilities and distributions that say no more than the sentence's labels, in [0, 1]: 1, 0,
  // or one label alone. Raise it if the ends of a knob are what people ask for; what is between them is shown less
  // often.
  double knob_ends = 0.0;
  // assemble() gives the texts of files soft labels (Dataset::soft_label), which training then draws labels of columns
  // from. On where labels of whole texts are noisy.
  bool soft_labels = false;
  bool count_end = true;  // Whether <eos> is read too, at a position that predicts <pad>, as in the authors' code.
};

// How a run goes about its work; neither threads nor max_length nor the number of processes change the result.
struct TrainerOptions {
  std::uint64_t seed = 1;        // Decides the order of sentences and dropout.
  std::size_t threads = 0;       // 0: one for each processor.
  std::size_t max_length = 28;   // Most tokens of a sentence, <bos> and <eos> included; longer ones are refused.
  std::size_t max_skipped = 10;  // Steps in a row that are left out if their loss or gradient is not finite.
  // Of processes that train the same model on the same texts, each with a trainer: they share each batch. Null: this
  // process does all of it.
  std::shared_ptr<Exchange> exchange;
};

// What one step did.
struct StepReport {
  std::uint64_t step = 0;      // From 1.
  std::size_t epoch = 0;       // From 1.
  bool ends_epoch = false;     // Or the training, if that ends amid one.
  bool skipped = false;        // The loss or the gradient is not finite, so the weights stayed as they were.
  double loss = 0.0;           // loss_tokens + weights · the others
  double loss_tokens = 0.0;    // Label-smoothed cross-entropy.
  double loss_features = 0.0;  // 0 without fusion.
  double loss_uniformity = 0.0;
  double loss_classes = 0.0;   // 0 without fusion and without class_loss.
  double gradient_norm = 0.0;  // Before clipping.
  double learning_rate = 0.0;
  std::size_t num_tokens = 0;  // Real tokens of the batch: there is no padding.
  double flops = 0.0;  // Of the step's matrix products, 2mnk each, backward counted as twice forward; of a process'
                       // own part of the batch.
  std::size_t num_leaves = 1;  // That processes could share.
};

// What a trainer needs besides the model's weights to go on as if it had never stopped. Random numbers are functions of
// the seed and the step, so there is no other random state.
struct TrainingState {
  std::uint64_t step = 0;                     // Steps done, skipped ones included.
  std::uint64_t skipped = 0;                  // Of these, how many were skipped ...
  std::uint64_t skipped_in_a_row = 0;         // ... and how many since the last that was not.
  std::vector<NamedParameter> first_moments;  // AdamW's, in the order of the model's parameters.
  std::vector<NamedParameter> second_moments;
};

// Trains a model step by step. The same seed gives the same weights, bit by bit, for any number of threads, and of
// processes.
class Trainer {
 public:
  // `model` must outlive the trainer. If its vocabulary is open, words that no sentence shows lose their identity.
  // Throws Error if there is no sentence, a sentence has an unknown word or is too long, or an option is out of its
  // range.
  Trainer(LanguageModel& model, std::span<const Sentence> sentences, const TrainingOptions& training,
          const TrainerOptions& options = {});
  // The same on texts that are encoded already: by the model's vocabulary and for its features and knobs.
  Trainer(LanguageModel& model, std::shared_ptr<const Dataset> dataset, const TrainingOptions& training,
          const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  ~Trainer();

  std::uint64_t total_steps() const;
  std::size_t total_epochs() const;  // The last may not be whole.
  bool done() const;

  // Runs the next step. If its loss or gradient is not finite, it is skipped and changes no weight; after max_skipped
  // in a row, step() throws Error that names the step, and the weights are those before it.
  StepReport step();

  // The moments are views that the next step changes.
  TrainingState state() const;

  // Goes on from a state. The model must have the weights that it had at the time. Throws Error, and then changes
  // nothing, if the state is not one of this training.
  void restore(const TrainingState& state);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
