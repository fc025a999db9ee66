#include "kernels/matmul.h"

#include <algorithm>
#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/aligned_allocator.h"
#include "kernels/matmul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Depth of b that is multiplied at a time: a panel of it stays in the second-level cache while a streams past.
constexpr std::size_t kDepthBlock = 512;
// What a transposed product packs at a time: a panel of b and a tile's columns of a stay in the first-level cache, all
// of both in the second-level cache.
constexpr std::size_t kTransposedDepthBlock = 320;
constexpr std::size_t kRowBlock = 192;  // Of the result; a multiple of every tile's height.
constexpr std::size_t kColumnBlock = 128;

std::size_t PackedSize(std::size_t depth, std::size_t cols) {
  const std::size_t width = tile_cols();
  return (cols + width - 1) / width * width * depth;
}

// So few rows leave a tile waiting for its own sums; several panels at a time keep the processor busy. Every sum has
// the order that multiply_tile() gives it.
template <std::size_t kRows>
constexpr std::size_t kPanelsAtOnce = std::min<std::size_t>(4, kTileRows / kRows);

template <std::size_t kRows>
void multiply_panels(const Tile& t, std::size_t panel_size) {
  constexpr std::size_t kPanels = kPanelsAtOnce<kRows>;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector sum[kPanels][kRows][kTileVectors];
  SEMFUSE_UNROLL
  for (std::size_t p = 0; p < kPanels; ++p) {
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) sum[p][r][0] = sum[p][r][1] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < t.depth; ++k) {
    SEMFUSE_UNROLL
    for (std::size_t p = 0; p < kPanels; ++p) {
      const float* b = t.b + p * panel_size + k * t.b_stride;
      const Vector b0 = hn::LoadU(d, b);
      const Vector b1 = hn::LoadU(d, b + lanes);
      SEMFUSE_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector a = hn::Set(d, t.a[r * t.a_row_stride + k]);
        sum[p][r][0] = hn::MulAdd(a, b0, sum[p][r][0]);
        sum[p][r][1] = hn::MulAdd(a, b1, sum[p][r][1]);
      }
    }
  }
  SEMFUSE_UNROLL
  for (std::size_t p = 0; p < kPanels; ++p) {
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      SEMFUSE_UNROLL
      for (std::size_t v = 0; v < kTileVectors; ++v) {
        const std::size_t column = (p * kTileVectors + v) * lanes;
        float* c = t.c + r * t.c_stride + column;
        Vector result = hn::Add(sum[p][r][v], t.bias ? hn::LoadU(d, t.bias + column) : hn::Zero(d));
        if (t.accumulate) result = hn::Add(result, hn::LoadU(d, c));
        if (t.relu) result = hn::Max(hn::Zero(d), result);
        hn::StoreU(result, d, c);
      }
    }
  }
}

void MatmulPacked(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulOptions& options) {
  assert(a.cols() == b.depth && a.rows() == c.rows() && b.cols == c.cols());
  const std::size_t width = tile_cols();
  for (std::size_t first_depth = 0; first_depth < b.depth; first_depth += kDepthBlock) {
    const std::size_t depth = std::min(kDepthBlock, b.depth - first_depth);
    const bool begins = first_depth == 0;
    const bool ends = first_depth + depth == b.depth;
    std::size_t first = 0;
    const auto tile = [&] {
      return Tile{.a = a.data() + first_depth,
                  .a_row_stride = a.stride(),
                  .a_depth_stride = 1,
                  .b = b.data + first * b.depth + first_depth * width,
                  .b_stride = width,
                  .depth = depth,
                  .c = c.data() + first,
                  .c_stride = c.stride(),
                  .cols = std::min(width, b.cols - first),
                  .bias = begins && options.bias ? options.bias + first : nullptr,
                  .relu = options.relu && ends,
                  .accumulate = options.accumulate || !begins};
    };
    const auto multiply_few = [&](auto function, std::size_t panels) SEMFUSE_LAMBDA {
      for (; first + panels * width <= b.cols; first += panels * width) function(tile(), width * b.depth);
    };
    if (a.rows() == 1) multiply_few(&multiply_panels<1>, kPanelsAtOnce<1>);
    if (a.rows() == 2) multiply_few(&multiply_panels<2>, kPanelsAtOnce<2>);
    if (a.rows() == 3) multiply_few(&multiply_panels<3>, kPanelsAtOnce<3>);
    for (; first < b.cols; first += width) multiply_panel(tile(), a.rows(), true);
  }
}

