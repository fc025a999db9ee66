#include "backbone/backbone_stream_pass.h"

#include <algorithm>
#include <cassert>

#include "kernels/softmax.h"
#include "semfuse/error.h"

namespace semfuse {

BackboneStreamPass::BackboneStreamPass(const Backbone& backbone, std::size_t num_threads, const AdapterWeights* adapter)
    : backbone_(backbone),
      num_features_(adapter != nullptr ? adapter->adapter().shape().num_features : 0),
      pass_(backbone, num_threads, adapter) {}

std::size_t BackboneStreamPass::num_unchanged(const TokenStream& stream, std::size_t skipped, std::size_t most) const {
  const std::size_t num_features = stream.request.empty() ? 0 : num_features_;  // Nobody reads them else.
  const auto is_same = [&](std::size_t t) {
    const auto row = [&](const std::vector<float>& features) { return features.data() + t * num_features; };
    return stream.tokens[t] == stream.computed_tokens[t] &&
           (num_features == 0 ||
            std::equal(row(stream.features), row(stream.features) + num_features, row(stream.computed_features)));
  };
  std::size_t known = 0;
  while (known < most && is_same(skipped + known)) ++known;
  return known;
}

bool BackboneStreamPass::reads_begin(const TokenStream& stream) const {
  const bool nothing_else = stream.num_shared <= 1;  // No prompt.
  return backbone_.spec().adds_bos || nothing_else;
}

TokenId BackboneStreamPass::own_id(TokenId id) const {
  if (id >= kFirstBackboneToken) return id - kFirstBackboneToken;
  const BackboneSpec& spec = backbone_.spec();
  if (id == Vocabulary::kBos && spec.bos) return *spec.bos;
  // Many models end a text with what also begins one.
  if (!spec.eos.empty()) return spec.eos.front();
  throw Error("the model has no token that begins a text; give it a prompt");
}

std::optional<std::size_t> BackboneStreamPass::num_known(const TokenStream& stream) {
  const std::size_t skipped = reads_begin(stream) ? 0 : 1;
  const std::size_t count = stream.tokens.size() - skipped;
  return skipped + num_unchanged(stream, skipped, std::min(stream.cache.length(), count - 1 - stream.num_guesses));
}

template <class Compute>
auto BackboneStreamPass::read(std::span<TokenStream* const> streams, const Compute& compute) {
  std::vector<BackboneRead> reads;
  tokens_.assign(streams.size(), {});
  for (std::size_t i = 0; i < streams.size(); ++i) {
    TokenStream& stream = *streams[i];
    const std::size_t skipped = reads_begin(stream) ? 0 : 1;
    const std::size_t count = stream.tokens.size() - skipped;
    assert(count > stream.num_guesses);
    const std::size_t most = std::min(stream.cache.length(), count - 1 - stream.num_guesses);
    const std::size_t known = num_unchanged(stream, skipped, most);
    for (std::size_t t = skipped + known; t < stream.tokens.size(); ++t) tokens_[i].push_back(own_id(stream.tokens[t]));
    stream.cache.set_length(known);
    reads.push_back({.cache = &stream.cache,
                     .tokens = tokens_[i],
                     .num_wanted = stream.num_guesses + 1,
                     .request = stream.request});
    if (num_features_ == 0 || stream.request.empty()) continue;
    const std::size_t first = skipped + known;
    reads.back().features = {stream.features.data() + first * num_features_, tokens_[i].size(), num_features_};
  }
  const auto computed = compute(reads);
  for (TokenStream* stream : streams) {
    stream->computed_tokens = stream->tokens;
    if (num_features_ > 0) stream->computed_features = stream->features;
    stream->num_unchanged = 0;
    stream->num_certain = stream->tokens.size() - stream->num_guesses;
  }
  return computed;
}

ConstMatrix BackboneStreamPass::states(std::span<TokenStream* const> streams) {
  return read(streams, [&](std::span<const BackboneRead> reads) { return pass_.states(reads); });
}

Matrix BackboneStreamPass::run(std::span<TokenStream* const> streams) {
  const BackboneSpec& spec = backbone_.spec();
  const Matrix own = read(streams, [&](std::span<const BackboneRead> reads) { return pass_.run(reads); });
  workspace_.reset();
  const Matrix logits = workspace_.matrix(own.rows(), own.cols() + kFirstBackboneToken);
  std::vector<float> ends;
  for (std::size_t r = 0; r < own.rows(); ++r) {
    float* row = logits.row(r);
    std::copy_n(own.row(r), own.cols(), row + kFirstBackboneToken);
    row[Vocabulary::kPad] = row[Vocabulary::kBos] = row[Vocabulary::kEos] = kNeverLogit;
    ends.clear();
    for (const TokenId id : spec.eos) ends.push_back(own(r, static_cast<std::size_t>(id)));
    if (ends.empty()) continue;
    row[Vocabulary::kEos] = ends.size() == 1 ? ends.front() : log_sum_exp(ends.data(), ends.size());
    for (const TokenId id : spec.eos) row[kFirstBackboneToken + id] = kNeverLogit;
  }
  return logits;
}

}  // namespace semfuse
