#include "model/incremental_pass.h"

#include <algorithm>
#include <cassert>

namespace semfuse {

namespace {

std::size_t numbers_of_a_token(const ModelOptions& options) {
  return (2 * options.layers + 1) * options.width;
}

// Makes `to` what `from` is, whose first elements are the same.
template <class T>
void copy_from(std::size_t first, const std::vector<T>& from, std::vector<T>& to) {
  to.resize(first);
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(first), from.end());
}

}  // namespace

IncrementalPass::IncrementalPass(const InferenceWeights& weights, std::size_t prefix_bytes)
    : weights_(weights),
      network_(weights.network),
      positions_(network_.options().width),
      prefixes_(network_.num_features() + network_.num_request_columns(), numbers_of_a_token(network_.options()),
                prefix_bytes),
      numbers_(numbers_of_a_token(network_.options())) {}

std::span<const float> IncrementalPass::feature_row(const TokenStream& stream, std::size_t token) const {
  return std::span(stream.features).subspan(token * network_.num_features(), network_.num_features());
}

// Features and request of a token: what decides, with the tokens before it, what is computed there.
std::span<const float> IncrementalPass::prefix_key(const TokenStream& stream, std::size_t token) {
  if (network_.num_request_columns() == 0) return feature_row(stream, token);
  key_.assign(network_.num_features() + network_.num_request_columns(), 0.0f);
  std::ranges::copy(feature_row(stream, token), key_.begin());
  std::ranges::copy(stream.request, key_.begin() + static_cast<std::ptrdiff_t>(network_.num_features()));
  return key_;
}

// How many tokens the stream's cache is still right for. Those whose logits are wanted do not count: their hidden
// states are not kept.
std::size_t IncrementalPass::unchanged_tokens(const TokenStream& stream) const {
  const std::size_t most = std::min(stream.cache.length(), stream.tokens.size() - 1 - stream.num_guesses);
  const std::size_t num_features = network_.num_features();
  std::size_t unchanged = std::min(stream.num_unchanged, most);
  while (unchanged < most && stream.tokens[unchanged] == stream.computed_tokens[unchanged] &&
         std::ranges::equal(feature_row(stream, unchanged),
                            std::span(stream.computed_features).subspan(unchanged * num_features, num_features))) {
    ++unchanged;
  }
  return unchanged;
}

std::optional<std::size_t> IncrementalPass::num_known(const TokenStream& stream) {
  if (!causal()) return std::nullopt;
  std::size_t known = unchanged_tokens(stream);
  if (known > 0 || stream.num_guesses > 0) return known;
  for (PrefixTree::Node last = PrefixTree::kRoot; known < stream.tokens.size(); ++known) {
    const auto next = prefixes_.find(last, stream.tokens[known], prefix_key(stream, known));
    if (!next) break;
    last = *next;
  }
  return known;
}

// How many of the stream's tokens need no work; their keys and values are now in its cache. If all, `last` is the last
// one in the tree, which holds its hidden state.
std::size_t IncrementalPass::recall(TokenStream& stream, PrefixTree::Node& last) {
  if (!causal()) return 0;
  stream.cache.reserve(stream.tokens.size());
  std::size_t known = unchanged_tokens(stream);
  if (known > 0 || stream.num_guesses > 0) return known;
  last = PrefixTree::kRoot;
  while (known < stream.tokens.size()) {
    const auto next = prefixes_.find(last, stream.tokens[known], prefix_key(stream, known));
    if (!next) break;
    last = *next;
    stream.cache.write_token(known++, prefixes_.numbers(last).first(stream.cache.token_size()));
  }
  return known;
}

