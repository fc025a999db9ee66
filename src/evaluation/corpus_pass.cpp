#include "evaluation/corpus_pass.h"

#include <vector>

#include "batching/encoded_corpus.h"
#include "core/thread_pool.h"
#include "kernels/softmax.h"
#include "semfuse/error.h"

namespace semfuse {

void for_each_batch(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                    const std::function<void(const Batch& batch, ForwardPass& pass)>& visit) {
  constexpr std::size_t kBatchTokens = 1024;  // Sentences go together as long as they have no more tokens.
  if (sentences.empty()) throw Error("there is no sentence to evaluate on");
  const EncodedCorpus corpus(sentences, model.vocabulary(), model.options().fusion ? &model.feature_bank() : nullptr,
                             options.count_end, options.max_length);
  ThreadPool pool(thread_count(options.threads));
  ForwardPass pass(model.network(), pool);
  pass.set_weights(model.weights());
  std::vector<std::size_t> indices;
  for (std::size_t next = 0; next < corpus.size();) {
    indices.clear();
    std::size_t tokens = 0;
    do {
      tokens += corpus.length(next);
      indices.push_back(next++);
    } while (next < corpus.size() && tokens + corpus.length(next) <= kBatchTokens);
    visit(corpus.batch(indices), pass);
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
