// Tiles of a matrix product in registers, shared by matmul and attention (Highway's -inl convention).
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#if defined(SEMFUSE_KERNELS_MATMUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_MATMUL_INL_H_
#undef SEMFUSE_KERNELS_MATMUL_INL_H_
#else
#define SEMFUSE_KERNELS_MATMUL_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

// A tile of the result is kTileRows rows by at most kTileVectors vectors and lives in registers: 24 of AVX-512's 32, 12
// of AVX2's 16.
constexpr std::size_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
constexpr std::size_t kTileVectors = 2;

HWY_INLINE std::size_t tile_cols() {
  return kTileVectors * hn::Lanes(Tag());
}

// One tile's operands: element (r, k) of a is a[r * a_row_stride + k * a_depth_stride], row k of b is b + k * b_stride.
struct Tile {
  const float* a;
  std::size_t a_row_stride;
  std::size_t a_depth_stride;
  const float* b;
  std::size_t b_stride;
  std::size_t depth;
  float* c;
  std::size_t c_stride;
  std::size_t cols;             // Columns of c that are written, at most tile_cols().
  const float* bias = nullptr;  // Of the tile's first column, or null.
  bool relu = false;
  bool accumulate = false;
  bool resume = false;  // Sums begin with what c holds: a product cut along its depth, with the bits of a whole one.
};

// kWholeRows: rows of b may be read to the end of the tile's last vector, as packed ones are.
template <std::size_t kRows, std::size_t kVectors, bool kWholeRows>
void multiply_tile(const Tile& t) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t last = (kVectors - 1) * lanes;  // The last vector's first column, and how many columns it has.
  const std::size_t rest = t.cols - last;
  Vector sum0[kRows];
  Vector sum1[kRows];

  SEMFUSE_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sum0[r] = sum1[r] = hn::Zero(d);
  if (t.resume) {
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      if (kVectors == 2) sum0[r] = hn::LoadU(d, t.c + r * t.c_stride);
      sum1[r] = load(t.c + r * t.c_stride + last, rest);
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  const auto step = [&]() SEMFUSE_LAMBDA {
    const Vector b1 = kWholeRows ? hn::LoadU(d, b + last) : load_first(b + last, rest);
    const Vector b0 = kVectors == 2 ? hn::LoadU(d, b) : b1;
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector a_r = hn::Set(d, a[r * t.a_row_stride]);
      if (kVectors == 2) sum0[r] = hn::MulAdd(a_r, b0, sum0[r]);
      sum1[r] = hn::MulAdd(a_r, b1, sum1[r]);
    }
    a += t.a_depth_stride;
    b += t.b_stride;
  };
  std::size_t k = 0;
  for (; k + 2 <= t.depth; k += 2) {
    step();
    step();
  }
  if (k < t.depth) step();

  Vector bias0 = hn::Zero(d);
  Vector bias1 = hn::Zero(d);
  if (t.bias) {
    if (kVectors == 2) bias0 = hn::LoadU(d, t.bias);
    bias1 = load(t.bias + last, rest);
  }
  const auto write = [&](std::size_t count, const auto& finish) SEMFUSE_LAMBDA {
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      float* c = t.c + r * t.c_stride;
      if (kVectors == 2) hn::StoreU(finish(hn::Add(sum0[r], bias0), c, lanes), d, c);
      store(finish(hn::Add(sum1[r], bias1), c + last, count), c + last, count);
    }
  };
  const auto finish = [&](Vector v, const float* old, std::size_t count) SEMFUSE_LAMBDA {
    const Vector sum = t.accumulate ? hn::Add(v, load(old, count)) : v;
    return t.relu ? hn::Max(hn::Zero(d), sum) : sum;  // In this order a NaN stays one.
  };
  // A tile is over so soon that questions for each of its vectors would be seen in its time.
  if (rest < lanes || (t.accumulate && t.relu)) {
    write(rest, finish);
  } else if (t.accumulate) {
    write(lanes, [&](Vector v, const float* old, std::size_t) SEMFUSE_LAMBDA { return hn::Add(v, hn::LoadU(d, old)); });
  } else if (t.relu) {
    write(lanes, [&](Vector v, const float*, std::size_t) SEMFUSE_LAMBDA { return hn::Max(hn::Zero(d), v); });
  } else {
    write(lanes, [&](Vector v, const float*, std::size_t) SEMFUSE_LAMBDA { return v; });
  }
}

