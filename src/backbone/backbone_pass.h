// Forward passes of a pretrained model over texts that grow, many rows at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backbone/adapter.h"
#include "backbone/backbone.h"
#include "core/thread_pool.h"
#include "core/workspace.h"
#include "kernels/rotary.h"
#include "kernels/stored_matmul.h"
#include "model/key_value_cache.h"

namespace semfuse {

// Tokens that follow those whose keys and values a cache holds already.
struct BackboneRead {
  KeyValueCache* cache = nullptr;
  std::span<const TokenId> tokens;  // At least one; all below vocab_size.
  std::size_t num_wanted = 1;       // Logits after so many of the last tokens are wanted; may be 0.
  // What the text asks an adapter for, the same for all of its tokens; empty: nothing, and the backbone is alone.
  std::span<const float> request = {};
  ConstMatrix features = {};  // [tokens, features] of the adapter; only if something is asked for.
};

// What is computed for a token depends on its text alone: not on the other texts of a pass, on how many tokens of a
// text one pass reads, or on the number of threads. One thread at a time.
class BackbonePass {
 public:
  // `backbone` and `adapter` must outlive it; without an adapter nothing can be asked for.
  BackbonePass(const Backbone& backbone, std::size_t num_threads, const AdapterWeights* adapter = nullptr);

  // An empty cache of the right kind.
  KeyValueCache make_cache() const;

  // Reads the tokens of each text, whose caches then hold them too. Of each in turn num_wanted rows of logits; valid
  // until the next call. Throws Error if a text becomes longer than the model's context.
  Matrix run(std::span<const BackboneRead> reads);
  // The same without the logits: the normalised states that they are computed from, [rows, width].
  ConstMatrix states(std::span<const BackboneRead> reads);
  // Those of the last call; valid until the next.
  ConstMatrix hidden() const { return hidden_; }

 private:
  struct Row {
    const BackboneRead* read;
    std::size_t position;
    TokenId token;
    std::size_t index;  // In read->tokens.
  };
  // Neighbouring rows that ask for something.
  struct Stated {
    std::size_t first;
    std::size_t count;
  };
  struct Product {
    const StoredLinear* map;
    Matrix y;
  };

  // The rows' states after the last layer; rows of one text are in order.
  Matrix run_layers(std::span<const Row> rows);
  void embed(std::span<const Row> rows, Matrix x);
  void fuse(std::span<const Row> rows, Matrix x);
  // y += the adapter's update, in the rows that ask for something.
  void update(std::size_t layer, Adapter::Site site, ConstMatrix x, Matrix y);
  template <class Body>
  void for_stated_blocks(const Body& body);
  void attend(std::span<const Row> rows, std::size_t layer, Matrix q, Matrix k, Matrix v, Matrix context);
  void normalise(ConstMatrix x, const NormWeights& weights, std::size_t first, std::size_t count, Matrix y) const;

  // Each y = x · Wᵀ + b; `x` is what all read.
  void multiply(ConstMatrix x, std::span<const Product> products);
  // body(first, count) for blocks of rows, shared by the threads if there are many.
  template <class Body>
  void for_row_blocks(std::size_t rows, const Body& body);

  const Backbone& backbone_;
  const AdapterWeights* adapter_;
  ThreadPool pool_;
  RotaryTable rotary_;
  Workspace workspace_;
  Workspace layer_workspace_;
  AlignedFloats attention_scratch_;
  QuantisedRows quantised_;
  std::vector<Stated> stated_;  // Of the rows in work, a block of a few each.
  Matrix requests_;             // Of these rows; those that ask for nothing are not filled.
  AdapterWeights::Narrow narrow_;
  ConstMatrix hidden_;
};

}  // namespace semfuse
