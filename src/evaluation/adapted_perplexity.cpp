#include "evaluation/adapted_perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "backbone/adapter_gradient.h"
#include "batching/dataset_batch.h"
#include "kernels/softmax.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

std::vector<float> labelled_request(std::span<const Knob> knobs, const Dataset& dataset, std::size_t text) {
  std::vector<KnobSetting> settings;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    const KnobLabel label = dataset.label(text, k);
    const auto count = static_cast<double>(label.positive + label.negative);
    if (knobs[k].kind == KnobKind::probability && count > 0) {
      settings.push_back({.knob = knobs[k].name, .values = {static_cast<double>(label.positive) / count}});
    } else if (knobs[k].kind == KnobKind::scalar && label.value) {
      settings.push_back({.knob = knobs[k].name, .values = {std::clamp(*label.value, knobs[k].low, knobs[k].high)}});
    } else if (knobs[k].kind == KnobKind::distribution && label.label) {
      settings.push_back({.knob = knobs[k].name, .values = std::vector<double>(knobs[k].labels.size())});
      settings.back().values[*label.label] = 1.0;
    }
  }
  return request_row(knobs, settings);
}

Evaluation evaluate_adapted(const LanguageModel& model, const BackboneNetwork& network, const Dataset& dataset,
                            const EvaluationOptions& options) {
  constexpr std::size_t kTextsOfBatch = 64;
  ThreadPool pool(thread_count(options.threads));
  const FrozenMaps maps(network.backbone(), pool);
  AdapterWeights weights(*network.adapter());
  weights.refresh(ModelAccess::weights(model), pool);
  std::vector<std::unique_ptr<AdapterGradient>> workers;
  for (std::size_t i = 0; i < pool.num_threads(); ++i) {
    workers.push_back(std::make_unique<AdapterGradient>(network.backbone(), maps, *network.adapter()));
  }
  const std::vector<Knob>& knobs = model.options().knobs;
  const std::size_t num_columns = request_columns(knobs);
  std::vector<double> nats(dataset.size());
  std::size_t num_positions = 0;
  std::size_t num_texts = 0;
  for (std::size_t first = 0; first < dataset.size(); first += kTextsOfBatch) {
    std::vector<std::size_t> texts;
    std::vector<float> requests;
    for (std::size_t i = first; i < std::min(dataset.size(), first + kTextsOfBatch); ++i) {
      const std::vector<float> request = labelled_request(knobs, dataset, i);
      texts.push_back(i);
      requests.insert(requests.end(), request.begin(), request.end());
    }
    const Batch batch = make_batch(dataset, texts, /*count_end=*/false, shard_tokens_for(model.options().width),
                                   {requests.data(), texts.size(), num_columns});
    std::vector<std::size_t> positions(batch.num_sentences());
    pool.run(batch.shards.size(), [&](std::size_t shard, std::size_t worker) {
      workers[worker]->predict(
          batch, batch.shards[shard], weights, [&](std::span<const AdaptedRow> rows, Matrix logits) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
              const auto target = static_cast<std::size_t>(rows[i].target);
              nats[first + rows[i].sentence] +=
                  static_cast<double>(log_sum_exp(logits.row(i), logits.cols()) - logits(i, target));
              ++positions[rows[i].sentence];
            }
          });
    });
    for (const std::size_t count : positions) {
      num_positions += count;
      num_texts += count > 0 ? 1 : 0;
    }
  }
  if (num_positions == 0) throw Error("no text to measure with has a label of a knob; name others with --val");
  double sum = 0.0;
  for (const double text : nats) sum += text;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const double perplexity = std::exp(sum / static_cast<double>(num_positions));
  const bool knows_bytes = dataset.num_bytes() > 0 && num_texts == dataset.size();
  return {.attention = AttentionMask::causal,
          .num_positions = num_positions,
          .perplexity = perplexity,
          .bits_per_byte = knows_bytes ? sum / std::numbers::ln2 / static_cast<double>(dataset.num_bytes()) : kNone,
          .seen_only_perplexity = perplexity,
          .feature_mse = kNone,
          .held_out_cross_entropy = kNone,
          .after_held_out_cross_entropy = kNone,
          .sentence_nats = std::move(nats)};
}

}  // namespace semfuse
