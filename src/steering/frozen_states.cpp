#include "steering/frozen_states.h"

#include <algorithm>
#include <utility>

#include "batching/dataset_batch.h"
#include "core/random.h"
#include "model/model_access.h"

namespace semfuse {

namespace {

constexpr std::size_t kMostKept = std::size_t{256} << 20;  // Bytes of states.

bool asks(std::span<const float> request) {
  return std::ranges::any_of(request, [](float number) { return number != 0.0f; });
}

}  // namespace

FrozenStates::FrozenStates(const LanguageModel& model, const Dataset& dataset, ThreadPool& pool)
    : dataset_(dataset), pool_(pool), model_(model), positions_(model.options().width) {
  if (ModelAccess::pretrained(model) == nullptr) return;
  kept_.resize(dataset.size());
  for (std::size_t worker = 0; worker < pool.num_threads(); ++worker) {
    readers_.push_back(
        {.pass = model_.open_pass(/*prefix_bytes=*/0), .stream = TokenStream(ModelAccess::empty_cache(model))});
  }
}

FrozenStates::States FrozenStates::of(std::span<const std::size_t> texts, std::span<const float> requests) {
  const ModelOptions& options = model_.model().options();
  const std::size_t num_columns = request_columns(options.knobs);
  const std::vector<float> nothing(requests.empty() ? texts.size() * num_columns : 0);
  Batch batch = make_batch(dataset_, texts, /*count_end=*/false, shard_tokens_for(options.width),
                           {requests.empty() ? nothing.data() : requests.data(), texts.size(), num_columns});
  workspace_.reset();
  const ConstMatrix hidden = readers_.empty() ? own_states(batch) : pretrained_states(batch, texts);
  return {.batch = std::move(batch), .hidden = hidden};
}

ConstMatrix FrozenStates::own_states(const Batch& batch) {
  const InferenceWeights& weights = model_.weights();
  positions_.reserve(batch.longest());
  Network::Activations activations = weights.network.allocate(batch, workspace_);
  std::vector<float*> scratch;
  for (std::size_t worker = 0; worker < pool_.num_threads(); ++worker) {
    scratch.push_back(workspace_.floats(activations.scratch_size));
  }
  const Pass pass{.batch = batch,
                  .layout = weights.network.layout(),
                  .weights = weights.weights,
                  .packed = weights.packed,
                  .attention = weights.network.options().attention,
                  .dropout = {}};
  pool_.run(batch.shards.size(), [&](std::size_t shard, std::size_t worker) {
    weights.network.forward(pass, batch.shards[shard], positions_.rows(), activations, scratch[worker]);
  });
  return activations.hidden();
}

ConstMatrix FrozenStates::pretrained_states(const Batch& batch, std::span<const std::size_t> texts) {
  const Matrix all = workspace_.matrix(batch.num_tokens(), model_.model().options().width);
  pool_.run(texts.size(), [&](std::size_t i, std::size_t worker) {
    const Matrix hidden = all.row_range(batch.first_token[i], batch.length(i));
    const std::vector<float>& kept = kept_[texts[i]];
    if (kept.empty() || asks({batch.request_rows().row(i), batch.num_request_columns})) {
      read(readers_[worker], batch, i, texts[i], hidden);
      return;
    }
    for (std::size_t t = 0; t < hidden.rows(); ++t) {
      std::copy_n(kept.data() + t * hidden.cols(), hidden.cols(), hidden.row(t));
    }
  });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<float>& kept = kept_[texts[i]];
    const std::size_t size = batch.length(i) * all.cols();
    const bool has_room = kept_bytes_ + size * sizeof(float) <= kMostKept;
    if (!kept.empty() || !has_room || asks({batch.request_rows().row(i), batch.num_request_columns})) continue;
    kept.reserve(size);
    for (std::size_t t = batch.first_token[i]; t < batch.first_token[i + 1]; ++t) {
      kept.insert(kept.end(), all.row(t), all.row(t) + all.cols());
    }
    kept_bytes_ += size * sizeof(float);
  }
  return all;
}

// Every other text is read as after a prompt, of which some models read no <bos>; the state that begins it is then read
// apart. Where nothing can begin a text that state is 0.
void FrozenStates::read(Reader& reader, const Batch& batch, std::size_t text, std::size_t index, Matrix hidden) const {
  const std::span<const float> request(batch.request_rows().row(text), batch.num_request_columns);
  const bool begins = ModelAccess::pretrained(model_.model())->begins_texts();
  const auto read_part = [&](std::size_t num_tokens, bool as_prompt, std::size_t first_wanted) {
    TokenStream& stream = reader.stream;
    stream.clear();
    const auto tokens = std::span(batch.inputs).subspan(batch.first_token[text], num_tokens);
    stream.tokens.assign(tokens.begin(), tokens.end());
    stream.num_shared = as_prompt ? num_tokens : 1;
    stream.num_guesses = num_tokens - first_wanted - 1;
    if (asks(request)) stream.request.assign(request.begin(), request.end());
    const std::size_t num_features = ModelAccess::num_features(model_.model());
    const auto features = std::span(batch.features).subspan(batch.first_token[text] * batch.num_features);
    stream.features.assign(features.begin(), features.begin() + static_cast<std::ptrdiff_t>(num_tokens * num_features));
    TokenStream* const one = &stream;
    const ConstMatrix states = reader.pass->states({&one, 1});
    for (std::size_t t = 0; t < states.rows(); ++t) {
      std::copy_n(states.row(t), states.cols(), hidden.row(first_wanted + t));
    }
  };
  const std::size_t num_tokens = hidden.rows();
  const bool goes_on = batch.inputs[batch.first_token[text]] != Vocabulary::kBos;  // A piece of a longer text.
  if (goes_on || (begins && (index % 2 == 0 || num_tokens == 1))) {
    read_part(num_tokens, /*as_prompt=*/false, 0);
    return;
  }
  if (begins) {
    read_part(1, /*as_prompt=*/false, 0);
  } else {
    std::fill_n(hidden.row(0), hidden.cols(), 0.0f);
  }
  if (num_tokens > 1) read_part(num_tokens, /*as_prompt=*/true, 1);
}

std::vector<std::size_t> texts_of_step(std::span<const std::size_t> labelled, std::size_t batch, std::uint64_t seed,
                                       std::uint64_t step) {
  const RandomStream random(seed, RandomPurpose::steering, step);
  std::vector<std::size_t> texts;
  for (std::size_t i = 0; i < batch; ++i) texts.push_back(labelled[random.below(i, labelled.size())]);
  return texts;
}

}  // namespace semfuse
