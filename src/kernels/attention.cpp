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
#include "kernels/softmax_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Of a long text so many queries are worked on at a time: their weights, and in backward their gradients, stay in the
// second-level cache. A sum that this cuts goes on where it was (Tile::resume), so it changes no bit.
constexpr std::size_t kQueryBlock = kAttentionBlock;
static_assert(kQueryBlock % kTileRows == 0);
// Rows of keys or values that are read at a time: a panel of them stays in the first-level cache.
constexpr std::size_t kReadBlock = 256;

// Tokens of the text that a block of queries [first, end) works with.
struct Block {
  bool causal;
  std::size_t length;
  std::size_t first;
  std::size_t end;

  std::size_t size() const { return end - first; }
  // One past the last token that queries before `query` read.
  std::size_t readable(std::size_t query) const { return causal ? query : length; }
  std::size_t readable() const { return readable(end); }
  // Columns of its weights that are written: what is past readable() is 0.
  std::size_t columns() const { return attention_columns(readable()); }
};

template <class Visit>
HWY_INLINE void for_blocks(bool causal, std::size_t length, const Visit& visit) {
  for (std::size_t first = 0; first < length; first += kQueryBlock) {
    visit(Block{causal, length, first, std::min(length, first + kQueryBlock)});
  }
}

// A matrix as tiles read it: where it is, or in panels of tile_cols() columns.
struct Panels {
  const float* data;
  std::size_t row_stride;
  std::size_t panel_stride;
  bool packed;

  // A short text's rows stay in the first-level cache as they are; of a long one, rows that lie a multiple of the page
  // size apart would not.
  static Panels of(ConstMatrix matrix, float* room) {
    if (matrix.rows() <= kQueryBlock / 2) return {matrix.data(), matrix.stride(), tile_cols(), false};
    Pack(matrix, room);
    return {room, tile_cols(), tile_cols() * matrix.rows(), true};
  }
  // Of the transposed matrix, always packed.
  static Panels transposed(ConstMatrix matrix, float* room) {
    PackTransposed(matrix, room);
    return {room, tile_cols(), tile_cols() * matrix.cols(), true};
  }

  Tile tile(std::size_t first_row, std::size_t first_col, std::size_t depth, std::size_t cols) const {
    return {.b = data + first_row * row_stride + first_col / tile_cols() * panel_stride,
            .b_stride = row_stride,
            .depth = depth,
            .cols = std::min(tile_cols(), cols - first_col)};
  }
  void multiply(const Tile& tile, std::size_t rows) const {
    tile_function(rows, tile.cols, packed || tile.cols % hn::Lanes(Tag()) == 0)(tile);
  }
};

// c [block, columns] = rows · keysᵀ for what each tile of queries reads.
HWY_INLINE void score(const Block& block, ConstMatrix rows, const Panels& keys, Matrix c) {
  for (std::size_t col = 0; col < block.columns(); col += tile_cols()) {
    Tile tile = keys.tile(0, col, rows.cols(), block.columns());
    tile.a_row_stride = rows.stride();
    tile.a_depth_stride = 1;
    tile.c_stride = c.stride();
    // Queries before this one read nothing of the panel.
    const std::size_t reader = block.causal && col > block.first ? (col - block.first) / kTileRows * kTileRows : 0;
    for (std::size_t r = reader; r < block.size(); r += kTileRows) {
      tile.a = rows.row(block.first + r);
      tile.c = c.row(r) + col;
      keys.multiply(tile, std::min(kTileRows, block.size() - r));
    }
  }
}

// Rows `block` of c = weights [block, columns] · values
HWY_INLINE void mix(const Block& block, ConstMatrix weights, const Panels& values, Matrix c) {
  for (std::size_t read = 0; read < block.readable(); read += kReadBlock) {
    for (std::size_t col = 0; col < c.cols(); col += tile_cols()) {
      for (std::size_t r = 0; r < block.size(); r += kTileRows) {
        const std::size_t rows = std::min(kTileRows, block.size() - r);
        const std::size_t readable = block.readable(block.first + r + rows);
        if (readable <= read) continue;
        Tile tile = values.tile(read, col, std::min(kReadBlock, readable - read), c.cols());
        tile.a = weights.row(r) + read;
        tile.a_row_stride = weights.stride();
        tile.a_depth_stride = 1;
        tile.c = c.row(block.first + r) + col;
        tile.c_stride = c.stride();
        tile.resume = read > 0;
        values.multiply(tile, rows);
      }
    }
  }
}

