// What the fuzzer does with bytes as a steering head; the unit tests replay it over the seed corpus.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/matrix_view.h"
#include "fuzz/require.h"
#include "generation/pplm_source.h"
#include "generation/prefix_classifier.h"
#include "generation/value_source.h"
#include "model/steering_file.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a head. Only Error may escape, in one line; what is accepted can be tried on a model's rows.
inline bool fuzz_steering(std::span<const std::uint8_t> input) {
  const auto one_line = [](const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  };
  try {
    const auto* first = reinterpret_cast<const std::byte*>(input.data());
    const SteeringHead head = parse_steering(TensorArchive::parse({first, first + input.size()}, "fuzz"), "fuzz");
    fuzz_require(head.share > 0.0 && head.share < 1.0);
    for (const SteeringHead::Tensor& tensor : head.tensors) {
      for (const float value : tensor.values) fuzz_require(std::isfinite(value));
    }
    const std::vector<float> rows(3 * 2, 1.0f);
    try {
      std::vector<float> z(3);
      ValueReader(head, LogitRows::of({rows.data(), 3, 2}))
          .at(std::vector<TokenId>{Vocabulary::kBos}, std::vector<float>(2, 1.0f))
          .read(std::vector<TokenId>{0, 1, 2}, z);
    } catch (const Error& error) {
      one_line(error);
    }
    try {
      const MeanClassifier classifier(head, 2);
    } catch (const Error& error) {
      one_line(error);
    }
    try {
      const PrefixClassifier classifier(head, 3);
    } catch (const Error& error) {
      one_line(error);
    }
    return true;
  } catch (const Error& error) {
    one_line(error);
    return false;
  }
}

}  // namespace semfuse
