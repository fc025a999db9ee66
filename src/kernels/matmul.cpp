#include "kernels/matmul.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul.cpp"
#include "hwy/foreach_target.h"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// A tile of the result is kTileRows rows by kTileVectors vectors and lives in registers: 24 of AVX-512's 32, 12 of AVX2's 16.
constexpr std::size_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
constexpr std::size_t kTileVectors = 2;

HWY_INLINE std::size_t tile_cols() { return kTileVectors * hn::Lanes(Tag()); }

#if HWY_COMPILER_CLANG
#define SEMFUSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SEMFUSE_UNROLL _Pragma("GCC unroll 16")
#endif

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
  std::size_t cols;      // Columns of c that are written, at most tile_cols().
  const float* bias;     // Of the tile's first column, or null.
  bool relu;
  bool accumulate;
};

template <std::size_t kRows, bool kPartialLoad>
void multiply_tile(const Tile& t) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector sum[kRows][kTileVectors];
  const auto mask1 = hn::FirstN(d, t.cols > lanes ? t.cols - lanes : 0);
  const auto mask0 = hn::FirstN(d, t.cols);

  SEMFUSE_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    sum[r][0] = hn::Zero(d);
    sum[r][1] = hn::Zero(d);
  }
  const float* a = t.a;
  const float* b = t.b;
  for (std::size_t k = 0; k < t.depth; ++k) {
    const Vector b0 = kPartialLoad ? hn::MaskedLoad(mask0, d, b) : hn::LoadU(d, b);
    const Vector b1 = kPartialLoad ? hn::MaskedLoad(mask1, d, b + lanes) : hn::LoadU(d, b + lanes);
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector a_r = hn::Set(d, a[r * t.a_row_stride]);
      sum[r][0] = hn::MulAdd(a_r, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(a_r, b1, sum[r][1]);
    }
    a += t.a_depth_stride;
    b += t.b_stride;
  }

  const bool whole = t.cols == kTileVectors * lanes;
  Vector bias0 = hn::Zero(d);
  Vector bias1 = hn::Zero(d);
  if (t.bias) {
    bias0 = hn::MaskedLoad(mask0, d, t.bias);
    bias1 = hn::MaskedLoad(mask1, d, t.bias + lanes);
  }
  const Vector floor = t.relu ? hn::Zero(d) : hn::Set(d, -hwy::HighestValue<float>());
  SEMFUSE_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    float* c = t.c + r * t.c_stride;
    Vector c0 = hn::Add(sum[r][0], bias0);
    Vector c1 = hn::Add(sum[r][1], bias1);
    if (t.accumulate) {
      c0 = hn::Add(c0, hn::MaskedLoad(mask0, d, c));
      c1 = hn::Add(c1, hn::MaskedLoad(mask1, d, c + lanes));
    } else if (t.relu) {
      c0 = hn::Max(c0, floor);
      c1 = hn::Max(c1, floor);
    }
    if (whole) {
      hn::StoreU(c0, d, c);
      hn::StoreU(c1, d, c + lanes);
    } else {
      hn::BlendedStore(c0, mask0, d, c);
      if (t.cols > lanes) hn::BlendedStore(c1, mask1, d, c + lanes);
    }
  }
}

using TileFunction = void (*)(const Tile&);

template <bool kPartialLoad, std::size_t... kIndex>
TileFunction tile_function(std::size_t rows, std::index_sequence<kIndex...>) {
  static constexpr std::array<TileFunction, sizeof...(kIndex)> functions = {&multiply_tile<kIndex + 1, kPartialLoad>...};
  return functions[rows - 1];
}

TileFunction tile_function(std::size_t rows, bool partial_load) {
  constexpr auto rows_of_a_tile = std::make_index_sequence<kTileRows>();
  return partial_load ? tile_function<true>(rows, rows_of_a_tile) : tile_function<false>(rows, rows_of_a_tile);
}

std::size_t PackedSize(std::size_t depth, std::size_t cols) {
  const std::size_t width = tile_cols();
  return (cols + width - 1) / width * width * depth;
}

void Pack(ConstMatrix b, float* packed) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = tile_cols();
  for (std::size_t first = 0; first < b.cols(); first += width) {
    const std::size_t count = std::min(width, b.cols() - first);
    const auto mask0 = hn::FirstN(d, count);
    const auto mask1 = hn::FirstN(d, count > lanes ? count - lanes : 0);
    for (std::size_t k = 0; k < b.rows(); ++k, packed += width) {
      const float* source = b.row(k) + first;
      hn::Store(hn::MaskedLoad(mask0, d, source), d, packed);
      hn::Store(hn::MaskedLoad(mask1, d, source + lanes), d, packed + lanes);
    }
  }
}