// c = weightsᵀ [readable, block] · rows `block`, added to what earlier blocks gave. What a token gets begins with the
// first that reads it.
HWY_INLINE void collect(const Block& block, ConstMatrix weights, const Panels& rows, Matrix c) {
  for (std::size_t key = 0; key < block.readable(); key += kTileRows) {
    const std::size_t reader = block.causal && key > block.first ? key - block.first : 0;
    for (std::size_t col = 0; col < c.cols(); col += tile_cols()) {
      Tile tile = rows.tile(reader, col, block.size() - reader, c.cols());
      tile.a = weights.row(reader) + key;
      tile.a_row_stride = 1;
      tile.a_depth_stride = weights.stride();
      tile.c = c.row(key) + col;
      tile.c_stride = c.stride();
      tile.resume = block.causal ? key < block.first : block.first > 0;
      rows.multiply(tile, std::min(kTileRows, block.readable() - key));
    }
  }
}

// dropped [block, columns] = dropout(weights)
HWY_INLINE void drop(const AttentionSite& site, const Block& block, ConstMatrix weights, Matrix dropped) {
  const Tag d;
  for (std::size_t r = 0; r < block.size(); ++r) {
    RowDropout dropout(site.dropout, site.first_dropout_row + (block.first + r) * site.dropout_row_step);
    for (std::size_t j = 0; j < block.columns(); j += hn::Lanes(d)) {
      hn::Store(dropout.apply(hn::Load(d, weights.row(r) + j), j), d, dropped.row(r) + j);
    }
  }
}

// The parts of the scratch memory.
struct AttentionMemory {
  float* transposed;  // Of a matrix of the text.
  float* panels;      // Of another.
  float* block;       // Of rows of a block.
  Matrix dropped;     // [block, columns]
  Matrix d_scores;    // [block, columns]

  AttentionMemory(float* scratch, std::size_t length, std::size_t head_width)
      : transposed(scratch),
        panels(transposed + attention_panels(head_width, length)),
        block(panels + attention_panels(length, head_width)),
        dropped(block + attention_panels(kQueryBlock, head_width), std::min(length, kQueryBlock), length,
                attention_stride(length)),
        d_scores(dropped.data() + dropped.rows() * dropped.stride(), dropped.rows(), length, dropped.stride()) {}
};

// Scores of the tokens before the last of `count`, which may be followed by as many as a vector has less one.
HWY_INLINE void lower_far_scores(float* row, std::size_t count, float slope) {
  const Tag d;
  const Vector factor = hn::Set(d, slope);
  const Vector last = hn::Set(d, static_cast<float>(count - 1));
  for (std::size_t j = 0; j < count; j += hn::Lanes(d)) {
    const Vector token = hn::Iota(d, static_cast<float>(j));
    hn::Store(hn::MulAdd(factor, hn::Sub(token, last), hn::Load(d, row + j)), d, row + j);
  }
}

void AttentionForward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                      Matrix context, float* scratch) {
  const std::size_t length = q.rows();
  assert(weights.stride() == attention_stride(length));
  const AttentionMemory memory(scratch, length, q.cols());
  const Panels keys = Panels::transposed(k, memory.transposed);
  const Panels values = Panels::of(v, memory.panels);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for_blocks(site.causal, length, [&](const Block& block) SEMFUSE_LAMBDA {
    const Matrix rows = weights.row_range(block.first, block.size());
    score(block, q, keys, rows);
    for (std::size_t r = 0; r < block.size(); ++r) {
      const std::size_t readable = block.readable(block.first + r + 1);
      if (site.slope > 0.0f) lower_far_scores(rows.row(r), readable, site.slope / scale);
      softmax_row(rows.row(r), readable, block.columns(), scale);
    }
    if (site.dropout.active()) drop(site, block, rows, memory.dropped);
    mix(block, site.dropout.active() ? memory.dropped : rows, values, context);
  });
}

