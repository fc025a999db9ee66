// The value head: what the next token would make of a label's probability tilts the model's distribution.
#pragma once

#include <functional>
#include <span>

#include "core/workspace.h"
#include "generation/logit_source.h"
#include "generation/prefix_classifier.h"
#include "kernels/matmul.h"
#include "semfuse/steering.h"

namespace semfuse {

// The head with one model's output rows, ready to read hidden states: z(v) = (M u + a)·(R row_v) + c·u + b_v + t with u
// = relu(B h + b) and t what words, pairs and triples of the text so far say, which the state, made to say what comes
// next, forgets. R row_v is computed once, so a token costs little beside a pass of the model.
class ValueReader {
 public:
  // Throws Error if the head's sizes are not those of the rows [vocab_size, width].
  ValueReader(const SteeringHead& head, ConstMatrix output_rows);

  // z [vocab_size] after these tokens, the first of which is <bos>, with the hidden state [width] of the last.
  void read(std::span<const TokenId> tokens, std::span<const float> hidden, std::span<float> z) const;

 private:
  std::size_t inner_;
  std::size_t rank_;
  std::size_t vocab_size_;
  AlignedFloats inner_map_, map_, rows_;  // Packed.
  std::vector<float> inner_bias_, map_bias_, prefix_, token_bias_;
  PrefixClassifier so_far_;
};

// The log-odds z of a label for each token, from <eos> on, tilt the logits of these tokens: times the share in which
// texts of this `target` have the label, s·x/π + (1-s)·(1-x)/(1-π) with s = σ(z), to the power `strength`. <eos> keeps
// its probability. Tokens that mostly come last (`ends`, their places in `logits`) get no more than they had
// together: a text that ends runs no more risk, which is no reason to end it. Where the text is not yet surely what is
// wanted and going on may make it so, they fall by eight times the strength more: a word can be made good while the
// text goes on, its end cannot. So does <eos> then, if there are such tokens: a prompt may be a whole text of the
// opposite kind.
void tilt_by_value(std::span<float> logits, std::span<const float> z, double target, double share, double strength,
                   std::span<const std::size_t> ends = {});

// Which tokens these are by the head, counted from <eos> on; none if it does not say. Throws Error if it is of another
// size.
std::vector<std::size_t> ends_of(const SteeringHead& head, std::size_t vocab_size);

// A text whose logits tilt by log-odds that are read off each step.
class TiltedText : public TextState {
 public:
  // Writes the log-odds of each token of the vocabulary that may follow the tokens; `hidden` is the model's state.
  using LogOdds =
      std::function<void(std::span<const TokenId> tokens, std::span<const float> hidden, std::span<float> z)>;

  // `ends` must outlive it; the rest is as in tilt_by_value().
  TiltedText(LogOdds log_odds, std::span<const std::size_t> ends, double target, double share, double strength)
      : log_odds_(std::move(log_odds)), ends_(ends), target_(target), share_(share), strength_(strength) {}

  void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override;
  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override;

 private:
  LogOdds log_odds_;
  std::span<const std::size_t> ends_;
  double target_;
  double share_;
  double strength_;
  std::vector<float> z_;
};

class ValueSource : public LogitSource {
 public:
  // For `model`, whose output rows it reads. Throws Error if the head is damaged.
  ValueSource(const LanguageModel& model, const SteeringHead& head, double target, double strength);
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  ValueReader reader_;
  std::vector<std::size_t> ends_;
  double target_;
  double share_;
  double strength_;
};

}  // namespace semfuse
