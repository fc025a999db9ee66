// A pretrained model behind the ids of a LanguageModel: what generation reads texts with.
#pragma once

#include <vector>

#include "backbone/backbone_pass.h"
#include "model/stream_pass.h"

namespace semfuse {

// Ids of a LanguageModel are <pad>, <bos>, <eos>, then the model's own, each so much higher than in its file.
inline constexpr TokenId kFirstBackboneToken = Vocabulary::kEos + 1;

// Of what no text has; rules and guidance want finite ones.
inline constexpr float kNeverLogit = -1e30f;

// <bos> is read as the model's own if it reads one before a text, or if there is nothing else to begin with; <eos> has
// the probability of all tokens that end a text, which then have none themselves.
class BackboneStreamPass : public StreamPass {
 public:
  // `backbone` and `adapter`, if there is one, must outlive it.
  BackboneStreamPass(const Backbone& backbone, std::size_t num_threads, const AdapterWeights* adapter = nullptr);

  // Throws Error for a text that is longer than the model's context. The same for an
  // empty one if no token begins or ends texts.
  Matrix run(std::span<TokenStream* const> streams) override;
  ConstMatrix states(std::span<TokenStream* const> streams) override;
  std::optional<std::size_t> num_known(const TokenStream& stream) override;
  ConstMatrix hidden() const override { return pass_.hidden(); }

 private:
  // Whether the stream's <bos> is read.
  bool reads_begin(const TokenStream& stream) const;
  TokenId own_id(TokenId id) const;

  // What `compute` makes of what the streams have anew.
  template <class Compute>
  auto read(std::span<TokenStream* const> streams, const Compute& compute);

  // How many of the first `most` tokens that are read are as they were.
  std::size_t num_unchanged(const TokenStream& stream, std::size_t skipped, std::size_t most) const;

  const Backbone& backbone_;
  std::size_t num_features_;  // Of the adapter.
  BackbonePass pass_;
  Workspace workspace_;
  std::vector<std::vector<TokenId>> tokens_;  // Of each stream of a pass, what is read anew.
};

}  // namespace semfuse
