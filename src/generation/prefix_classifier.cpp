#include "generation/prefix_classifier.h"

#include "core/random.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

TokenId token_before(std::span<const TokenId> tokens, std::size_t end, std::size_t back) {
  return end >= back ? tokens[end - back] : Vocabulary::kPad;
}

}  // namespace

PrefixTerms prefix_terms(TokenId second_last, TokenId last, TokenId token) {
  const auto bits = [](TokenId id) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(id)); };
  const std::uint64_t pair = mix_bits((bits(last) << 32 | bits(token)) + 1);
  const std::uint64_t triple = mix_bits(pair ^ mix_bits(bits(second_last) + 1));
  return {.word = static_cast<std::size_t>(token), .pair = pair % kPrefixWeights, .triple = triple % kPrefixWeights};
}

PrefixClassifier::PrefixClassifier(const SteeringHead& head, std::size_t vocab_size)
    : words_(head.tensor("words").values), others_(head.tensor("others").values) {
  const std::vector<float>& bias = head.tensor("bias").values;
  if (words_.size() != vocab_size || others_.size() != kPrefixWeights || bias.size() != 1) {
    throw Error("the head was trained for a model of another size; train one for this model");
  }
  bias_ = bias.front();
}

double PrefixClassifier::term(TokenId second_last, TokenId last, TokenId token) const {
  const PrefixTerms terms = prefix_terms(second_last, last, token);
  return static_cast<double>(words_[terms.word]) + others_[terms.pair] + others_[terms.triple];
}

double PrefixClassifier::log_odds(std::span<const TokenId> tokens, SoFar* so_far) const {
  SoFar known = so_far != nullptr && so_far->num_tokens > 0 ? *so_far : SoFar{.num_tokens = 1, .sum = bias_};
  for (std::size_t i = known.num_tokens; i < tokens.size(); ++i) {
    known.sum += term(token_before(tokens, i, 2), tokens[i - 1], tokens[i]);
  }
  known.num_tokens = tokens.size();
  if (so_far != nullptr) *so_far = known;
  return known.sum;
}

void PrefixClassifier::read(std::span<const TokenId> tokens, std::span<const TokenId> next, std::span<float> z) const {
  const double before = log_odds(tokens);
  const TokenId second_last = token_before(tokens, tokens.size(), 2);
  for (std::size_t i = 0; i < next.size(); ++i) {
    z[i] = static_cast<float>(before + term(second_last, tokens.back(), next[i]));
  }
}

}  // namespace semfuse