// Hands what a pass computed of a stream's beginning to the tree, if it knows what comes before.
void IncrementalPass::remember(const TokenStream& stream, ConstMatrix hidden) {
  if (hidden.rows() > prefixes_.capacity()) return;
  if (hidden.rows() > prefixes_.room()) prefixes_.clear();
  const std::size_t first_new = stream.tokens.size() - hidden.rows();
  const std::size_t num_key_values = stream.cache.token_size();
  PrefixTree::Node node = PrefixTree::kRoot;
  for (std::size_t t = 0; t < std::min(stream.num_shared, stream.tokens.size()); ++t) {
    if (const auto next = prefixes_.find(node, stream.tokens[t], prefix_key(stream, t))) {
      node = *next;
      continue;
    }
    if (t < first_new) return;
    stream.cache.read_token(t, std::span(numbers_).first(num_key_values));
    std::copy_n(hidden.row(t - first_new), hidden.cols(),
                numbers_.begin() + static_cast<std::ptrdiff_t>(num_key_values));
    node = prefixes_.add(node, stream.tokens[t], prefix_key(stream, t), numbers_);
  }
}

Matrix IncrementalPass::run(std::span<TokenStream* const> streams) {
  const ConstMatrix wanted = states(streams);
  const Matrix logits = workspace_.matrix(wanted.rows(), network_.vocab_size());
  weights_.head.forward(wanted, logits);
  return logits;
}

ConstMatrix IncrementalPass::states(std::span<TokenStream* const> streams) {
  const std::size_t num_features = network_.num_features();
  std::size_t num_rows = 0;
  for (const TokenStream* stream : streams) num_rows += stream->num_guesses + 1;
  workspace_.reset();
  const Matrix wanted = workspace_.matrix(num_rows, network_.options().width);

  struct Rest {
    TokenStream* stream;
    std::size_t first_row;  // Of what is wanted.
    bool begins;            // With tokens that other streams may have too.
  };
  std::vector<Rest> rests;
  BatchPacker packer(num_features, kShardTokens, network_.num_request_columns());
  std::vector<KeyValueCache*> past;
  std::size_t row = 0;
  for (TokenStream* stream : streams) {
    assert(stream->tokens.size() > stream->num_guesses);
    assert(stream->features.size() == stream->tokens.size() * num_features);
    const bool begins = causal() && stream->cache.length() < stream->num_shared;
    PrefixTree::Node last = PrefixTree::kRoot;
    const std::size_t known = recall(*stream, last);
    if (known == stream->tokens.size()) {
      std::ranges::copy(prefixes_.numbers(last).last(wanted.cols()), wanted.row(row));
    } else {
      const auto rest = std::span(stream->tokens).subspan(known);
      packer.add(rest, rest, std::span(stream->features).subspan(known * num_features), stream->request, known);
      positions_.reserve(stream->tokens.size());
      rests.push_back({.stream = stream, .first_row = row, .begins = begins});
      if (causal()) past.push_back(&stream->cache);
    }
    row += stream->num_guesses + 1;
    if (!causal()) continue;
    stream->cache.set_length(stream->tokens.size());
    const std::size_t kept = std::min(stream->num_unchanged, stream->computed_tokens.size());
    copy_from(kept, stream->tokens, stream->computed_tokens);
    copy_from(kept * num_features, stream->features, stream->computed_features);
    stream->num_unchanged = 0;
    stream->num_certain = stream->tokens.size() - stream->num_guesses;
  }
  if (!rests.empty()) {
    const Batch batch = packer.take_whole();
    Network::Activations activations = network_.allocate(batch, workspace_);
    float* scratch = workspace_.floats(activations.scratch_size);
    const Pass pass{.batch = batch,
                    .layout = network_.layout(),
                    .weights = weights_.weights,
                    .packed = weights_.packed,
                    .attention = network_.options().attention,
                    .dropout = {},
                    .past = past};
    network_.forward(pass, batch.shards[0], positions_.rows(), activations, scratch);
    for (std::size_t i = 0; i < rests.size(); ++i) {
      const auto& [stream, first_row, begins] = rests[i];
      const Matrix hidden = activations.hidden().row_range(batch.first_token[i], batch.length(i));
      const std::size_t num_wanted = stream->num_guesses + 1;
      for (std::size_t r = 0; r < num_wanted; ++r) {
        std::copy_n(hidden.row(hidden.rows() - num_wanted + r), hidden.cols(), wanted.row(first_row + r));
      }
      if (begins && stream->num_guesses == 0) remember(*stream, hidden);
    }
  }
  hidden_ = wanted;
  return hidden_;
}

}  // namespace semfuse
