// What the fuzzer does with bytes as an imported model's file; the unit tests replay it over the seed corpus.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backbone/backbone_pass.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a model. Only Error may escape, in one line; what is accepted runs, with an adapter and
// without, and a text that asks for nothing has the same logits in both.
inline bool fuzz_imported_model(std::span<const std::uint8_t> input) {
  const int file = ::memfd_create("fuzz", 0);
  fuzz_require(file >= 0 && ::write(file, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  bool accepted = false;
  try {
    const Backbone backbone("/proc/self/fd/" + std::to_string(file));
    const BackboneSpec& spec = backbone.spec();
    fuzz_require(backbone.stored_bytes() <= input.size());
    const Adapter adapter(spec, {.num_request_columns = 2, .rank = 1});
    const ParameterBlock numbers = adapter.initial_weights(1);
    ThreadPool pool(1);
    AdapterWeights weights(adapter);
    weights.refresh(numbers, pool);
    const std::vector<TokenId> tokens = {0, static_cast<TokenId>(spec.vocab_size - 1)};
    const std::size_t count = std::min<std::size_t>(tokens.size(), spec.context);
    const std::vector<float> request = {1.0f, 0.5f};
    std::vector<std::vector<std::uint32_t>> found;
    for (const AdapterWeights* beside : {static_cast<const AdapterWeights*>(nullptr), &std::as_const(weights)}) {
      BackbonePass pass(backbone, 1, beside);
      KeyValueCache plain = pass.make_cache();
      KeyValueCache asked = pass.make_cache();
      std::vector<BackboneRead> reads = {{.cache = &plain, .tokens = std::span(tokens).first(count)}};
      if (beside != nullptr) {
        reads.push_back({.cache = &asked, .tokens = std::span(tokens).first(count), .request = request});
      }
      const Matrix logits = pass.run(reads);
      fuzz_require(logits.cols() == spec.vocab_size && logits.rows() == reads.size());
      found.emplace_back(logits.cols());
      std::memcpy(found.back().data(), logits.row(0), logits.cols() * sizeof(float));  // They may be no numbers.
    }
    fuzz_require(found[0] == found[1]);
    accepted = true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  ::close(file);
  return accepted;
}

}  // namespace semfuse
