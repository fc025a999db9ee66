#include "semfuse/readout.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

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

void append(ReadoutRows& rows, ConstMatrix matrix) {
  rows.num_rows += matrix.rows();
  rows.num_columns = matrix.cols();
  rows.values.reserve(rows.values.size() + matrix.rows() * matrix.cols());
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    rows.values.insert(rows.values.end(), matrix.row(r), matrix.row(r) + matrix.cols());
  }
}

// Of a pretrained model, as generation reads it: <bos> alone, then the text, before which it reads <bos> or not.
template <class Rows>
ReadoutRows read_pretrained(const LanguageModel& model, const PretrainedNetwork& network, std::span<const TokenId> ids,
                            std::span<const KnobSetting> settings, const Rows& rows_of) {
  check_ids(model, ids);
  const std::unique_ptr<StreamPass> pass = network.open_pass(1, ModelAccess::weights(model));
  TokenStream stream(network.empty_cache());
  ReadoutRows rows;
  const auto read = [&](std::span<const TokenId> text) {
    stream.clear();
    stream.tokens = {Vocabulary::kBos};
    stream.tokens.insert(stream.tokens.end(), text.begin(), text.end());
    stream.num_shared = stream.tokens.size();
    stream.num_guesses = text.empty() ? 0 : text.size() - 1;
    if (!settings.empty()) stream.request = request_row(model.options().knobs, settings);
    if (network.num_features() > 0) stream.features = ModelAccess::features(model).prefix_rows(text).values;
    TokenStream* const one = &stream;
    append(rows, rows_of(*pass, pass->run({&one, 1})));
  };
  if (network.begins_texts() || ids.empty()) read({});
  if (!ids.empty()) read(ids);
  if (rows.num_rows == ids.size()) {
    rows.values.insert(rows.values.begin(), rows.num_columns, std::numeric_limits<float>::quiet_NaN());
    ++rows.num_rows;
  }
  return rows;
}

}  // namespace

ReadoutRows read_logits(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings) {
  if (const PretrainedNetwork* network = ModelAccess::pretrained(model)) {
    return read_pretrained(model, *network, ids, settings,
                           [](const StreamPass&, ConstMatrix logits) { return logits; });
  }
  ReadoutRows rows;
  run(model, ids, settings, [&](const InferenceWeights& weights, ConstMatrix hidden) {
    Workspace workspace;
    const Matrix logits = workspace.matrix(hidden.rows(), model.vocabulary().size());
    weights.head.forward(hidden, logits);
    append(rows, logits);
  });
  return rows;
}

ReadoutRows read_hidden(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings) {
  if (const PretrainedNetwork* network = ModelAccess::pretrained(model)) {
    return read_pretrained(model, *network, ids, settings,
                           [](const StreamPass& pass, ConstMatrix) { return pass.hidden(); });
  }
  ReadoutRows rows;
  run(model, ids, settings, [&](const InferenceWeights&, ConstMatrix hidden) { append(rows, hidden); });
  return rows;
}

ReadoutRows read_features(const LanguageModel& model, std::span<const TokenId> ids) {
  check_ids(model, ids);
  FeatureMatrix matrix = ModelAccess::features(model).prefix_rows(ids);
  return {.num_rows = matrix.num_rows, .num_columns = matrix.num_features, .values = std::move(matrix.values)};
}

}  // namespace semfuse
