#include "evaluation/corpus_pass.h"

#include <vector>

#include "batching/dataset_batch.h"
#include "core/thread_pool.h"
#include "data/sentence_dataset.h"
#include "kernels/softmax.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

std::unique_ptr<Dataset> encode(const LanguageModel& model, std::span<const Sentence> sentences,
                                const EvaluationOptions& options) {
  return std::make_unique<SentenceDataset>(
      sentences, model.vocabulary(),
      SentenceDatasetOptions{.features = model.options().fusion ? &ModelAccess::features(model) : nullptr,
                             .max_length = options.max_length});
}

void for_each_batch(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                    const std::function<void(const Batch& batch, ForwardPass& pass)>& visit) {
  for_each_batch(model, *encode(model, sentences, options), options, visit);
}

void for_each_batch(const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options,
                    const std::function<void(const Batch& batch, ForwardPass& pass)>& visit) {
  constexpr std::size_t kBatchTokens = 1024;  // Sentences go together as long as they have no more tokens.
  if (dataset.size() == 0) throw Error("there is no sentence to evaluate on");
  ThreadPool pool(thread_count(options.threads));
  ForwardPass pass(ModelAccess::network(model), pool);
  pass.set_weights(ModelAccess::weights(model));
  const auto length = [&](std::size_t text) { return num_positions(dataset, text, options.count_end); };
  std::vector<std::size_t> indices;
  for (std::size_t next = 0; next < dataset.size();) {
    indices.clear();
    std::size_t tokens = 0;
    do {
      tokens += length(next);
      indices.push_back(next++);
    } while (next < dataset.size() && tokens + length(next) <= kBatchTokens);
    visit(make_batch(dataset, indices, options.count_end), pass);
    if (options.on_progress) options.on_progress(static_cast<double>(next) / static_cast<double>(dataset.size()));
  }
}

void for_each_target(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                     const std::function<void(std::size_t target, double cross_entropy)>& visit) {
  std::vector<double> cross_entropies;
  for_each_batch(model, sentences, options, [&](const Batch& batch, ForwardPass& pass) {
    cross_entropies.resize(batch.num_tokens());
    pass.run(batch, [&](const Shard& shard, Matrix logits, Matrix) {
      for (std::size_t t = 0; t < shard.num_tokens; ++t) {
        const auto target = static_cast<std::size_t>(batch.targets[shard.first_token + t]);
        cross_entropies[shard.first_token + t] =
            static_cast<double>(log_sum_exp(logits.row(t), logits.cols()) - logits(t, target));
      }
    });
    for (std::size_t t = 0; t < cross_entropies.size(); ++t) {
      visit(static_cast<std::size_t>(batch.targets[t]), cross_entropies[t]);
    }
  });
}

}  // namespace semfuse
