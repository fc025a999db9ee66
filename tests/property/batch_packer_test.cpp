#include <gtest/gtest.h>

#include "support/small_model.h"

namespace semfuse {
namespace {

std::vector<std::size_t> random_lengths(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out);
  std::vector<std::size_t> lengths(1 + random.next_below(150));
  const std::uint64_t longest = 1 + random.next_below(seed % 5 == 0 ? 700 : 40);  // Some are longer than a shard.
  for (std::size_t& length : lengths) length = 1 + random.next_below(longest);
  return lengths;
}

TEST(BatchPacker, ShardsCoverEverySentenceOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    const Batch batch = random_batch(random_lengths(seed), 9, 0, seed);
    std::size_t sentence = 0;
    std::size_t token = 0;
    for (std::size_t i = 0; i < batch.shards.size(); ++i) {
      const Shard& shard = batch.shards[i];
      ASSERT_EQ(shard.index, i);
      ASSERT_EQ(shard.first_sentence, sentence);
      ASSERT_EQ(shard.first_token, token);
      ASSERT_GT(shard.num_sentences, 0u);
      sentence += shard.num_sentences;
      token += shard.num_tokens;
      ASSERT_EQ(token, batch.first_token[sentence]);
    }
    ASSERT_EQ(sentence, batch.num_sentences());
    ASSERT_EQ(token, batch.num_tokens());
  }
}

// Work is shared out by shards, so no shard may be much larger than the others unless one sentence is.
TEST(BatchPacker, ShardsAreEven) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Batch batch = random_batch(random_lengths(seed), 9, 0, seed);
    const std::size_t mean = batch.num_tokens() / batch.shards.size();
    for (const Shard& shard : batch.shards) EXPECT_LE(shard.num_tokens, mean + 2 * batch.longest()) << "case " << seed;
  }
}

TEST(BatchPacker, KeepsTheSentencesInOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<std::size_t> lengths = random_lengths(seed);
    const Batch batch = random_batch(lengths, 9, 3, seed);
    ASSERT_EQ(batch.num_sentences(), lengths.size());
    ASSERT_EQ(batch.inputs.size(), batch.targets.size());
    ASSERT_EQ(batch.inputs.size(), batch.positions.size());
    ASSERT_EQ(batch.inputs.size() * 3, batch.features.size());
    std::size_t longest = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      ASSERT_EQ(batch.length(s), lengths[s]);
      longest = std::max(longest, lengths[s]);
      for (std::size_t t = 0; t < lengths[s]; ++t) ASSERT_EQ(batch.positions[batch.first_token[s] + t], t);
    }
    ASSERT_EQ(batch.longest(), longest);
  }
}

TEST(BatchPacker, BeginsAnewAfterTake) {
  BatchPacker packer(2);
  const std::vector<TokenId> first = {1, 2, 3};
  const std::vector<TokenId> second = {4};
  const std::vector<float> features = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  packer.add(first, first, features);
  EXPECT_EQ(packer.take().num_tokens(), 3u);
  packer.add(second, second, std::span(features).first(2));
  const Batch batch = packer.take();
  EXPECT_EQ(batch.inputs, second);
  EXPECT_EQ(batch.num_features, 2u);
  EXPECT_EQ(batch.feature_rows()(0, 1), 0.2f);
  EXPECT_EQ(batch.shards.size(), 1u);
}

TEST(BatchPacker, AnEmptyBatchHasNoShards) {
  const Batch batch = BatchPacker(4).take();
  EXPECT_EQ(batch.num_sentences(), 0u);
  EXPECT_TRUE(batch.shards.empty());
}

}  // namespace
}  // namespace semfuse
