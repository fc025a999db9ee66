#include "steering/frozen_states.h"

#include <utility>

#include "batching/dataset_batch.h"
#include "core/random.h"
#include "model/model_access.h"

namespace semfuse {

FrozenStates::FrozenStates(const LanguageModel& model, const Dataset& dataset, ThreadPool& pool)
    : model_(model),
      dataset_(dataset),
      pool_(pool),
      weights_(ModelAccess::network(model), ModelAccess::weights(model), pool),
      positions_(model.options().width) {}

FrozenStates::States FrozenStates::of(std::span<const std::size_t> texts, std::span<const float> requests) {
  const Network& network = weights_.network;
  const std::vector<float> nothing(requests.empty() ? texts.size() * network.num_request_columns() : 0);
  Batch batch =
      make_batch(dataset_, texts, /*count_end=*/false, shard_tokens_for(network.options().width),
                 {requests.empty() ? nothing.data() : requests.data(), texts.size(), network.num_request_columns()});
  positions_.reserve(batch.longest());
  workspace_.reset();
  Network::Activations activations = network.allocate(batch, workspace_);
  std::vector<float*> scratch;
  for (std::size_t worker = 0; worker < pool_.num_threads(); ++worker) {
    scratch.push_back(workspace_.floats(activations.scratch_size));
  }
  const Pass pass{.batch = batch,
                  .layout = network.layout(),
                  .weights = weights_.weights,
                  .packed = weights_.packed,
                  .attention = network.options().attention,
                  .dropout = {}};
  pool_.run(batch.shards.size(), [&](std::size_t shard, std::size_t worker) {
    network.forward(pass, batch.shards[shard], positions_.rows(), activations, scratch[worker]);
  });
  const ConstMatrix hidden = activations.hidden();
  return {.batch = std::move(batch), .hidden = hidden};
}

std::vector<std::size_t> texts_of_step(std::span<const std::size_t> labelled, std::size_t batch, std::uint64_t seed,
                                       std::uint64_t step) {
  const RandomStream random(seed, RandomPurpose::steering, step);
  std::vector<std::size_t> texts;
  for (std::size_t i = 0; i < batch; ++i) texts.push_back(labelled[random.below(i, labelled.size())]);
  return texts;
}

}  // namespace semfuse