// Floats between two tiles of packed columns of a: a vector more than they hold, which PackColumns() may write.
HWY_INLINE std::size_t columns_stride(std::size_t depth) {
  return kTileRows * depth + hn::Lanes(Tag());
}

// The columns of a, kTileRows at a time, as the tiles of a transposed product read them: what a tile needs of a row of
// a side by side, the next row behind it.
void PackColumns(ConstMatrix a, float* packed) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = columns_stride(a.rows());
  for (std::size_t k = 0; k < a.rows(); ++k) {
    const float* source = a.row(k);
    float* target = packed + k * kTileRows;
    std::size_t first = 0;
    if (lanes >= kTileRows) {
      // The next row overwrites what is too much.
      for (; first + lanes <= a.cols(); first += kTileRows, target += stride) {
        hn::StoreU(hn::LoadU(d, source + first), d, target);
      }
    }
    for (; first < a.cols(); first += kTileRows, target += stride) {
      std::copy_n(source + first, std::min(kTileRows, a.cols() - first), target);
    }
  }
}

void MatmulTransposedA(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  assert(a.rows() == b.rows() && a.cols() == c.rows() && b.cols() == c.cols());
  static thread_local const auto packed_a =
      hwy::AllocateAligned<float>(kRowBlock / kTileRows * columns_stride(kTransposedDepthBlock));
  static thread_local const auto packed_b = hwy::AllocateAligned<float>(kTransposedDepthBlock * kColumnBlock);
  const std::size_t width = tile_cols();
  for (std::size_t first_row = 0; first_row < c.rows(); first_row += kRowBlock) {
    const std::size_t rows = std::min(kRowBlock, c.rows() - first_row);
    for (std::size_t first_depth = 0; first_depth < a.rows(); first_depth += kTransposedDepthBlock) {
      const std::size_t depth = std::min(kTransposedDepthBlock, a.rows() - first_depth);
      PackColumns(a.row_range(first_depth, depth).column_range(first_row, rows), packed_a.get());
      for (std::size_t first_col = 0; first_col < b.cols(); first_col += kColumnBlock) {
        const std::size_t block = std::min(kColumnBlock, b.cols() - first_col);
        Pack(b.row_range(first_depth, depth).column_range(first_col, block), packed_b.get());
        for (std::size_t col = 0; col < block; col += width) {
          Tile tile{.a = packed_a.get(),
                    .a_row_stride = 1,
                    .a_depth_stride = kTileRows,
                    .b = packed_b.get() + col * depth,
                    .b_stride = width,
                    .depth = depth,
                    .c = c.row(first_row) + first_col + col,
                    .c_stride = c.stride(),
                    .cols = std::min(width, block - col),
                    .accumulate = accumulate || first_depth > 0};
          for (std::size_t row = 0; row < rows; row += kTileRows) {
            tile_function(std::min(kTileRows, rows - row), tile.cols, true)(tile);
            tile.a += columns_stride(depth);
            tile.c += kTileRows * c.stride();
          }
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
HWY_EXPORT(MatmulTransposedA);

std::size_t packed_size(std::size_t depth, std::size_t cols) {
  return HWY_DYNAMIC_DISPATCH(PackedSize)(depth, cols);
}
void pack(ConstMatrix b, float* packed) {
  HWY_DYNAMIC_DISPATCH(Pack)(b, packed);
}
void pack_transposed(ConstMatrix b, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackTransposed)(b, packed);
}

void matmul(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulOptions& options) {
  HWY_DYNAMIC_DISPATCH(MatmulPacked)(a, b, c, options);
}

void matmul_transposed_a(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(MatmulTransposedA)(a, b, c, accumulate);
}

}  // namespace semfuse
#endif