using TileFunction = void (*)(const Tile&);

template <std::size_t kVectors, bool kWholeRows, std::size_t... kIndex>
TileFunction tile_function(std::size_t rows, std::index_sequence<kIndex...>) {
  static constexpr std::array<TileFunction, sizeof...(kIndex)> functions = {
      &multiply_tile<kIndex + 1, kVectors, kWholeRows>...};
  return functions[rows - 1];
}

// The function for a tile of `rows` rows (1 ... kTileRows) and `cols` columns.
HWY_INLINE TileFunction tile_function(std::size_t rows, std::size_t cols, bool whole_rows) {
  constexpr auto rows_of_a_tile = std::make_index_sequence<kTileRows>();
  if (cols > hn::Lanes(Tag())) {
    return whole_rows ? tile_function<2, true>(rows, rows_of_a_tile) : tile_function<2, false>(rows, rows_of_a_tile);
  }
  return whole_rows ? tile_function<1, true>(rows, rows_of_a_tile) : tile_function<1, false>(rows, rows_of_a_tile);
}

// Computes the tiles of one panel of columns, top to bottom; `tile` describes the first of them. Where rows do not fill
// all tiles, those are of nearly the same height: a low one at the end would take as long to read b as a high one.
HWY_INLINE void multiply_panel(Tile tile, std::size_t rows, bool whole_rows) {
  for (std::size_t left = (rows + kTileRows - 1) / kTileRows; left > 0; --left) {
    const std::size_t height = (rows + left - 1) / left;
    tile_function(height, tile.cols, whole_rows)(tile);
    tile.a += height * tile.a_row_stride;
    tile.c += height * tile.c_stride;
    rows -= height;
  }
}

// b in panels of tile_cols() columns, the last one filled up with zeros; 64-byte aligned. Row by row, so that b is read
// from memory in the order in which it lies there.
inline void Pack(ConstMatrix b, float* packed) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = tile_cols();
  for (std::size_t k = 0; k < b.rows(); ++k) {
    const float* source = b.row(k);
    float* target = packed + k * width;
    for (std::size_t first = 0; first < b.cols(); first += width, target += width * b.rows()) {
      const std::size_t count = std::min(width, b.cols() - first);
      hn::Store(load(source + first, std::min(count, lanes)), d, target);
      hn::Store(count > lanes ? load(source + first + lanes, count - lanes) : hn::Zero(d), d, target + lanes);
    }
  }
}

// Numbers k ... k + 3 of 4 rows of b from `row` on, as 4 rows of a panel.
HWY_INLINE void transpose_four(ConstMatrix b, std::size_t row, std::size_t k, float* target) {
  const std::size_t width = tile_cols();
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < 16; ++i) target[i / 4 * width + i % 4] = b(row + i % 4, k + i / 4);
#else
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const auto r0 = hn::LoadU(d, b.row(row) + k);
  const auto r1 = hn::LoadU(d, b.row(row + 1) + k);
  const auto r2 = hn::LoadU(d, b.row(row + 2) + k);
  const auto r3 = hn::LoadU(d, b.row(row + 3) + k);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, target);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, target + width);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, target + 2 * width);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, target + 3 * width);
#endif
}

// The same of bᵀ.
inline void PackTransposed(ConstMatrix b, float* packed) {
  constexpr std::size_t kBlock = 16;  // A cache line of every source row at a time.
  const std::size_t width = tile_cols();
  const std::size_t depth = b.cols();
  for (std::size_t first = 0; first < b.rows(); first += width, packed += width * depth) {
    const std::size_t count = std::min(width, b.rows() - first);
    if (count < width) std::fill_n(packed, width * depth, 0.0f);
    for (std::size_t k0 = 0; k0 < depth; k0 += kBlock) {
      const std::size_t end = std::min(depth, k0 + kBlock);
      std::size_t j = 0;
      for (; j + 4 <= count; j += 4) {
        std::size_t k = k0;
        for (; k + 4 <= end; k += 4) transpose_four(b, first + j, k, packed + k * width + j);
        for (; k < end; ++k) {
          for (std::size_t i = j; i < j + 4; ++i) packed[k * width + i] = b(first + i, k);
        }
      }
      for (; j < count; ++j) {
        const float* source = b.row(first + j);
        for (std::size_t k = k0; k < end; ++k) packed[k * width + j] = source[k];
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
