#include "backbone/adapter.h"

#include <gtest/gtest.h>

#include <complex>
#include <numeric>

#include "backbone/adapted_model.h"
#include "backbone/backbone_pass.h"
#include "semfuse/error.h"
#include "support/reference_adapter.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"
#include "training/adapter_step.h"

namespace semfuse {
namespace {

ParameterBlock drawn(const ParameterLayout& layout) {
  ParameterBlock numbers(layout);
  std::uint64_t index = 0;
  for (const ParameterInfo& info : layout.entries()) {
    const RandomStream random(3, RandomPurpose::weights, index++);
    for (std::size_t i = 0; i < info.size; ++i) {
      numbers.vector(info)[i] = static_cast<float>(0.6 * (random.uniform(i) - 0.4));
    }
  }
  return numbers;
}

class AdapterTest : public testing::TestWithParam<BackboneFamily> {
 protected:
  void SetUp() override {
    spec_ = small_backbone_spec(GetParam());
    spec_.bos = 1;
    spec_.eos = {2};
    plain_ = small_backbone(spec_, 5);
    save_backbone(plain_, folder_ / "model.safetensors");
  }
  std::vector<std::vector<float>> logits(BackbonePass& pass, std::vector<BackboneRead> reads) {
    std::vector<KeyValueCache> caches;
    caches.reserve(reads.size());
    for (BackboneRead& read : reads) {
      caches.push_back(pass.make_cache());
      read.cache = &caches.back();
      read.num_wanted = read.tokens.size();
    }
    const Matrix rows = pass.run(reads);
    std::vector<std::vector<float>> result;
    for (std::size_t i = 0; i < rows.rows(); ++i) result.emplace_back(rows.row(i), rows.row(i) + rows.cols());
    return result;
  }

  TemporaryFolder folder_;
  BackboneSpec spec_;
  ReferenceBackbone<double> plain_;
  const std::vector<TokenId> tokens_ = {3, 9, 4, 30, 7, 7, 12, 8, 1, 22, 5};
  const std::vector<float> request_ = {1.0f, 0.25f, 0.5f};
};

TEST_P(AdapterTest, RunsAsThePlainOneAndLeavesOthersAlone) {
  const Backbone backbone(folder_.path());
  const Adapter adapter(spec_, {.num_features = 2, .num_request_columns = 3, .rank = 2, .feature_head = 5});
  const ParameterBlock numbers = drawn(adapter.layout());
  ThreadPool pool(1);
  AdapterWeights weights(adapter);
  weights.refresh(numbers, pool);

  ReferenceAdapter<double> twin{.backbone = plain_, .numbers = {}};
  for (const ParameterInfo& info : adapter.layout().entries()) {
    twin.numbers[info.name].assign(numbers.vector(info), numbers.vector(info) + info.size);
  }
  AdaptedText text{.tokens = tokens_, .targets = {}, .request = {request_.begin(), request_.end()}, .features = {}};
  std::vector<float> features;
  for (std::size_t t = 0; t < tokens_.size(); ++t) {
    text.features.push_back({0.1f * static_cast<float>(t), 0.5f});
    features.insert(features.end(), {0.1f * static_cast<float>(t), 0.5f});
  }
  const auto states = twin.states(text);

  BackbonePass alone(backbone, 1);
  const auto untouched = logits(alone, {{.tokens = tokens_}});
  for (const std::size_t threads : {1, 3}) {
    BackbonePass pass(backbone, threads, &weights);
    const BackboneRead asks{.tokens = tokens_, .request = request_, .features = {features.data(), tokens_.size(), 2}};
    const auto found = logits(pass, {{.tokens = tokens_}, asks, {.tokens = tokens_}});
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      EXPECT_EQ(found[t], untouched[t]) << "a text that asks for nothing is the backbone's";
      EXPECT_EQ(found[2 * tokens_.size() + t], untouched[t]);
      const std::vector<double> expected = plain_.linear("embedding", states[t]);
      for (std::size_t v = 0; v < expected.size(); ++v) {
        ASSERT_NEAR(found[tokens_.size() + t][v], expected[v], 5e-5) << t;
      }
    }
    // What is computed for a text does not depend on others, nor on how much is read at a time.
    EXPECT_EQ(logits(pass, {asks}).back(), found[2 * tokens_.size() - 1]);
    KeyValueCache cache = pass.make_cache();
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const BackboneRead one{.cache = &cache,
                             .tokens = std::span(tokens_).subspan(t, 1),
                             .num_wanted = 1,
                             .request = request_,
                             .features = {features.data() + 2 * t, 1, 2}};
      const Matrix row = pass.run({&one, 1});
      EXPECT_EQ(std::vector<float>(row.row(0), row.row(0) + row.cols()), found[tokens_.size() + t]);
    }
  }
}