void AttentionOverKeys(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                       std::span<const float> slopes, float* context, float* all_weights) {
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
        hn::Store(sum, d, all_weights + head * stride + first + part);
      }
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  for (std::size_t head = 0; head < num_heads; ++head) {
    float* weights = all_weights + head * stride;
    if (!slopes.empty()) lower_far_scores(weights, length, slopes[head] / scale);
    softmax_row(weights, length, stride, scale);
  }
  for (std::size_t head = 0; head < num_heads; ++head) {
    const float* weights = all_weights + head * stride;
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

void AttentionOverKeysBackward(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                               const float* context, const float* d_context, float* all_weights, float* d_q,
                               float* d_keys, Matrix d_values) {
  const hn::CappedTag<float, kKeyBlock> d;
  const std::size_t length = values.rows();
  const std::size_t head_width = values.cols() / num_heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  for (std::size_t head = 0; head < num_heads; ++head) {
    float* weights = all_weights + head * attention_stride(length);
    const std::size_t column = head * head_width;
    const auto times_d_context = [&](const float* row) HWY_ATTR {
      Vector sum = hn::Zero(Tag());
      for_vectors(head_width, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
        sum = hn::MulAdd(load(d_context + column + j, count), load(row + column + j, count), sum);
      });
      return hn::GetLane(hn::SumOfLanes(Tag(), sum));
    };
    // context = Σ weight · value, weights = softmax(scores · scale): Σ weight · d_weight is context · d_context.
    const float mean = times_d_context(context);
    for (std::size_t t = 0; t < length; ++t) {
      const Vector weight = hn::Set(Tag(), weights[t]);
      for_vectors(head_width, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
        store(hn::Mul(weight, load(d_context + column + j, count)), d_values.row(t) + column + j, count);
      });
      weights[t] *= (times_d_context(values.row(t)) - mean) * scale;
    }
    // score = q · key
    for (std::size_t i = column; i < column + head_width; ++i) {
      const auto q_i = hn::Set(d, q[i]);
      auto sum = hn::Zero(d);
      for (std::size_t first = 0; first < length; first += kKeyBlock) {
        const std::size_t place = first * values.cols() + i * kKeyBlock;
        for (std::size_t part = 0; part < kKeyBlock; part += hn::Lanes(d)) {
          const auto d_score = hn::Load(d, weights + first + part);  // 0 behind the last token.
          sum = hn::MulAdd(d_score, hn::Load(d, keys + place + part), sum);
          hn::Store(hn::Mul(d_score, q_i), d, d_keys + place + part);
        }
      }
      d_q[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }
}

// weights = softmax(scores · scale): d_scores, which come as the gradient of the dropped weights, become their own.
HWY_INLINE void softmax_backward(const AttentionSite& site, const Block& block, ConstMatrix weights, float scale,
                                 Matrix d_scores) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const Vector factor = hn::Set(d, scale);
  for (std::size_t r = 0; r < block.size(); ++r) {
    const std::size_t readable = block.readable(block.first + r + 1);
    RowDropout dropout(site.dropout, site.first_dropout_row + (block.first + r) * site.dropout_row_step);
    const float* w = weights.row(r);
    float* g = d_scores.row(r);
    Vector dot = hn::Zero(d);
    for (std::size_t j = 0; j < readable; j += lanes) {
      const Vector d_weight = dropout.apply(hn::Load(d, g + j), j);
      dot = hn::MulAdd(d_weight, hn::Load(d, w + j), dot);
      hn::Store(d_weight, d, g + j);
    }
    dot = hn::SumOfLanes(d, dot);
    std::size_t j = 0;
    for (; j < readable; j += lanes) {
      hn::Store(hn::Mul(hn::Mul(hn::Load(d, w + j), hn::Sub(hn::Load(d, g + j), dot)), factor), d, g + j);
    }
    // Tiles read a little more than the row; scratch may hold anything there.
    for (; j < block.columns(); j += lanes) hn::Store(hn::Zero(d), d, g + j);
  }
}

