// Adapters beside frozen models against PyTorch (scripts/make_adapter_golden): logits, loss and every gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backbone/adapter_gradient.h"
#include "backbone/backbone_pass.h"
#include "backbone/backbone_stream_pass.h"
#include "io/tensor_archive.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

constexpr double kFeatureLoss = 0.7;

class AdapterParity : public testing::TestWithParam<const char*> {
 protected:
  AdapterParity()
      : archive_(TensorArchive::load(std::filesystem::path(SEMFUSE_SOURCE_DIR) / "tests/parity/adapters" /
                                     (std::string(GetParam()) + ".safetensors"))),
        spec_(small_backbone_spec(GetParam() == std::string("llama") ? BackboneFamily::llama : BackboneFamily::gpt2)) {
    spec_.bos = 1;
    spec_.eos = {2, 5};
    spec_.adds_bos = true;
    if (spec_.family == BackboneFamily::llama) spec_.rotary_pairs = RotaryPairs::halves;
    ReferenceBackbone<double> plain{.spec = spec_, .tensors = {}};
    for (const TensorInfo& info : archive_.tensors()) {
      if (!info.name.starts_with("backbone.")) continue;
      const std::span<const float> values = archive_.floats(info.name);
      plain.tensors[info.name.substr(9)].assign(values.begin(), values.end());
    }
    save_backbone(plain, folder_ / "model.safetensors");
    const TensorInfo* features = archive_.find("in.features");
    num_features_ = features != nullptr ? features->shape.back() : 0;
    num_texts_ = archive_.find("in.tokens")->shape[0];
    length_ = archive_.find("in.tokens")->shape[1];
    num_columns_ = archive_.find("in.requests")->shape[1];
  }

  std::span<const std::int32_t> row(const char* name, std::size_t text) const {
    return archive_.ints(name).subspan(text * length_, length_);
  }
  std::span<const float> features(std::size_t text) const {
    if (num_features_ == 0) return {};
    return archive_.floats("in.features").subspan(text * length_ * num_features_, length_ * num_features_);
  }
  std::span<const float> request(std::size_t text) const {
    return archive_.floats("in.requests").subspan(text * num_columns_, num_columns_);
  }
  Batch batch() const {
    BatchPacker packer(num_features_, kShardTokens, num_columns_);
    for (std::size_t text = 0; text < num_texts_; ++text) {
      std::vector<TokenId> ids = {Vocabulary::kBos};
      for (const std::int32_t token : row("in.tokens", text).subspan(1)) ids.push_back(token + kFirstBackboneToken);
      ids.push_back(Vocabulary::kEos);
      const std::span<const TokenId> all(ids);
      packer.add(all.first(length_), all.last(length_), features(text), request(text));
    }
    return packer.take_whole();
  }

  TensorArchive archive_;
  BackboneSpec spec_;
  TemporaryFolder folder_;
  std::size_t num_features_ = 0, num_texts_ = 0, length_ = 0, num_columns_ = 0;
};

TEST_P(AdapterParity, EqualsPyTorch) {
  const Backbone backbone(folder_.path());
  const TensorInfo* narrow = archive_.find("adapter.layers.0.query.narrow.bias");
  const Adapter adapter(spec_,
                        {.num_features = num_features_,
                         .num_request_columns = num_columns_,
                         .rank = narrow->shape[0],
                         .gate = archive_.find("adapter.gate.weight") != nullptr,
                         .feature_head = num_features_ > 0 ? archive_.find("adapter.aux_head.0.bias")->shape[0] : 0});
  ParameterBlock numbers(adapter.layout());
  for (const ParameterInfo& info : adapter.layout().entries()) {
    const std::span<const float> values = archive_.floats("adapter." + info.name);
    ASSERT_EQ(values.size(), info.size) << info.name;
    std::copy(values.begin(), values.end(), numbers.vector(info));
  }
  ThreadPool pool(1);
  AdapterWeights weights(adapter);
  weights.refresh(numbers, pool);

  BackbonePass pass(backbone, 1, &weights);
  for (std::size_t text = 0; text < num_texts_; ++text) {
    KeyValueCache cache = pass.make_cache();
    const std::span<const std::int32_t> tokens = row("in.tokens", text);
    const BackboneRead read{.cache = &cache,
                            .tokens = tokens,
                            .num_wanted = length_,
                            .request = request(text),
                            .features = {features(text).data(), num_features_ > 0 ? length_ : 0, num_features_}};
    const Matrix logits = pass.run({&read, 1});
    const float* expected = archive_.floats("out.logits").data() + text * length_ * logits.cols();
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t v = 0; v < logits.cols(); ++v) {
        ASSERT_NEAR(logits(t, v), expected[t * logits.cols() + v], 1e-4) << text << ", " << t << ", " << v;
      }
    }
  }

  const FrozenMaps maps(backbone, pool);
  AdapterGradient gradient(backbone, maps, adapter);
  ParameterBlock gradients(adapter.layout());
  const Batch all = batch();
  const AdapterLosses losses = gradient.run(all, all.shards.front(), weights, numbers,
                                            {.per_position = 1.0f, .feature_loss = kFeatureLoss}, gradients);
  EXPECT_NEAR(losses.tokens + kFeatureLoss * losses.features, archive_.floats("out.loss")[0], 1e-3);
  for (const ParameterInfo& info : adapter.layout().entries()) {
    const std::span<const float> expected = archive_.floats("grad." + info.name);
    ASSERT_EQ(expected.size(), info.size) << info.name;
    float largest = 0.0f;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 1e-6f) << info.name << " has no gradient, so its test shows nothing";
    for (std::size_t i = 0; i < info.size; ++i) {
      ASSERT_NEAR(gradients.vector(info)[i], expected[i], 2e-4f * largest + 1e-6f) << info.name << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AdapterParity, testing::Values("llama", "gpt2"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace semfuse