void PackTransposed(ConstMatrix b, float* packed) {
  constexpr std::size_t kBlock = 16;  // A cache line of every source row at a time.
  const std::size_t width = tile_cols();
  const std::size_t depth = b.cols();
  for (std::size_t first = 0; first < b.rows(); first += width, packed += width * depth) {
    const std::size_t count = std::min(width, b.rows() - first);
    if (count < width) std::fill_n(packed, width * depth, 0.0f);
    for (std::size_t k0 = 0; k0 < depth; k0 += kBlock) {
      const std::size_t block = std::min(kBlock, depth - k0);
      for (std::size_t j = 0; j < count; ++j) {
        const float* source = b.row(first + j) + k0;
        float* target = packed + k0 * width + j;
        for (std::size_t k = 0; k < block; ++k) target[k * width] = source[k];
      }
    }
  }
}

// Fills in the tiles of one panel of columns, top to bottom.
void multiply_panel(Tile tile, std::size_t rows, bool partial_load) {
  const TileFunction full = tile_function(kTileRows, partial_load);
  std::size_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) {
    full(tile);
    tile.a += kTileRows * tile.a_row_stride;
    tile.c += kTileRows * tile.c_stride;
  }
  if (r < rows) tile_function(rows - r, partial_load)(tile);
}

void MatmulPacked(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulOptions& options) {
  assert(a.cols() == b.depth && a.rows() == c.rows() && b.cols == c.cols());
  const std::size_t width = tile_cols();
  for (std::size_t first = 0; first < b.cols; first += width) {
    multiply_panel({.a = a.data(), .a_row_stride = a.stride(), .a_depth_stride = 1, .b = b.data + first * b.depth, .b_stride = width,
                    .depth = b.depth, .c = c.data() + first, .c_stride = c.stride(), .cols = std::min(width, b.cols - first),
                    .bias = options.bias ? options.bias + first : nullptr, .relu = options.relu, .accumulate = options.accumulate},
                   a.rows(), false);
  }
}

void MatmulUnpacked(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulOptions& options) {
  assert(a.cols() == b.rows() && a.rows() == c.rows() && b.cols() == c.cols());
  const std::size_t width = tile_cols();
  for (std::size_t first = 0; first < b.cols(); first += width) {
    const std::size_t cols = std::min(width, b.cols() - first);
    multiply_panel({.a = a.data(), .a_row_stride = a.stride(), .a_depth_stride = 1, .b = b.data() + first, .b_stride = b.stride(),
                    .depth = b.rows(), .c = c.data() + first, .c_stride = c.stride(), .cols = cols,
                    .bias = options.bias ? options.bias + first : nullptr, .relu = options.relu, .accumulate = options.accumulate},
                   c.rows(), cols != width);
  }
}

// Block of b that a transposed product packs at a time: it stays in the second-level cache while a streams past.
constexpr std::size_t kDepthBlock = 320;
constexpr std::size_t kColumnBlock = 256;

void MatmulTransposedA(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  assert(a.rows() == b.rows() && a.cols() == c.rows() && b.cols() == c.cols());
  static thread_local const auto packed_b = hwy::AllocateAligned<float>(kDepthBlock * kColumnBlock);
  const std::size_t width = tile_cols();
  for (std::size_t first_col = 0; first_col < b.cols(); first_col += kColumnBlock) {
    const std::size_t cols = std::min(kColumnBlock, b.cols() - first_col);
    for (std::size_t first_depth = 0; first_depth < a.rows(); first_depth += kDepthBlock) {
      const std::size_t depth = std::min(kDepthBlock, a.rows() - first_depth);
      Pack(b.row_range(first_depth, depth).column_range(first_col, cols), packed_b.get());
      for (std::size_t first_row = 0; first_row < c.rows(); first_row += kTileRows) {
        const std::size_t rows = std::min(kTileRows, c.rows() - first_row);
        const TileFunction multiply = tile_function(rows, false);
        for (std::size_t col = 0; col < cols; col += width) {
          multiply({.a = a.row(first_depth) + first_row, .a_row_stride = 1, .a_depth_stride = a.stride(), .b = packed_b.get() + col * depth, .b_stride = width,
                    .depth = depth, .c = c.row(first_row) + first_col + col, .c_stride = c.stride(), .cols = std::min(width, cols - col),
                    .bias = nullptr, .relu = false, .accumulate = accumulate || first_depth > 0});
        }
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(PackedSize);
HWY_EXPORT(Pack);
HWY_EXPORT(PackTransposed);
HWY_EXPORT(MatmulPacked);
HWY_EXPORT(MatmulUnpacked);
HWY_EXPORT(MatmulTransposedA);

std::size_t packed_size(std::size_t depth, std::size_t cols) { return HWY_DYNAMIC_DISPATCH(PackedSize)(depth, cols); }
void pack(ConstMatrix b, float* packed) { HWY_DYNAMIC_DISPATCH(Pack)(b, packed); }
void pack_transposed(ConstMatrix b, float* packed) { HWY_DYNAMIC_DISPATCH(PackTransposed)(b, packed); }

void matmul(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulOptions& options) {
  HWY_DYNAMIC_DISPATCH(MatmulPacked)(a, b, c, options);
}

void matmul(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulOptions& options) {
  HWY_DYNAMIC_DISPATCH(MatmulUnpacked)(a, b, c, options);
}

void matmul_transposed_a(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(MatmulTransposedA)(a, b, c, accumulate);
}

}  // namespace semfuse
#endif
