#include "backbone/backbone_pass.h"

#include <gtest/gtest.h>

#include "semfuse/error.h"
#include "support/instruction_sets.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

std::vector<TokenId> tokens_of(std::size_t count, const BackboneSpec& spec) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * i * 7 + 3) % spec.vocab_size));
  return tokens;
}

std::vector<std::vector<float>> rows_of(Matrix logits) {
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < logits.rows(); ++i) rows.emplace_back(logits.row(i), logits.row(i) + logits.cols());
  return rows;
}

std::vector<BackboneSpec> all_shapes() {
  std::vector<BackboneSpec> specs(8, small_backbone_spec(BackboneFamily::llama));
  specs[1].rotary_pairs = RotaryPairs::halves;
  specs[1].tied = false;
  specs[2].num_key_heads = 1;
  specs[2].head_width = 10;  // Heads wider together than the model.
  specs[3].num_heads = specs[3].num_key_heads = 3;
  specs[3].head_width = 2;
  specs[3].rotary_base = 77.0;
  specs[3].norm_epsilon = 0.01;
  for (std::size_t i = 4; i < 8; ++i) specs[i] = small_backbone_spec(BackboneFamily::gpt2);
  specs[5].activation = BackboneActivation::gelu_erf;
  specs[6].activation = BackboneActivation::relu;
  specs[6].tied = false;
  specs[7].head_width = 5;
  specs[7].model_width = 20;
  return specs;
}

TEST(BackbonePass, IsThePlainModel) {
  const TemporaryFolder folder;
  for (const BackboneSpec& spec : all_shapes()) {
    const ReferenceBackbone<double> plain = small_backbone(spec);
    save_backbone(plain, folder / "model.safetensors");
    const Backbone backbone(folder.path());
    const std::vector<TokenId> tokens = tokens_of(66, spec);
    const auto expected = plain.logits(tokens);
    for_each_instruction_set([&] {
      BackbonePass pass(backbone, 1);
      KeyValueCache cache = pass.make_cache();
      const BackboneRead read{.cache = &cache, .tokens = tokens, .num_wanted = tokens.size()};
      const Matrix logits = pass.run({&read, 1});
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        for (std::size_t id = 0; id < spec.vocab_size; ++id) ASSERT_NEAR(logits(t, id), expected[t][id], 2e-5) << t;
      }
    });
  }
}

TEST(BackbonePass, TextsGrowTogetherAsTheyDoAlone) {
  const TemporaryFolder folder;
  const BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  save_backbone(small_backbone(spec), folder / "model.safetensors");
  const Backbone backbone(folder.path());
  const std::vector<TokenId> tokens = tokens_of(60, spec);
  BackbonePass pass(backbone, 1);
  KeyValueCache whole = pass.make_cache();
  const BackboneRead all{.cache = &whole, .tokens = tokens, .num_wanted = tokens.size()};
  const auto expected = rows_of(pass.run({&all, 1}));

  BackbonePass other(backbone, 3);
  std::vector<KeyValueCache> caches(3, other.make_cache());
  const std::size_t first[] = {1, 17, 40};
  for (std::size_t step = 0; step < 5; ++step) {
    std::vector<BackboneRead> reads;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t before = caches[i].length();
      const std::size_t count = step == 0 ? first[i] : i + step;
      reads.push_back(
          {.cache = &caches[i], .tokens = std::span(tokens).subspan(before, count), .num_wanted = i % 2 + 0U});
    }
    const auto rows = rows_of(other.run(reads));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], expected[caches[1].length() - 1]);
  }
}

TEST(BackbonePass, RefusesATextThatIsLongerThanItsContext) {
  const TemporaryFolder folder;
  const BackboneSpec spec = small_backbone_spec(BackboneFamily::gpt2);
  save_backbone(small_backbone(spec), folder / "model.safetensors");
  const Backbone backbone(folder.path());
  BackbonePass pass(backbone, 1);
  KeyValueCache cache = pass.make_cache();
  const std::vector<TokenId> tokens = tokens_of(spec.context + 1, spec);
  const BackboneRead read{.cache = &cache, .tokens = tokens, .num_wanted = 1};
  EXPECT_THROW(pass.run({&read, 1}), Error);
}

}  // namespace
}  // namespace semfuse