TEST_P(AdapterTest, BeginsAsTheBackbone) {
  const Backbone backbone(folder_.path());
  const Adapter adapter(spec_, {.num_request_columns = 3, .rank = 4});
  const ParameterBlock numbers = adapter.initial_weights(1);
  ThreadPool pool(1);
  AdapterWeights weights(adapter);
  weights.refresh(numbers, pool);
  BackbonePass pass(backbone, 1, &weights);
  const auto found = logits(pass, {{.tokens = tokens_}, {.tokens = tokens_, .request = request_}});
  for (std::size_t t = 0; t < tokens_.size(); ++t) EXPECT_EQ(found[t], found[tokens_.size() + t]);
}

Batch batch_of_texts(std::size_t num_texts) {
  BatchPacker packer(0, 40, 3);
  for (std::size_t s = 0; s < num_texts; ++s) {
    std::vector<TokenId> ids = {Vocabulary::kBos};
    for (std::size_t i = 0; i < 5 + s % 7; ++i) ids.push_back(static_cast<TokenId>(6 + (s * 11 + i * 5) % 30));
    ids.push_back(Vocabulary::kEos);
    const std::span<const TokenId> all(ids);
    const std::vector<float> request = {1.0f, 0.1f * static_cast<float>(s % 10), 0.2f};
    packer.add(all.first(ids.size() - 1), all.last(ids.size() - 1), {}, s % 4 == 3 ? std::vector<float>(3) : request);
  }
  return packer.take();
}

TEST_P(AdapterTest, StepsHaveTheSameBitsForAnyNumberOfThreads) {
  const BackboneNetwork network(describe_backbone(folder_.path()), {.num_request_columns = 3, .rank = 2});
  const ParameterBlock weights = drawn(*network.layout());
  std::vector<float> first;
  for (const std::size_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    AdapterStep step(network, 0.0, pool, /*grain=*/60);
    BatchShare share{.batch = batch_of_texts(23), .leaves = {}, .num_tokens = 0, .targets = {}};
    share.leaves = step.leaves(share.batch.first_token);
    share.num_tokens = share.batch.num_tokens();
    EXPECT_GT(share.leaves.size(), 2U);
    ParameterBlock gradients(*network.layout());
    const Losses losses = step.run(share, weights, {}, gradients);
    EXPECT_GT(losses.tokens, 1.0);
    std::vector<float> found(gradients.data(), gradients.data() + gradients.size());
    found.push_back(static_cast<float>(losses.total));
    if (first.empty()) first = found;
    EXPECT_EQ(found, first);
  }
}

TEST_P(AdapterTest, LongTextsTakeMemoryInProportion) {
  spec_.context = 4096;
  if (spec_.positions == BackbonePositions::learned) GTEST_SKIP() << "positions are a table of another size";
  save_backbone({.spec = spec_, .tensors = plain_.tensors}, folder_ / "model.safetensors");
  const Backbone backbone(folder_.path());
  const Adapter adapter(spec_, {.num_request_columns = 3, .rank = 2});
  const ParameterBlock numbers = drawn(adapter.layout());
  ThreadPool pool(1);
  const FrozenMaps maps(backbone, pool);
  AdapterWeights weights(adapter);
  weights.refresh(numbers, pool);
  std::vector<std::size_t> bytes;
  for (const std::size_t length : {512, 1024, 2048}) {
    BatchPacker packer(0, kShardTokens, 3);
    std::vector<TokenId> ids(length + 1);
    for (std::size_t i = 0; i <= length; ++i) ids[i] = static_cast<TokenId>(6 + i * i % 30);
    packer.add(std::span(ids).first(length), std::span(ids).last(length), {}, request_);
    const Batch batch = packer.take();
    AdapterGradient gradient(backbone, maps, adapter);
    ParameterBlock gradients(adapter.layout());
    gradient.run(batch, batch.shards.front(), weights, numbers, {}, gradients);
    bytes.push_back(gradient.peak_bytes());
  }
  EXPECT_LT(bytes[2] - bytes[1], 2.2 * static_cast<double>(bytes[1] - bytes[0]));
}

INSTANTIATE_TEST_SUITE_P(Families, AdapterTest, testing::Values(BackboneFamily::llama, BackboneFamily::gpt2),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(AdapterRecord, RoundTripsAndRefuses) {
  const AdapterRecord record{
      .file = {.path = "/a/model.safetensors", .sha256 = std::string(64, 'a'), .size = 12, .modified = -3}, .rank = 4};
  const AdapterRecord again = parse_adapter_record(to_json(record), "x");
  EXPECT_EQ(again.file, record.file);
  EXPECT_EQ(again.rank, 4U);
  for (const char* text : {"[]", "{}", R"({"version":2,"backbone":"a","sha256":"b","size":1,"modified":1,"rank":1})",
                           R"({"version":1,"backbone":"a","sha256":"b","size":-1,"modified":1,"rank":1})",
                           R"({"version":1,"backbone":"","sha256":"b","size":1,"modified":1,"rank":1})",
                           R"({"version":1,"backbone":7,"sha256":"b","size":1,"modified":1,"rank":1})",
                           R"({"version":1,"backbone":"a","sha256":"b","size":1,"modified":1,"rank":99999})"}) {
    EXPECT_THROW(parse_adapter_record(text, "x"), Error) << text;
  }
}

}  // namespace
}  // namespace semfuse
