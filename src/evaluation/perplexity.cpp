#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "batching/encoded_corpus.h"
#include "core/nearest_word.h"
#include "kernels/softmax.h"
#include "model/forward_pass.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"

namespace semfuse {

namespace {

constexpr std::size_t kBatchTokens = 1024;  // Sentences go together as long as they have no more tokens.

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

Sums measure(const Batch& batch, const Shard& shard, Matrix logits, Matrix feature_logits,
             const std::vector<bool>& held_out) {
  Sums sums;
  for (std::size_t t = 0; t < shard.num_tokens; ++t) {
    const auto target = static_cast<std::size_t>(batch.targets[shard.first_token + t]);
    const double cross_entropy = static_cast<double>(log_sum_exp(logits.row(t), logits.cols()) - logits(t, target));
    sums.cross_entropy += cross_entropy;
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
  if (sentences.empty()) throw Error("there is no sentence to evaluate on");
  const std::vector<bool> held_out = held_out_flags(model.vocabulary(), options.held_out);
  const Network& network = model.network();
  const EncodedCorpus corpus(sentences, model.vocabulary(), model.options().fusion ? &model.feature_bank() : nullptr,
                             options.count_end, options.max_length);
  ThreadPool pool(thread_count(options.threads));
  ForwardPass pass(network, pool);
  pass.set_weights(model.weights());

  Sums total;
  std::vector<std::size_t> indices;
  for (std::size_t next = 0; next < corpus.size();) {
    indices.clear();
    std::size_t tokens = 0;
    do {
      tokens += corpus.length(next);
      indices.push_back(next++);
    } while (next < corpus.size() && tokens + corpus.length(next) <= kBatchTokens);
    const Batch batch = corpus.batch(indices);
    std::vector<Sums> shard_sums(batch.shards.size());
    pass.run(batch, [&](const Shard& shard, Matrix logits, Matrix feature_logits) {
      shard_sums[shard.index] = measure(batch, shard, logits, feature_logits, held_out);
    });
    for (const Sums& sums : shard_sums) total += sums;
  }

  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto positions = static_cast<double>(corpus.num_tokens());
  const auto mean = [](double sum, std::size_t count) { return count > 0 ? sum / static_cast<double>(count) : kNone; };
  return {.attention = model.options().attention,
          .num_positions = corpus.num_tokens(),
          .perplexity = std::exp(total.cross_entropy / positions),
          .seen_only_perplexity = std::exp(mean(total.seen_cross_entropy, total.seen)),
          .feature_mse = network.num_features() > 0
                             ? total.squared_error / (positions * static_cast<double>(network.num_features()))
                             : kNone,
          .held_out_cross_entropy = mean(total.held_out_cross_entropy, total.held_out),
          .after_held_out_cross_entropy = mean(total.after_cross_entropy, total.after)};
}

}  // namespace semfuse
