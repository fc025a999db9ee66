#include "generation/prompt_scores.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

TokenScore score_of(std::span<const float> logits, TokenId id, std::size_t top) {
  std::vector<double> possible(logits.begin(), logits.end());
  possible[Vocabulary::kPad] = possible[Vocabulary::kBos] = -INFINITY;
  double largest = -INFINITY;
  for (const double logit : possible) largest = std::max(largest, logit);
  double sum = 0.0;
  for (const double logit : possible) sum += std::exp(logit - largest);
  TokenScore score{.log_probability = possible[static_cast<std::size_t>(id)] - largest - std::log(sum), .top = {}};
  if (top == 0) return score;
  for (const TokenProbability& each : sampling_distribution(possible, {.top_k = top})) {
    score.top.push_back({each.id, std::exp(possible[static_cast<std::size_t>(each.id)] - largest) / sum});
  }
  return score;
}

}  // namespace

PromptScores::PromptScores(const LanguageModel& model)
    : model_(model), read_model_(model), worker_(read_model_, /*prefix_bytes=*/0) {}

std::vector<TokenScore> PromptScores::of(std::span<const TokenId> ids, const std::vector<float>& request,
                                         std::size_t top) {
  std::vector<TokenId> tokens = {Vocabulary::kBos};
  for (const TokenId id : ids) {
    if (id <= Vocabulary::kBos || static_cast<std::size_t>(id) >= model_.vocabulary().size()) {
      throw Error(fmt::format("prompt: token {} is {}; ids of text are {} to {}", tokens.size(), id,
                              Vocabulary::kEos + 1, model_.vocabulary().size() - 1));
    }
    tokens.push_back(id);
  }
  const bool looks_ahead = model_.options().attention != AttentionMask::causal ||
                           (model_.options().fusion && ModelAccess::features(model_).looks_ahead());
  const std::lock_guard lock(mutex_);
  std::vector<TokenScore> scores;
  // Where what follows changes what is said before it, each beginning is a text of its own.
  for (std::size_t length = looks_ahead ? 1 : ids.size(); length <= ids.size() && !ids.empty(); ++length) {
    const std::span<const TokenId> text = std::span<const TokenId>(tokens).first(length);
    TextReader reader(model_, worker_.streams);
    reader.begin(text);
    TokenStream& stream = reader.read(request, 1);
    stream.num_guesses = looks_ahead ? 0 : length - 1;
    std::array<TokenStream*, 1> streams = {&stream};
    const Matrix logits = worker_.pass.run(streams);
    for (std::size_t row = 0; row < logits.rows(); ++row) {
      scores.push_back(score_of({logits.row(row), logits.cols()}, tokens[length - logits.rows() + row + 1], top));
    }
  }
  return scores;
}

}  // namespace semfuse
