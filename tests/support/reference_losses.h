// The losses of the plain twin, and the sum of them that training descends.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "support/reference_model.h"
#include "training/training_step.h"

namespace semfuse::reference {

// ln Σ exp over the given columns of a row.
template <class T, class Columns>
T log_sum_exp(const Table<T>& logits, std::size_t row, const Columns& columns) {
  double largest = -INFINITY;
  for (const auto c : columns) largest = std::max(largest, real_of(logits(row, static_cast<std::size_t>(c))));
  T sum = 0.0;
  for (const auto c : columns) sum += std::exp(logits(row, static_cast<std::size_t>(c)) - largest);
  return largest + std::log(sum);
}

// Mean over the rows of the cross-entropy against the smoothed target.
template <class T>
T token_cross_entropy(const Table<T>& logits, std::span<const TokenId> targets, double smoothing) {
  std::vector<std::size_t> all(logits.cols);
  for (std::size_t v = 0; v < all.size(); ++v) all[v] = v;
  T total = 0.0;
  for (std::size_t t = 0; t < logits.rows; ++t) {
    const T log_sum = log_sum_exp(logits, t, all);
    for (std::size_t v = 0; v < logits.cols; ++v) {
      const double share = smoothing / static_cast<double>(logits.cols);
      const double wanted = (static_cast<std::size_t>(targets[t]) == v ? 1.0 - smoothing : 0.0) + share;
      total -= wanted * (logits(t, v) - log_sum);
    }
  }
  return total / static_cast<double>(logits.rows);
}

// Mean over the rows of the mean over the features of -t ln σ(z) - (1 - t) ln(1 - σ(z)).
template <class T>
T feature_reconstruction(const Table<T>& logits, ConstMatrix features) {
  T total = 0.0;
  for (std::size_t t = 0; t < logits.rows; ++t) {
    for (std::size_t f = 0; f < logits.cols; ++f) {
      const auto target = static_cast<double>(features(t, f));
      const T p = sigmoid(logits(t, f));
      total -= target * std::log(p) + (1.0 - target) * std::log(1.0 - p);
    }
  }
  return total / static_cast<double>(logits.rows * logits.cols);
}

// For each class the mean over its positions of KL(softmax over the class ‖ uniform), then the mean over the classes
// present.
template <class T>
T class_uniformity(const Table<T>& logits, std::span<const TokenId> targets,
                   const std::vector<std::vector<TokenId>>& classes) {
  T total = 0.0;
  double present = 0.0;
  for (const std::vector<TokenId>& members : classes) {
    T sum = 0.0;
    double positions = 0.0;
    for (std::size_t t = 0; t < logits.rows; ++t) {
      if (std::find(members.begin(), members.end(), targets[t]) == members.end()) continue;
      positions += 1.0;
      const T log_sum = log_sum_exp(logits, t, members);
      for (const TokenId token : members) {
        const T log_p = logits(t, static_cast<std::size_t>(token)) - log_sum;
        sum += std::exp(log_p) * (log_p + std::log(static_cast<double>(members.size())));
      }
    }
    if (positions == 0.0) continue;
    total += sum / positions;
    present += 1.0;
  }
  return present > 0.0 ? total / present : total;
}

template <class T>
struct LossValues {
  T tokens{};
  T features{};
  T uniformity{};
  T total{};
};

// The whole training step up to the losses.
template <class T>
LossValues<T> losses(const Tables<T>& w, const Batch& batch, const ModelOptions& model, const LossOptions& options,
                     const DropoutPlan& plan) {
  const Table<T> hidden = encode(w, batch, model, plan);
  const Table<T> logits = token_head(w, hidden);
  LossValues<T> result;
  result.tokens = token_cross_entropy(logits, batch.targets, options.label_smoothing);
  if (batch.num_features > 0) result.features = feature_reconstruction(feature_head(w, hidden), batch.feature_rows());
  result.uniformity = class_uniformity(logits, batch.targets, options.classes);
  result.total = result.tokens + options.feature_loss * result.features + options.uniformity_loss * result.uniformity;
  return result;
}

}  // namespace semfuse::reference
