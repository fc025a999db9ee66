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
T feature_reconstruction(const Table<T>& logits, const Table<double>& features) {
  T total = 0.0;
  for (std::size_t t = 0; t < logits.rows; ++t) {
    for (std::size_t f = 0; f < logits.cols; ++f) {
      const double target = features(t, f);
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
  T classes{};
  T total{};
};

// The same numbers with the rows at `chosen` only.
template <class T>
Table<T> chosen_rows(const Table<T>& table, const std::vector<TokenId>& chosen) {
  Table<T> result(chosen.size(), table.cols);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = 0; j < table.cols; ++j) result(i, j) = table(static_cast<std::size_t>(chosen[i]), j);
  }
  return result;
}

// Cross-entropy of the next word's class, which is what equal rows of `word_features` describe: logits are W_s · graded
// row + ln(words of the class).
template <class T>
T class_loss(const Tables<T>& w, const Table<T>& hidden, const Batch& batch, const std::vector<TokenId>& words,
             const Table<double>& word_features, const Table<T>& graded_words) {
  std::vector<TokenId> first_words;  // Of each class.
  std::vector<double> counts;
  std::vector<TokenId> class_of(word_features.rows, -1);
  for (const TokenId word : words) {
    const auto same = [&](TokenId other) {
      const Table<double> rows = chosen_rows(word_features, {word, other});
      return std::equal(rows.numbers.begin(), rows.numbers.begin() + static_cast<std::ptrdiff_t>(rows.cols),
                        rows.numbers.begin() + static_cast<std::ptrdiff_t>(rows.cols));
    };
    const auto found = std::find_if(first_words.begin(), first_words.end(), same);
    const auto index = static_cast<std::size_t>(found - first_words.begin());
    if (found == first_words.end()) {
      first_words.push_back(word);
      counts.push_back(0.0);
    }
    counts[index] += 1.0;
    class_of[static_cast<std::size_t>(word)] = static_cast<TokenId>(index);
  }
  Table<T> logits = row_head(w, hidden, {}, chosen_rows(graded_words, first_words), {});
  for (std::size_t t = 0; t < logits.rows; ++t) {
    for (std::size_t c = 0; c < logits.cols; ++c) logits(t, c) += std::log(counts[c]);
  }
  std::vector<TokenId> targets;
  for (const TokenId target : batch.targets) targets.push_back(class_of[static_cast<std::size_t>(target)]);
  return token_cross_entropy(logits, targets, 0.0);
}

// The whole training step up to the losses. Output rows have the features of the step, if it has some of its own.
template <class T>
LossValues<T> losses(const Tables<T>& w, const Batch& batch, const ModelOptions& model, const LossOptions& options,
                     const DropoutPlan& plan, const Table<double>& word_features = {},
                     const FeatureOptions& feature_options = {}, const Table<double>& step_word_features = {}) {
  const auto graded_if_learned = [&](const Table<double>& rows) {
    return feature_options.learn_kernel ? graded(w, rows, feature_options) : constants<T>(rows);
  };
  const Table<T> features = graded_if_learned(table_of(batch.feature_rows()));
  const Table<T> graded_words = graded_if_learned(word_features);
  const Table<T> graded_outputs = step_word_features.rows > 0 ? graded_if_learned(step_word_features) : graded_words;
  Table<double> wanted_features(features.rows, features.cols);  // A target is a constant, however it came about.
  std::transform(features.numbers.begin(), features.numbers.end(), wanted_features.numbers.begin(),
                 [](const T& number) { return real_of(number); });
  const std::size_t vocab_size = w.at("tok.weight").rows;
  Identity identity;
  if (options.identity_dropout > 0.0)
    identity = identities_of_step(vocab_size, options.identity_dropout, plan.seed, plan.step);
  std::vector<TokenId> words = options.words;
  for (std::size_t id = 0; options.words.empty() && id < vocab_size; ++id) words.push_back(static_cast<TokenId>(id));
  const auto row_of = [&](TokenId word) {
    return static_cast<TokenId>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  std::vector<TokenId> targets;
  for (const TokenId target : batch.targets) targets.push_back(row_of(target));
  std::vector<std::vector<TokenId>> classes;
  for (const std::vector<TokenId>& members : options.classes) {
    classes.emplace_back();
    for (const TokenId word : members) {
      if (static_cast<std::size_t>(row_of(word)) < words.size()) classes.back().push_back(row_of(word));
    }
  }

  const Table<T> hidden = encode(w, batch, model, plan, identity, features);
  const Table<T> logits =
      row_head(w, hidden, words, model.output_features ? chosen_rows(graded_outputs, words) : Table<T>(), identity);
  LossValues<T> result;
  result.tokens = token_cross_entropy(logits, targets, options.label_smoothing);
  if (options.class_loss > 0.0) result.classes = class_loss(w, hidden, batch, words, word_features, graded_words);
  if (batch.num_features > 0) result.features = feature_reconstruction(feature_head(w, hidden), wanted_features);
  result.uniformity = class_uniformity(logits, targets, classes);
  result.total = result.tokens + options.feature_loss * result.features + options.uniformity_loss * result.uniformity +
                 options.class_loss * result.classes;
  return result;
}

}  // namespace semfuse::reference
