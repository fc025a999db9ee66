#include "losses/class_uniformity.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace semfuse {

std::vector<std::vector<TokenId>> adjective_classes(const Vocabulary& vocabulary, const Lexicon& lexicon) {
  std::vector<std::vector<TokenId>> classes;
  for (const int sign : {+1, -1}) {
    std::vector<TokenId> ids;
    for (const std::string& word : lexicon.words(WordClass::kAdjective, sign)) {
      if (const auto id = vocabulary.find(word)) ids.push_back(*id);
    }
    classes.push_back(std::move(ids));
  }
  return classes;
}

ClassUniformity::ClassUniformity(std::vector<std::vector<TokenId>> classes) : classes_(std::move(classes)) {
  for (auto& tokens : classes_) std::sort(tokens.begin(), tokens.end());
}

bool ClassUniformity::contains(std::size_t word_class, TokenId token) const {
  return std::binary_search(classes_[word_class].begin(), classes_[word_class].end(), token);
}

std::vector<double> ClassUniformity::position_weights(std::span<const TokenId> targets) const {
  std::vector<double> weights(classes_.size());
  double present = 0.0;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const auto count = std::count_if(targets.begin(), targets.end(), [&](TokenId token) { return contains(c, token); });
    weights[c] = count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
    present += count > 0 ? 1.0 : 0.0;
  }
  for (double& weight : weights) weight /= std::max(present, 1.0);
  return weights;
}

double ClassUniformity::evaluate(ConstMatrix logits, std::span<const TokenId> targets,
                                 std::span<const double> position_weights, double scale,
                                 std::vector<LogitGradient>& gradient) const {
  double total = 0.0;
  std::vector<double> log_p;
  for (std::size_t t = 0; t < logits.rows(); ++t) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!contains(c, targets[t])) continue;
      const auto logit = [&](TokenId token) { return static_cast<double>(logits(t, static_cast<std::size_t>(token))); };
      double largest = -INFINITY;
      for (const TokenId token : classes_[c]) largest = std::max(largest, logit(token));
      double sum = 0.0;
      for (const TokenId token : classes_[c]) sum += std::exp(logit(token) - largest);
      const double log_sum = largest + std::log(sum);
      // KL(p ‖ uniform) = Σ p ln p + ln |class|, and its gradient is p (ln p - Σ p ln p).
      double negative_entropy = 0.0;
      log_p.clear();
      for (const TokenId token : classes_[c]) {
        log_p.push_back(logit(token) - log_sum);
        negative_entropy += std::exp(log_p.back()) * log_p.back();
      }
      total += position_weights[c] * (negative_entropy + std::log(static_cast<double>(classes_[c].size())));
      for (std::size_t i = 0; i < classes_[c].size(); ++i) {
        const double slope = std::exp(log_p[i]) * (log_p[i] - negative_entropy);
        gradient.push_back({t, classes_[c][i], static_cast<float>(scale * position_weights[c] * slope)});
      }
    }
  }
  return total;
}

}  // namespace semfuse
