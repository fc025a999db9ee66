// The network of a model that was trained elsewhere, as generation reads it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/parameter_block.h"
#include "model/stream_pass.h"

namespace semfuse {

// Its tokens are those of its LanguageModel's vocabulary. Immutable; may be used from several threads at once.
class PretrainedNetwork {
 public:
  virtual ~PretrainedNetwork() = default;

  virtual std::size_t parameter_count() const = 0;
  virtual std::size_t context() const = 0;      // Tokens of a text, <bos> included, at most.
  virtual bool begins_texts() const = 0;        // Can write without a prompt.
  virtual std::string fingerprint() const = 0;  // Of its numbers, without what is trained beside it.
  // What a state's product with is the logit of a token, out [width]; of <eos> the row of the first token that ends
  // texts, and 0 for what never comes.
  virtual void output_row(TokenId id, float* row) const = 0;
  // What its passes fill; empty.
  virtual KeyValueCache empty_cache() const = 0;
  // A pass with so many threads of its own. The network and the weights, which are those of layout(), must outlive it.
  virtual std::unique_ptr<StreamPass> open_pass(std::size_t num_threads, const ParameterBlock& weights) const = 0;
  // What is trained beside it; nullptr: nothing.
  virtual const ParameterLayout* layout() const { return nullptr; }
  // Numbers that are read with each token, beside it.
  virtual std::size_t num_features() const { return 0; }
};

}  // namespace semfuse
