#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/workspace.h"
#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

double exact(float x) {
  return static_cast<double>(x);
}

// A plain twin of one head over one sentence, in both directions.
struct AttentionTwin {
  std::size_t length;
  std::size_t width;
  std::vector<double> weights, context, d_q, d_k, d_v;

  double dropout(const AttentionSite& site, std::size_t i, std::size_t j) const {
    return site.dropout.keeps(site.first_dropout_row + i * site.dropout_row_step, j) ? exact(site.dropout.scale) : 0.0;
  }

  AttentionTwin(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix d_context)
      : length(q.rows()),
        width(q.cols()),
        weights(length * length),
        context(length * width),
        d_q(length * width),
        d_k(length * width),
        d_v(length * width) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(width));
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t readable = site.causal ? i + 1 : length;
      double* w = &weights[i * length];
      double largest = -INFINITY;
      for (std::size_t j = 0; j < readable; ++j) {
        for (std::size_t c = 0; c < width; ++c) w[j] += exact(q(i, c)) * exact(k(j, c)) * scale;
        if (site.causal) w[j] -= exact(site.slope) * static_cast<double>(i - j);
        largest = std::max(largest, w[j]);
      }
      double sum = 0.0;
      for (std::size_t j = 0; j < readable; ++j) sum += w[j] = std::exp(w[j] - largest);
      std::vector<double> d_w(length);
      double dot = 0.0;
      for (std::size_t j = 0; j < readable; ++j) {
        w[j] /= sum;
        const double kept = dropout(site, i, j);
        for (std::size_t c = 0; c < width; ++c) {
          context[i * width + c] += w[j] * kept * exact(v(j, c));
          d_v[j * width + c] += w[j] * kept * exact(d_context(i, c));
          d_w[j] += kept * exact(d_context(i, c)) * exact(v(j, c));
        }
        dot += d_w[j] * w[j];
      }
      for (std::size_t j = 0; j < readable; ++j) {
        const double d_score = w[j] * (d_w[j] - dot) * scale;
        for (std::size_t c = 0; c < width; ++c) {
          d_q[i * width + c] += d_score * exact(k(j, c));
          d_k[j * width + c] += d_score * exact(q(i, c));
        }
      }
    }
  }
};

AttentionSite site_of(bool causal, bool dropout, float slope = 0.0f) {
  return {.causal = causal,
          .slope = slope,
          .dropout = dropout ? DropoutMask(0.3, 1, 2, 3) : DropoutMask(),
          .first_dropout_row = 37,
          .dropout_row_step = 3};
}

void check(const AttentionSite& site, std::size_t length, std::size_t width, const Placement& placement, double size) {
  SCOPED_TRACE(testing::Message() << "length " << length << ", width " << width << ", causal " << site.causal
                                  << ", dropout " << site.dropout.active() << ", size " << size);
  // q, k and v are column ranges of one matrix, as in the network.
  GuardedMatrix qkv(length, 3 * width, placement);
  GuardedMatrix d_context(length, width, placement);
  const UniformNumbers values(length * 100 + width, size);
  qkv.fill([&](std::size_t i, std::size_t j) { return j < 2 * width ? values(i, j) : UniformNumbers(2)(i, j); });
  d_context.fill(UniformNumbers(3));
  const ConstMatrix q = qkv.view().column_range(0, width);
  const ConstMatrix k = qkv.view().column_range(width, width);
  const ConstMatrix v = qkv.view().column_range(2 * width, width);
  const AttentionTwin twin(site, q, k, v, d_context.view());
  const auto at = [&](const std::vector<double>& x) {
    return [&x, width](std::size_t i, std::size_t j) { return x[i * width + j]; };
  };
  const double tolerance = 3e-6 * std::max(1.0, size * size);  // A score's rounding error grows with the score.

  for_each_instruction_set([&] {
    const std::size_t stride = attention_stride(length);
    GuardedMatrix weights(1, length * stride);
    GuardedMatrix scratch(1, attention_scratch(length, width));
    GuardedMatrix context(length, width, {.gap = 3, .misalignment = placement.misalignment});
    const Matrix weight_rows(weights.data(), length, length, stride);
    attention_forward(site, q, k, v, weight_rows, context.view(), scratch.data());
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t block_end = std::min(length, (i / kAttentionBlock + 1) * kAttentionBlock);
      for (std::size_t j = 0; j < (site.causal ? block_end : length); ++j) {
        ASSERT_NEAR(exact(weight_rows(i, j)), twin.weights[i * length + j], tolerance);
      }
    }
    ASSERT_LT(worst_difference(context.view(), at(twin.context)), tolerance);
    ASSERT_TRUE(weights.guards_intact() && scratch.guards_intact() && context.guards_intact());

    GuardedMatrix d_q(length, width, {.misalignment = 1});
    GuardedMatrix d_k(length, width, {.gap = 2});
    GuardedMatrix d_v(length, width, {.gap = 1, .misalignment = 3});
    attention_backward(site, q, k, v, weight_rows, d_context.view(), d_q.view(), d_k.view(), d_v.view(),
                       scratch.data());
    const double sum_tolerance = 3.0 * tolerance * std::max(1.0, size);
    ASSERT_LT(worst_difference(d_q.view(), at(twin.d_q)), sum_tolerance);
    ASSERT_LT(worst_difference(d_k.view(), at(twin.d_k)), sum_tolerance * 2.0);
    ASSERT_LT(worst_difference(d_v.view(), at(twin.d_v)), sum_tolerance * 2.0);
    ASSERT_TRUE(weights.guards_intact() && scratch.guards_intact());
    ASSERT_TRUE(d_q.guards_intact() && d_k.guards_intact() && d_v.guards_intact());
    if (!site.causal || site.dropout.active() || site.slope > 0.0f) return;

    // Without weights that are kept: the same bits.
    GuardedMatrix more_scratch(1, causal_attention_scratch(length, width));
    GuardedMatrix again(length, width), d_q2(length, width), d_k2(length, width), d_v2(length, width);
    causal_attention(q, k, v, again.view(), more_scratch.data());
    causal_attention_backward(q, k, v, d_context.view(), d_q2.view(), d_k2.view(), d_v2.view(), more_scratch.data());
    ASSERT_TRUE(more_scratch.guards_intact());
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        ASSERT_EQ(again(i, j), context(i, j));
        ASSERT_EQ(d_q2(i, j), d_q(i, j));
        ASSERT_EQ(d_k2(i, j), d_k(i, j));
        ASSERT_EQ(d_v2(i, j), d_v(i, j));
      }
    }
  });
}