void AttentionBackward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                       ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch) {
  const std::size_t length = q.rows();
  const AttentionMemory memory(scratch, length, q.cols());
  const Panels values = Panels::transposed(v, memory.transposed);
  const Panels keys = Panels::of(k, memory.panels);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for_blocks(site.causal, length, [&](const Block& block) SEMFUSE_LAMBDA {
    const ConstMatrix rows = weights.row_range(block.first, block.size());
    // context = dropout(weights) · v
    if (site.dropout.active()) drop(site, block, rows, memory.dropped);
    collect(block, site.dropout.active() ? memory.dropped : rows,
            Panels::of(d_context.row_range(block.first, block.size()), memory.block), d_v);
    score(block, d_context, values, memory.d_scores);
    softmax_backward(site, block, rows, scale, memory.d_scores);
    // scores = q · kᵀ
    mix(block, memory.d_scores, keys, d_q);
    collect(block, memory.d_scores, Panels::of(q.row_range(block.first, block.size()), memory.block), d_k);
  });
}

// weights [block, columns] = softmax(q · kᵀ · scale) of a causal block.
HWY_INLINE void block_weights(const Block& block, ConstMatrix q, const Panels& keys, float scale, Matrix weights) {
  score(block, q, keys, weights);
  for (std::size_t r = 0; r < block.size(); ++r) {
    softmax_row(weights.row(r), block.readable(block.first + r + 1), block.columns(), scale);
  }
}

void CausalAttention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix context, float* scratch) {
  const std::size_t length = q.rows();
  const AttentionMemory memory(scratch, length, q.cols());
  const Panels keys = Panels::transposed(k, memory.transposed);
  const Panels values = Panels::of(v, memory.panels);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for_blocks(true, length, [&](const Block& block) SEMFUSE_LAMBDA {
    block_weights(block, q, keys, scale, memory.dropped);
    mix(block, memory.dropped, values, context);
  });
}

void CausalAttentionBackward(ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix d_context, Matrix d_q, Matrix d_k,
                             Matrix d_v, float* scratch) {
  const std::size_t length = q.rows();
  const Panels read_keys = Panels::transposed(k, scratch);
  const AttentionMemory memory(scratch + attention_panels(q.cols(), length), length, q.cols());
  const Panels values = Panels::transposed(v, memory.transposed);
  const Panels keys = Panels::of(k, memory.panels);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for_blocks(true, length, [&](const Block& block) SEMFUSE_LAMBDA {
    // The weights of the block again: keeping those of all blocks would take the square of the length.
    block_weights(block, q, read_keys, scale, memory.dropped);
    collect(block, memory.dropped, Panels::of(d_context.row_range(block.first, block.size()), memory.block), d_v);
    score(block, d_context, values, memory.d_scores);
    softmax_backward({}, block, memory.dropped, scale, memory.d_scores);
    mix(block, memory.d_scores, keys, d_q);
    collect(block, memory.d_scores, Panels::of(q.row_range(block.first, block.size()), memory.block), d_k);
  });
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
HWY_EXPORT(AttentionOverKeysBackward);
HWY_EXPORT(CausalAttention);
HWY_EXPORT(CausalAttentionBackward);

void attention_forward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                       Matrix context, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionForward)(site, q, k, v, weights, context, scratch);
}

void attention_over_keys(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                         std::span<const float> slopes, float* context, float* weights) {
  HWY_DYNAMIC_DISPATCH(AttentionOverKeys)(q, keys, values, num_heads, slopes, context, weights);
}

void attention_over_keys_backward(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                                  const float* context, const float* d_context, float* weights, float* d_q,
                                  float* d_keys, Matrix d_values) {
  HWY_DYNAMIC_DISPATCH(AttentionOverKeysBackward)
  (q, keys, values, num_heads, context, d_context, weights, d_q, d_keys, d_values);
}

void attention_backward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                        ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionBackward)(site, q, k, v, weights, d_context, d_q, d_k, d_v, scratch);
}

void causal_attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix context, float* scratch) {
  HWY_DYNAMIC_DISPATCH(CausalAttention)(q, k, v, context, scratch);
}

void causal_attention_backward(ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix d_context, Matrix d_q,
                               Matrix d_k, Matrix d_v, float* scratch) {
  HWY_DYNAMIC_DISPATCH(CausalAttentionBackward)(q, k, v, d_context, d_q, d_k, d_v, scratch);
}

}  // namespace semfuse
#endif
