// Every gradient of an adapter, through the frozen backbone, against the complex step of a plain twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>

#include "backbone/adapter_gradient.h"
#include "backbone/backbone_stream_pass.h"
#include "core/random.h"
#include "support/reference_adapter.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

struct AdapterCase {
  std::string name;
  BackboneFamily family;
  bool adds_bos;
  std::size_t rank;
  std::size_t num_features;
  bool gate;
  std::size_t most_bytes;
};

class AdapterGradientTest : public testing::TestWithParam<AdapterCase> {
 protected:
  static constexpr double kFeatureLoss = 0.7;
  static constexpr std::size_t kColumns = 3;

  BackboneSpec spec() const {
    BackboneSpec spec = small_backbone_spec(GetParam().family);
    spec.bos = 1;
    spec.eos = {2, 5};
    spec.adds_bos = GetParam().adds_bos;
    if (GetParam().family == BackboneFamily::llama) spec.rotary_pairs = RotaryPairs::halves;
    return spec;
  }

  // Texts of a LanguageModel's ids, one of them with nothing asked for.
  Batch batch() const {
    const std::size_t num_features = GetParam().num_features;
    BatchPacker packer(num_features, kShardTokens, kColumns);
    std::uint64_t drawn = 0;
    const RandomStream random(7, RandomPurpose::weights, 1);
    for (const std::size_t length : {5, 9, 6}) {
      std::vector<TokenId> ids = {Vocabulary::kBos};
      for (std::size_t i = 0; i < length; ++i) {
        ids.push_back(kFirstBackboneToken + 6 + static_cast<TokenId>(random.uniform(drawn++) * 30));
      }
      ids.push_back(Vocabulary::kEos);
      const std::span<const TokenId> all(ids);
      std::vector<float> features;
      for (std::size_t i = 0; i < (length + 1) * num_features; ++i) {
        features.push_back(static_cast<float>(random.uniform(drawn++)));
      }
      const std::vector<float> request = length == 9
                                             ? std::vector<float>(kColumns)
                                             : std::vector<float>{1.0f, 0.1f * static_cast<float>(length), 0.4f};
      packer.add(all.first(length + 1), all.last(length + 1), features, request);
    }
    return packer.take_whole();
  }

  template <class T>
  std::vector<AdaptedText> texts(const Batch& batch, const T& rows) const {
    std::vector<AdaptedText> texts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || rows[i].sentence != rows[i - 1].sentence) {
        const float* request = batch.request_rows().row(rows[i].sentence);
        texts.push_back({.tokens = {}, .targets = {}, .request = {request, request + kColumns}, .features = {}});
      }
      EXPECT_EQ(rows[i].position, texts.back().tokens.size());
      texts.back().tokens.push_back(rows[i].token);
      texts.back().targets.push_back(rows[i].target);
      if (batch.num_features == 0) continue;
      const float* features = batch.feature_rows().row(rows[i].source);
      texts.back().features.emplace_back(features, features + batch.num_features);
    }
    return texts;
  }
};

TEST_P(AdapterGradientTest, EqualsTheTwin) {
  const ReferenceBackbone<double> plain = small_backbone(spec(), 5);
  const TemporaryFolder folder;
  save_backbone(plain, folder / "model.safetensors");
  const Backbone backbone(folder.path());
  const Adapter adapter(spec(), {.num_features = GetParam().num_features,
                                 .num_request_columns = kColumns,
                                 .rank = GetParam().rank,
                                 .gate = GetParam().gate,
                                 .feature_head = 5});
  ParameterBlock numbers(adapter.layout());
  ReferenceAdapter<std::complex<double>> twin;
  twin.backbone.spec = plain.spec;
  for (const auto& [name, values] : plain.tensors) twin.backbone.tensors[name].assign(values.begin(), values.end());
  std::uint64_t index = 0;
  for (const ParameterInfo& info : adapter.layout().entries()) {
    const RandomStream random(3, RandomPurpose::weights, index++);
    for (std::size_t i = 0; i < info.size; ++i) {
      numbers.vector(info)[i] = static_cast<float>(0.6 * (random.uniform(i) - 0.4));
    }
    twin.numbers[info.name].assign(numbers.vector(info), numbers.vector(info) + info.size);
  }
  ThreadPool pool(1);
  const FrozenMaps maps(backbone, pool);
  AdapterWeights weights(adapter);
  weights.refresh(numbers, pool);
  AdapterGradient gradient(backbone, maps, adapter, GetParam().most_bytes);
  ParameterBlock gradients(adapter.layout());
  const Batch all = batch();
  const AdapterLosses losses = gradient.run(all, all.shards.front(), weights, numbers,
                                            {.per_position = 1.0f, .feature_loss = kFeatureLoss}, gradients);
  const std::vector<AdaptedText> texts = this->texts(all, adapted_rows(all, all.shards.front(), spec()));
  ASSERT_EQ(texts.size(), 2U);
  const auto loss = [&] {
    std::complex<double> sum = 0.0;
    for (const AdaptedText& text : texts) sum += twin.loss(text, kFeatureLoss);
    return sum;
  };
  EXPECT_NEAR(losses.tokens + kFeatureLoss * losses.features, loss().real(), 1e-3);
  constexpr double kStep = 1e-30;
  for (const ParameterInfo& info : adapter.layout().entries()) {
    std::vector<double> expected(info.size);
    double largest = 0.0;
    for (std::size_t i = 0; i < info.size; ++i) {
      std::complex<double>& number = twin.numbers[info.name][i];
      number.imag(kStep);
      expected[i] = loss().imag() / kStep;
      number.imag(0.0);
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_GT(largest, 1e-9) << info.name << " has no gradient, so its test shows nothing";
    for (std::size_t i = 0; i < info.size; ++i) {
      ASSERT_NEAR(gradients.vector(info)[i], expected[i], 2e-4 * largest + 1e-6) << info.name << " at " << i;
    }
  }
}

constexpr std::size_t kKeepsAll = AdapterGradient::kMostBytes;
constexpr std::size_t kKeepsNothing = 0;

INSTANTIATE_TEST_SUITE_P(
    Cases, AdapterGradientTest,
    testing::Values(AdapterCase{"llama", BackboneFamily::llama, true, 2, 0, true, kKeepsAll},
                    AdapterCase{"llama_again", BackboneFamily::llama, true, 3, 0, true, kKeepsNothing},
                    AdapterCase{"llama_features", BackboneFamily::llama, true, 0, 4, true, kKeepsAll},
                    AdapterCase{"gpt2", BackboneFamily::gpt2, false, 2, 3, false, kKeepsNothing},
                    AdapterCase{"gpt2_gate", BackboneFamily::gpt2, false, 0, 0, true, kKeepsAll}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace semfuse
