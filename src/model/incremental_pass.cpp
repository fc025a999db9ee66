#include "model/incremental_pass.h"

#include <algorithm>
#include <cassert>

namespace semfuse {

IncrementalPass::IncrementalPass(const Network& network, const ParameterBlock& weights, const PackedWeights& packed)
    : network_(network), weights_(weights), packed_(packed), positions_(network.options().width) {}

// How many of the stream's tokens need no work. The last one always does: its hidden state is not kept.
std::size_t IncrementalPass::known_tokens(const TokenStream& stream) const {
  if (network_.options().attention != AttentionMask::causal) return 0;
  const std::size_t most = std::min(stream.cache.length(), stream.tokens.size() - 1);
  const std::size_t num_features = network_.num_features();
  std::size_t known = 0;
  while (known < most && stream.tokens[known] == stream.computed_tokens[known] &&
         std::equal(stream.features.begin() + static_cast<std::ptrdiff_t>(known * num_features),
                    stream.features.begin() + static_cast<std::ptrdiff_t>((known + 1) * num_features),
                    stream.computed_features.begin() + static_cast<std::ptrdiff_t>(known * num_features))) {
    ++known;
  }
  return known;
}

Matrix IncrementalPass::run(std::span<TokenStream* const> streams) {
  const bool causal = network_.options().attention == AttentionMask::causal;
  const std::size_t num_features = network_.num_features();
  BatchPacker packer(num_features);
  std::vector<KeyValueCache*> past;
  for (TokenStream* stream : streams) {
    assert(!stream->tokens.empty() && stream->features.size() == stream->tokens.size() * num_features);
    const std::size_t known = known_tokens(*stream);
    const auto rest = std::span(stream->tokens).subspan(known);
    packer.add(rest, rest, std::span(stream->features).subspan(known * num_features), known);
    positions_.reserve(stream->tokens.size());
    if (!causal) continue;
    stream->cache.set_length(known);
    stream->cache.reserve(stream->tokens.size());
    past.push_back(&stream->cache);
  }
  const Batch batch = packer.take_whole();
  workspace_.reset();
  Network::Activations activations = network_.allocate(batch, workspace_);
  float* scratch = workspace_.floats(activations.scratch_size);
  const Pass pass{.batch = batch,
                  .layout = network_.layout(),
                  .weights = weights_,
                  .packed = packed_,
                  .attention = network_.options().attention,
                  .dropout = {},
                  .past = past};
  network_.forward(pass, batch.shards[0], positions_.rows(), activations, scratch);

  const Matrix hidden = workspace_.matrix(streams.size(), network_.options().width);
  const Matrix logits = workspace_.matrix(streams.size(), network_.vocab_size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    std::copy_n(activations.hidden().row(batch.first_token[i + 1] - 1), hidden.cols(), hidden.row(i));
    if (!causal) continue;
    streams[i]->cache.set_length(streams[i]->tokens.size());
    streams[i]->computed_tokens = streams[i]->tokens;
    streams[i]->computed_features = streams[i]->features;
  }
  packed_.forward(network_.token_head(), hidden, logits);
  return logits;
}

}  // namespace semfuse
