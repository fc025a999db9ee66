#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "backbone/adapted_model.h"
#include "core/nearest_word.h"
#include "evaluation/adapted_perplexity.h"
#include "evaluation/context_pass.h"
#include "evaluation/corpus_pass.h"
#include "kernels/softmax.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"

namespace semfuse {

namespace {

struct Sums {
  double cross_entropy = 0.0;
  double seen_cross_entropy = 0.0;
  std::size_t seen = 0;
  double squared_error = 0.0;
  double held_out_cross_entropy = 0.0;
  std::size_t held_out = 0;
  double after_cross_entropy = 0.0;
  std::size_t after = 0;

  void operator+=(const Sums& other) {
    cross_entropy += other.cross_entropy;
    seen_cross_entropy += other.seen_cross_entropy;
    seen += other.seen;
    squared_error += other.squared_error;
    held_out_cross_entropy += other.held_out_cross_entropy;
    held_out += other.held_out;
    after_cross_entropy += other.after_cross_entropy;
    after += other.after;
  }
};

std::vector<bool> held_out_flags(const Vocabulary& vocabulary, const std::vector<std::string>& words) {
  std::vector<bool> flags(vocabulary.size());
  for (const std::string& word : words) {
    const auto id = vocabulary.find(word);
    if (!id)
      throw Error(fmt::format("the held-out word \"{}\" is not in the vocabulary{}", word,
                              did_you_mean(word, vocabulary.entries())));
    flags[static_cast<std::size_t>(*id)] = true;
  }
  return flags;
}

// Adds to window_nats, which has a place for each sentence of the batch.
Sums measure(const Batch& batch, const Shard& shard, std::span<const ContextWindow> windows, Matrix logits,
             Matrix feature_logits, const std::vector<bool>& held_out, std::span<double> window_nats) {
  Sums sums;
  std::size_t sentence = shard.first_sentence;
  for (std::size_t t = 0; t < shard.num_tokens; ++t) {
    while (batch.first_token[sentence + 1] <= shard.first_token + t) ++sentence;
    if (shard.first_token + t < batch.first_token[sentence] + windows[sentence].context) continue;
    const auto target = static_cast<std::size_t>(batch.targets[shard.first_token + t]);
    const double cross_entropy = static_cast<double>(log_sum_exp(logits.row(t), logits.cols()) - logits(t, target));
    sums.cross_entropy += cross_entropy;
    window_nats[sentence] += cross_entropy;
    if (!held_out[target]) {
      sums.seen_cross_entropy += cross_entropy;
      sums.seen += 1;
    } else {
      sums.held_out_cross_entropy += cross_entropy;
      sums.held_out += 1;
    }
    if (held_out[static_cast<std::size_t>(batch.inputs[shard.first_token + t])]) {
      sums.after_cross_entropy += cross_entropy;
      sums.after += 1;
    }
    if (feature_logits.data()) {
      sigmoid(feature_logits.row(t), feature_logits.cols());
      for (std::size_t f = 0; f < feature_logits.cols(); ++f) {
        const double error = static_cast<double>(feature_logits(t, f)) -
                             static_cast<double>(batch.feature_rows()(shard.first_token + t, f));
        sums.squared_error += error * error;
      }
    }
  }
  return sums;
}

}  // namespace

Evaluation evaluate(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options) {
  return evaluate(model, *encode(model, sentences, options), options);
}

Evaluation evaluate(const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options) {
  if (const BackboneNetwork* network = adapted_network(model)) {
    return evaluate_adapted(model, *network, dataset, options);
  }
  const std::vector<bool> held_out = held_out_flags(model.vocabulary(), options.held_out);
  const std::size_t num_features = ModelAccess::network(model).num_features();
  Sums total;
  std::size_t num_positions = 0;
  std::vector<double> sentence_nats(dataset.size());
  const auto visit = [&](const Batch& batch, std::span<const ContextWindow> windows, ForwardPass& pass) {
    std::vector<Sums> shard_sums(batch.shards.size());
    std::vector<double> window_nats(windows.size());
    pass.run(batch, [&](const Shard& shard, Matrix logits, Matrix feature_logits) {
      shard_sums[shard.index] = measure(batch, shard, windows, logits, feature_logits, held_out, window_nats);
    });
    for (const Sums& sums : shard_sums) total += sums;
    num_positions += batch.num_tokens();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      sentence_nats[windows[i].text] += window_nats[i];
      num_positions -= windows[i].context;
    }
  };
  for_each_batch_in_context(model, dataset, options, visit);

  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto positions = static_cast<double>(num_positions);
  const auto mean = [](double sum, std::size_t count) { return count > 0 ? sum / static_cast<double>(count) : kNone; };
  return {
      .attention = model.options().attention,
      .num_positions = num_positions,
      .perplexity = std::exp(total.cross_entropy / positions),
      .bits_per_byte = dataset.num_bytes() > 0
                           ? total.cross_entropy / std::numbers::ln2 / static_cast<double>(dataset.num_bytes())
                           : kNone,
      .seen_only_perplexity = std::exp(mean(total.seen_cross_entropy, total.seen)),
      .feature_mse = num_features > 0 ? total.squared_error / (positions * static_cast<double>(num_features)) : kNone,
      .held_out_cross_entropy = mean(total.held_out_cross_entropy, total.held_out),
      .after_held_out_cross_entropy = mean(total.after_cross_entropy, total.after),
      .sentence_nats = std::move(sentence_nats)};
}

}  // namespace semfuse
