#include "kernels/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "kernels/matmul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// target [cols, stride] = matrixᵀ, with zeros up to the stride.
void transpose(ConstMatrix matrix, float* target, std::size_t stride) {
  std::fill_n(target, matrix.cols() * stride, 0.0f);
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    const float* row = matrix.row(i);
    for (std::size_t j = 0; j < matrix.cols(); ++j) target[j * stride + i] = row[j];
  }
}

// c = a · b for an a and b that are read row by row.
void product(ConstMatrix a, ConstMatrix b, Matrix c, bool whole_rows) {
  multiply({.a = a.data(),
            .a_row_stride = a.stride(),
            .a_depth_stride = 1,
            .b = b.data(),
            .b_stride = b.stride(),
            .depth = b.rows(),
            .c = c.data(),
            .c_stride = c.stride(),
            .cols = c.cols()},
           c.rows(), whole_rows);
}

// c = aᵀ · b
void transposed_product(ConstMatrix a, ConstMatrix b, Matrix c) {
  multiply({.a = a.data(),
            .a_row_stride = 1,
            .a_depth_stride = a.stride(),
            .b = b.data(),
            .b_stride = b.stride(),
            .depth = b.rows(),
            .c = c.data(),
            .c_stride = c.stride(),
            .cols = c.cols()},
           c.rows(), false);
}

// Softmax of the first `count` of a row's scores times `scale`; the rest of its `stride` numbers become 0.
HWY_INLINE void softmax_row(float* row, std::size_t count, std::size_t stride, float scale) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const Vector lowest = hn::Set(d, -hwy::HighestValue<float>());
  Vector largest = lowest;
  for (std::size_t j = 0; j < count; j += lanes) {
    const auto valid = hn::FirstN(d, count - j);
    largest = hn::Max(largest, hn::IfThenElse(valid, hn::Load(d, row + j), lowest));
  }
  largest = hn::MaxOfLanes(d, largest);
  const Vector factor = hn::Set(d, scale);
  Vector sum = hn::Zero(d);
  for (std::size_t j = 0; j < count; j += lanes) {
    const Vector e = hn::IfThenElseZero(hn::FirstN(d, count - j),
                                        hn::Exp(d, hn::Mul(hn::Sub(hn::Load(d, row + j), largest), factor)));
    sum = hn::Add(sum, e);
    hn::Store(e, d, row + j);
  }
  const Vector inverse = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
  std::size_t j = 0;
  for (; j < count; j += lanes) hn::Store(hn::Mul(hn::Load(d, row + j), inverse), d, row + j);
  for (; j < stride; j += lanes) hn::Store(hn::Zero(d), d, row + j);
}

// Tokens of a long causal text that are worked on together: they read what is before the last of them and skip the
// rest, where weights are 0. Adding a zero product changes no sum, so this changes no bit.
constexpr std::size_t kCausalBlock = 64;

// Calls visit(first, end, readable) for blocks of tokens that read tokens 0 ... readable - 1 at most.
template <class Visit>
HWY_INLINE void for_blocks(bool causal, std::size_t length, const Visit& visit) {
  if (!causal) {
    visit(std::size_t{0}, length, length);
    return;
  }
  for (std::size_t first = 0; first < length; first += kCausalBlock) {
    const std::size_t end = std::min(length, first + kCausalBlock);
    visit(first, end, end);
  }
}

// dropped [length, length] = dropout(weights)
void drop(const AttentionSite& site, ConstMatrix weights, Matrix dropped) {
  const Tag d;
  for (std::size_t i = 0; i < weights.rows(); ++i) {
    RowDropout dropout(site.dropout, site.first_dropout_row + i * site.dropout_row_step);
    for (std::size_t j = 0; j < weights.stride(); j += hn::Lanes(d)) {
      hn::Store(dropout.apply(hn::Load(d, weights.row(i) + j), j), d, dropped.row(i) + j);
    }
  }
}

void AttentionForward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                      Matrix context, float* scratch) {
  const std::size_t length = q.rows();
  const std::size_t head_width = q.cols();
  const std::size_t stride = attention_stride(length);
  assert(weights.stride() == stride);
  float* k_transposed = scratch;
  Matrix dropped(scratch + head_width * stride, length, length, stride);

  transpose(k, k_transposed, stride);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  for_blocks(site.causal, length, [&](std::size_t first, std::size_t end, std::size_t readable) SEMFUSE_LAMBDA {
    product(q.row_range(first, end - first), ConstMatrix(k_transposed, head_width, readable, stride),
            Matrix(weights.row(first), end - first, readable, stride), true);
    for (std::size_t i = first; i < end; ++i) softmax_row(weights.row(i), site.causal ? i + 1 : length, stride, scale);
  });
  if (site.dropout.active()) drop(site, weights, dropped);
  const ConstMatrix used = site.dropout.active() ? dropped : weights;
  for_blocks(site.causal, length, [&](std::size_t first, std::size_t end, std::size_t readable) SEMFUSE_LAMBDA {
    product(used.row_range(first, end - first), v.row_range(0, readable), context.row_range(first, end - first), false);
  });
}