class AttentionTest : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(AttentionTest, EqualsAPlainLoopAtEverySize) {
  const auto [causal, dropout] = GetParam();
  const AttentionSite site = site_of(causal, dropout);
  std::size_t turn = 0;
  for (const std::size_t length : every_size(35)) {
    for (const std::size_t width : {1, 3, 4, 8, 17, 32}) {
      check(site, length, width, placements()[turn++ % placements().size()], 1.0);
      if (HasFatalFailure()) return;
    }
  }
  for (const std::size_t width : every_size()) {
    check(site, 6, width, placements()[turn++ % placements().size()], 1.0);
    if (HasFatalFailure()) return;
  }
  // Long texts are worked on in blocks of queries, and read in blocks.
  for (const std::size_t length : {47, 48, 49, 96, 130, 257}) check(site, length, 20, {.gap = 4}, 1.0);
  check(site, 512, 5, {}, 1.0);  // A stride that is not the length.
}

TEST_P(AttentionTest, HugeScoresDoNotOverflow) {
  const auto [causal, dropout] = GetParam();
  for (const std::size_t length : {1, 7, 16, 20}) check(site_of(causal, dropout), length, 8, {}, 30.0);
}

TEST(Attention, FarTokensAreReadLess) {
  for (const float slope : {0.003f, 0.5f, 2.0f}) {
    for (const std::size_t length : {1, 5, 15, 16, 17, 33, 48, 49, 130}) {
      for (const bool dropout : {false, true}) {
        check(site_of(true, dropout, slope), length, 8, {.gap = 4}, 1.0);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, AttentionTest, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "causal" : "bidirectional") +
                                  (std::get<1>(test.param) ? "_dropout" : "");
                         });

// A token's attention over keys stored in blocks has the bits of the whole sentence's.
TEST(Attention, OverKeysEqualsForward) {
  constexpr std::size_t kHeads = 3;
  const std::vector<std::vector<float>> of_heads = {{}, {0.5f, 0.03f, 0.0f}};
  for (const std::size_t length : {1, 2, 7, 8, 9, 16, 17, 40, 48, 65, 260}) {
    const std::vector<float>& slopes = of_heads[length % 2];
    for (const std::size_t head_width : {1, 4, 7, 16, 32}) {
      const std::size_t width = kHeads * head_width;
      GuardedMatrix q(length, width), k(length, width), v(length, width);
      q.fill(UniformNumbers(1));
      k.fill(UniformNumbers(2));
      v.fill(UniformNumbers(3));
      const std::size_t stride = attention_stride(length);
      AlignedFloats keys(stride * width);
      for (std::size_t t = 0; t < length; ++t) {
        for (std::size_t i = 0; i < width; ++i) keys.data()[key_offset(t, width) + i * kKeyBlock] = k(t, i);
      }
      for_each_instruction_set([&] {
        AlignedFloats weights(length * stride);
        AlignedFloats scratch(attention_scratch(length, head_width));
        GuardedMatrix whole(length, width);
        for (std::size_t head = 0; head < kHeads; ++head) {
          const auto columns = [&](GuardedMatrix& m) { return m.view().column_range(head * head_width, head_width); };
          attention_forward(site_of(true, false, slopes.empty() ? 0.0f : slopes[head]), columns(q), columns(k),
                            columns(v), {weights.data(), length, length, stride}, columns(whole), scratch.data());
        }
        AlignedFloats row_scratch(kHeads * stride);
        for (std::size_t t = 0; t < length; ++t) {
          GuardedMatrix context(1, width);
          attention_over_keys(q.view().row(t), keys.data(), v.view().row_range(0, t + 1), kHeads, slopes,
                              context.data(), row_scratch.data());
          ASSERT_TRUE(context.guards_intact());
          for (std::size_t i = 0; i < width; ++i) ASSERT_EQ(context(0, i), whole(t, i)) << length << " " << head_width;
        }
      });
    }
  }
}

// The gradients of the last token's context alone are those of the twin whose other tokens have none.
TEST(Attention, OverKeysBackwardEqualsTheTwin) {
  constexpr std::size_t kHeads = 2;
  for (const std::size_t length : {1, 7, 8, 9, 17, 40}) {
    for (const std::size_t head_width : {1, 7, 16}) {
      const std::size_t width = kHeads * head_width;
      GuardedMatrix q(length, width), k(length, width), v(length, width), d_context(length, width);
      q.fill(UniformNumbers(1));
      k.fill(UniformNumbers(2));
      v.fill(UniformNumbers(3));
      const UniformNumbers numbers(4);
      d_context.fill([&](std::size_t i, std::size_t j) { return i + 1 == length ? numbers(i, j) : 0.0f; });
      const std::size_t stride = attention_stride(length);
      AlignedFloats keys(stride * width);
      for (std::size_t t = 0; t < length; ++t) {
        for (std::size_t i = 0; i < width; ++i) keys.data()[key_offset(t, width) + i * kKeyBlock] = k(t, i);
      }
      for_each_instruction_set([&] {
        AlignedFloats weights(kHeads * stride);
        AlignedFloats d_keys(stride * width);
        GuardedMatrix context(1, width), d_q(1, width), d_v(length, width);
        const float* last = q.view().row(length - 1);
        attention_over_keys(last, keys.data(), v.view(), kHeads, {}, context.data(), weights.data());
        attention_over_keys_backward(last, keys.data(), v.view(), kHeads, context.data(),
                                     d_context.view().row(length - 1), weights.data(), d_q.data(), d_keys.data(),
                                     d_v.view());
        ASSERT_TRUE(d_q.guards_intact() && d_v.guards_intact());
        for (std::size_t head = 0; head < kHeads; ++head) {
          const auto columns = [&](GuardedMatrix& m) { return m.view().column_range(head * head_width, head_width); };
          const AttentionTwin twin(site_of(true, false), columns(q), columns(k), columns(v), columns(d_context));
          for (std::size_t i = 0; i < head_width; ++i) {
            const std::size_t column = head * head_width + i;
            ASSERT_NEAR(d_q(0, column), twin.d_q[(length - 1) * head_width + i], 1e-5);
            for (std::size_t t = 0; t < length; ++t) {
              ASSERT_NEAR(d_v(t, column), twin.d_v[t * head_width + i], 1e-5);
              ASSERT_NEAR(d_keys.data()[key_offset(t, width) + column * kKeyBlock], twin.d_k[t * head_width + i], 1e-5);
            }
          }
        }
      });
    }
  }
}

// What a causal token may not read cannot change its context.
TEST(Attention, CausalTokensIgnoreTheFuture) {
  constexpr std::size_t kLength = 19;
  GuardedMatrix q(kLength, 8), k(kLength, 8), v(kLength, 8), before(kLength, 8), after(kLength, 8);
  for (GuardedMatrix* m : {&q, &k, &v}) m->fill(UniformNumbers(1));
  AlignedFloats weights(kLength * attention_stride(kLength));
  AlignedFloats scratch(attention_scratch(kLength, 8));
  const Matrix weight_rows(weights.data(), kLength, kLength, attention_stride(kLength));
  for_each_instruction_set([&] {
    attention_forward(site_of(true, false), q.view(), k.view(), v.view(), weight_rows, before.view(), scratch.data());
    for (std::size_t t = 0; t + 1 < kLength; ++t) {
      GuardedMatrix k2(kLength, 8), v2(kLength, 8);
      k2.fill([&](std::size_t i, std::size_t j) { return i > t ? 50.0f : k(i, j); });
      v2.fill([&](std::size_t i, std::size_t j) { return i > t ? -50.0f : v(i, j); });
      attention_forward(site_of(true, false), q.view(), k2.view(), v2.view(), weight_rows, after.view(),
                        scratch.data());
      EXPECT_EQ(worst_difference(after.view().row_range(0, t + 1), before.view()), 0.0) << "token " << t;
    }
  });
}

}  // namespace
}  // namespace semfuse
