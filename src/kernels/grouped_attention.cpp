#include "kernels/grouped_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/grouped_attention.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/matmul-inl.h"
#include "kernels/softmax_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Tokens whose values are mixed at a time: they stay in the first-level cache for all tiles.
constexpr std::size_t kMixBlock = 128;

// Rows that lie `stride` apart: the tokens of one head, or the heads of one token.
struct AttentionRows {
  const float* q;
  std::size_t q_stride;
  float* context;
  std::size_t context_stride;
  std::size_t count;
};

// scores [rows, stride] of the rows' keys 0 ... length - 1.
HWY_INLINE void score_rows(const AttentionRows& rows, const float* keys, std::size_t key_width, std::size_t head_width,
                           std::size_t length, float* scores, std::size_t stride) {
  for (std::size_t token = 0; token < length; token += kGroupedKeyBlock) {
    for (std::size_t col = 0; col < kGroupedKeyBlock; col += tile_cols()) {
      Tile tile{.a = rows.q,
                .a_row_stride = rows.q_stride,
                .a_depth_stride = 1,
                .b = keys + token * key_width + col,
                .b_stride = kGroupedKeyBlock,
                .depth = head_width,
                .c = scores + token + col,
                .c_stride = stride,
                .cols = std::min(tile_cols(), kGroupedKeyBlock - col)};
      multiply_panel(tile, rows.count, /*whole_rows=*/true);
    }
  }
}

HWY_INLINE void mix_rows(const AttentionRows& rows, ConstMatrix values, std::size_t length, const float* weights,
                         std::size_t stride) {
  for (std::size_t token = 0; token < length; token += kMixBlock) {
    for (std::size_t col = 0; col < values.cols(); col += tile_cols()) {
      const std::size_t cols = std::min(tile_cols(), values.cols() - col);
      Tile tile{.a = weights + token,
                .a_row_stride = stride,
                .a_depth_stride = 1,
                .b = values.row(token) + col,
                .b_stride = values.stride(),
                .depth = std::min(kMixBlock, length - token),
                .c = rows.context + col,
                .c_stride = rows.context_stride,
                .cols = cols,
                .resume = token > 0};
      multiply_panel(tile, rows.count, /*whole_rows=*/cols % hn::Lanes(Tag()) == 0);
    }
  }
}

void GroupedAttention(ConstMatrix q, const float* keys, std::size_t key_width, ConstMatrix values,
                      std::size_t first_token, std::size_t num_heads, Matrix context, float* scratch) {
  const std::size_t head_width = values.cols();
  const std::size_t length = first_token + q.rows();
  const std::size_t stride = (length + kGroupedKeyBlock - 1) / kGroupedKeyBlock * kGroupedKeyBlock + 16;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  const auto attend = [&](const AttentionRows& rows, std::size_t more) SEMFUSE_LAMBDA {
    score_rows(rows, keys, key_width, head_width, length, scratch, stride);
    for (std::size_t r = 0; r < rows.count; ++r) {
      softmax_row(scratch + r * stride, first_token + 1 + r * more, stride, scale);
    }
    mix_rows(rows, values, length, scratch, stride);
  };
  if (q.rows() == 1 && num_heads <= kGroupedQueryBlock) {
    attend({q.data(), head_width, context.data(), head_width, num_heads}, 0);
    return;
  }
  for (std::size_t head = 0; head < num_heads; ++head) {
    attend({q.data() + head * head_width, q.stride(), context.data() + head * head_width, context.stride(), q.rows()},
           1);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(GroupedAttention);

void grouped_attention(ConstMatrix q, const float* keys, std::size_t key_width, ConstMatrix values,
                       std::size_t first_token, std::size_t num_heads, Matrix context, float* scratch) {
  assert(q.rows() <= kGroupedQueryBlock && first_token + q.rows() <= values.rows());
  HWY_DYNAMIC_DISPATCH(GroupedAttention)(q, keys, key_width, values, first_token, num_heads, context, scratch);
}

}  // namespace semfuse
#endif