void AttentionOverKeys(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads, float* context,
                       float* scratch) {
  const hn::CappedTag<float, kKeyBlock> d;
  const std::size_t length = values.rows();
  const std::size_t head_width = values.cols() / num_heads;
  const std::size_t stride = attention_stride(length);
  // Every sum below has the order that multiply_tile() gives it. The heads' sums do not wait for each other.
  for (std::size_t first = 0; first < length; first += kKeyBlock) {
    const float* block = keys + first * values.cols();
    for (std::size_t head = 0; head < num_heads; ++head) {
      for (std::size_t part = 0; part < kKeyBlock; part += hn::Lanes(d)) {
        auto sum = hn::Zero(d);
        for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
          sum = hn::MulAdd(hn::Set(d, q[i]), hn::Load(d, block + i * kKeyBlock + part), sum);
        }
        hn::Store(sum, d, scratch + head * stride + first + part);
      }
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  for (std::size_t head = 0; head < num_heads; ++head) softmax_row(scratch + head * stride, length, stride, scale);
  for (std::size_t head = 0; head < num_heads; ++head) {
    const float* weights = scratch + head * stride;
    for_vectors(head_width, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const std::size_t column = head * head_width + j;
      Vector sum = hn::Zero(Tag());
      for (std::size_t t = 0; t < length; ++t) {
        sum = hn::MulAdd(hn::Set(Tag(), weights[t]), load(values.row(t) + column, count), sum);
      }
      store(sum, context + column, count);
    });
  }
}

void AttentionBackward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                       ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t length = q.rows();
  const std::size_t head_width = q.cols();
  const std::size_t stride = attention_stride(length);
  float* v_transposed = scratch;
  Matrix dropped(scratch + head_width * stride, length, length, stride);
  const Matrix d_scores(dropped.data() + length * stride, length, length, stride);

  // context = dropout(weights) · v
  if (site.dropout.active()) drop(site, weights, dropped);
  const ConstMatrix used = site.dropout.active() ? ConstMatrix(dropped) : weights;
  // The keys of a block are read by the tokens from the block's first on.
  const auto readers_product = [&](ConstMatrix read_by, ConstMatrix rows, Matrix result) SEMFUSE_LAMBDA {
    for_blocks(site.causal, length, [&](std::size_t first, std::size_t end, std::size_t) SEMFUSE_LAMBDA {
      transposed_product(read_by.row_range(first, length - first).column_range(first, end - first),
                         rows.row_range(first, length - first), result.row_range(first, end - first));
    });
  };
  readers_product(used, d_context, d_v);
  transpose(v, v_transposed, stride);
  const Vector scale = hn::Set(d, 1.0f / std::sqrt(static_cast<float>(head_width)));
  for_blocks(site.causal, length, [&](std::size_t first, std::size_t end, std::size_t readable) SEMFUSE_LAMBDA {
    // Whole vectors of each row are computed and read: past `length` the zeros of v_transposed make zeros, not what
    // scratch held.
    const std::size_t last = (readable + lanes - 1) / lanes * lanes;
    product(d_context.row_range(first, end - first), ConstMatrix(v_transposed, head_width, readable, stride),
            Matrix(d_scores.row(first), end - first, last, stride), true);

    // weights = softmax(scores · scale)
    for (std::size_t i = first; i < end; ++i) {
      RowDropout dropout(site.dropout, site.first_dropout_row + i * site.dropout_row_step);
      const float* w = weights.row(i);
      float* g = d_scores.row(i);
      Vector dot = hn::Zero(d);
      for (std::size_t j = 0; j < last; j += lanes) {
        const Vector d_weight = dropout.apply(hn::Load(d, g + j), j);
        dot = hn::MulAdd(d_weight, hn::Load(d, w + j), dot);
        hn::Store(d_weight, d, g + j);
      }
      dot = hn::SumOfLanes(d, dot);
      for (std::size_t j = 0; j < last; j += lanes) {
        hn::Store(hn::Mul(hn::Mul(hn::Load(d, w + j), hn::Sub(hn::Load(d, g + j), dot)), scale), d, g + j);
      }
    }

    // scores = q · kᵀ
    product(d_scores.row_range(first, end - first), k.row_range(0, readable), d_q.row_range(first, end - first), false);
  });
  readers_product(d_scores, q, d_k);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(AttentionForward);
HWY_EXPORT(AttentionBackward);
HWY_EXPORT(AttentionOverKeys);

void attention_forward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                       Matrix context, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionForward)(site, q, k, v, weights, context, scratch);
}

void attention_over_keys(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads, float* context,
                         float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionOverKeys)(q, keys, values, num_heads, context, scratch);
}

void attention_backward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                        ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionBackward)(site, q, k, v, weights, d_context, d_q, d_k, d_v, scratch);
}

}  // namespace semfuse
#endif
