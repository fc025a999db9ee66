// What the fuzzer does with bytes as an adapter's file beside its backbone; the unit tests replay it over the seed
// corpus.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "backbone/adapted_model.h"
#include "backbone/backbone_pass.h"
#include "fuzz/require.h"
#include "generation/read_model.h"
#include "io/tensor_archive.h"
#include "model/model_access.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {

// Seeds name their backbone /proc/self/fd/900, last changed at 0: while its size is the same it need not have its hash.
inline constexpr int kFuzzedBackbone = 900;

// The first four bytes say how many of the next are the backbone; the rest is the adapter's file. True if the bytes are
// a model. Only Error may escape, in one line; what is accepted holds every number of the adapter and reads a token,
// and so do its heads if they fit.
inline bool fuzz_adapter_file(std::span<const std::uint8_t> input) {
  std::uint32_t size = 0;
  if (input.size() < sizeof(size)) return false;
  std::memcpy(&size, input.data(), sizeof(size));
  input = input.subspan(sizeof(size));
  if (size > input.size()) return false;
  const int file = ::memfd_create("fuzz", 0);
  fuzz_require(file >= 0 && ::write(file, input.data(), size) == static_cast<ssize_t>(size));
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = 0}, {.tv_sec = 0, .tv_nsec = 0}};
  fuzz_require(::futimens(file, times) == 0 && ::dup2(file, kFuzzedBackbone) == kFuzzedBackbone);
  ::close(file);
  bool accepted = false;
  try {
    const auto* first = reinterpret_cast<const std::byte*>(input.data());
    const TensorArchive archive = TensorArchive::parse({first + size, first + input.size()}, "fuzz");
    const LanguageModel model = parse_checkpoint(archive, "fuzz").model;
    fuzz_require(model.parameter_count() * sizeof(float) <= input.size());
    if (const BackboneNetwork* network = adapted_network(model)) {
      fuzz_require(model.parameters().size() == archive.tensors().size());
      const AdapterRecord record{.file = *network->file(), .rank = network->adapter()->shape().rank};
      fuzz_require(to_json(parse_adapter_record(to_json(record), "fuzz")) == to_json(record));
      if (network->num_features() == 0) {
        ThreadPool pool(1);
        AdapterWeights weights(*network->adapter());
        weights.refresh(ModelAccess::weights(model), pool);
        BackbonePass pass(network->backbone(), 1, &weights);
        KeyValueCache cache = pass.make_cache();
        const TokenId token = 0;
        const std::vector<float> request(network->adapter()->shape().num_request_columns, 0.5f);
        const BackboneRead read{.cache = &cache, .tokens = {&token, 1}, .request = request};
        fuzz_require(pass.run({&read, 1}).cols() == network->backbone().spec().vocab_size);
      }
      const ReadModel read(model);
      for (const auto& [knob, head] : model.heads()) {
        std::vector<float> z(model.vocabulary().size());
        std::vector<TokenId> all(z.size());
        std::iota(all.begin(), all.end(), TokenId{0});
        const std::vector<float> state(model.options().width, 1.0f);
        read.knob_reader(knob)->reader.at(std::vector<TokenId>{Vocabulary::kBos}, state).read(all, z);
      }
      accepted = true;
    }
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  ::close(kFuzzedBackbone);
  return accepted;
}

}  // namespace semfuse
