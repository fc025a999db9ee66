#include "semfuse/readout.h"

#include <fmt/format.h>

#include <algorithm>

#include "batching/batch.h"
#include "model/inference_weights.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

void check_ids(const LanguageModel& model, std::span<const TokenId> ids) {
  const std::size_t size = model.vocabulary().size();
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= size) {
      throw Error(fmt::format("token {} is none of this model, whose ids are from 0 to {}; encode the text with it", id,
                              size - 1));
    }
  }
}

// <bos> and the tokens as one batch of one text; targets do not matter.
Batch batch_of(const LanguageModel& model, std::span<const TokenId> ids, std::span<const KnobSetting> settings) {
  check_ids(model, ids);
  const Network& network = ModelAccess::network(model);
  std::vector<TokenId> inputs = {Vocabulary::kBos};
  inputs.insert(inputs.end(), ids.begin(), ids.end());
  std::vector<float> features;
  if (network.num_features() > 0) features = ModelAccess::features(model).prefix_rows(ids).values;
  BatchPacker packer(network.num_features(), shard_tokens_for(network.options().width), network.num_request_columns());
  packer.add(inputs, inputs, features, request_row(model.options().knobs, settings));
  return packer.take_whole();
}

// The hidden states of a text, and what else `visit` makes of them while they are there.
template <class Visit>
void run(const LanguageModel& model, std::span<const TokenId> ids, std::span<const KnobSetting> settings,
         const Visit& visit) {
  const Network& network = ModelAccess::network(model);
  const Batch batch = batch_of(model, ids, settings);
  ThreadPool pool(1);
  const InferenceWeights weights(network, ModelAccess::weights(model), pool);
  PositionTable positions(network.options().width);
  positions.reserve(batch.longest());
  Workspace workspace;
  Network::Activations activations = network.allocate(batch, workspace);
  float* const scratch = workspace.floats(activations.scratch_size);
  const Pass pass{.batch = batch,
                  .layout = network.layout(),
                  .weights = weights.weights,
                  .packed = weights.packed,
                  .attention = network.options().attention,
                  .dropout = {}};
  network.forward(pass, batch.shards.front(), positions.rows(), activations, scratch);
  visit(weights, ConstMatrix(activations.hidden()));
}

ReadoutRows rows_of(ConstMatrix matrix) {
  ReadoutRows rows{.num_rows = matrix.rows(), .num_columns = matrix.cols(), .values = {}};
  rows.values.reserve(matrix.rows() * matrix.cols());
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    rows.values.insert(rows.values.end(), matrix.row(r), matrix.row(r) + matrix.cols());
  }
  return rows;
}

}  // namespace

ReadoutRows read_logits(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings) {
  ReadoutRows rows;
  run(model, ids, settings, [&](const InferenceWeights& weights, ConstMatrix hidden) {
    Workspace workspace;
    const Matrix logits = workspace.matrix(hidden.rows(), model.vocabulary().size());
    weights.head.forward(hidden, logits);
    rows = rows_of(logits);
  });
  return rows;
}

ReadoutRows read_hidden(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings) {
  ReadoutRows rows;
  run(model, ids, settings, [&](const InferenceWeights&, ConstMatrix hidden) { rows = rows_of(hidden); });
  return rows;
}

ReadoutRows read_features(const LanguageModel& model, std::span<const TokenId> ids) {
  check_ids(model, ids);
  FeatureMatrix matrix = ModelAccess::features(model).prefix_rows(ids);
  return {.num_rows = matrix.num_rows, .num_columns = matrix.num_features, .values = std::move(matrix.values)};
}

}  // namespace semfuse
