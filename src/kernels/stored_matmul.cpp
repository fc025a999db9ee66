#include "kernels/stored_matmul.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "kernels/matrix_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_matmul.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/aligned_allocator.h"
#include "kernels/matmul-inl.h"
#include "kernels/stored_formats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Rows of x that are multiplied at a time: their sums live in registers.
constexpr std::size_t kRowsAtOnce = HWY_TARGET <= HWY_AVX3 ? 8 : 2;

// Memory of one thread for unpacked weights; grows to the largest matrix it meets.
template <class T>
T* unpacked_memory(std::size_t size) {
  static thread_local hwy::AlignedFreeUniquePtr<T[]> memory;
  static thread_local std::size_t memory_size = 0;
  if (size > memory_size) {
    memory = hwy::AllocateAligned<T>(size);
    memory_size = size;
  }
  return memory.get();
}

// Bytes of the rows that come next, a share at a time: rows are read side by side, which no processor foresees.
class NextRows {
 public:
  HWY_INLINE NextRows(const StoredMatrix& matrix, std::size_t first, std::size_t count, std::size_t shares) {
    first = std::min(first, matrix.rows);
    begin_ = reinterpret_cast<const char*>(matrix.data) + first * matrix.row_size();
    end_ = begin_ + std::min(count, matrix.rows - first) * matrix.row_size();
    share_ = count * matrix.row_size() / std::max<std::size_t>(1, shares) + 1;
  }
  HWY_INLINE void fetch() {
    constexpr std::ptrdiff_t kLine = 64;
    for (const char* until = std::min(end_, begin_ + share_); begin_ < until; begin_ += kLine)
      __builtin_prefetch(begin_);
  }

 private:
  const char* begin_;
  const char* end_;
  std::size_t share_;
};

// sum + Σ of the four products of each lane's bytes; x may be any int8 but -128.
template <bool kWide, bool kVnni>
HWY_INLINE Ints dot4(Ints sum, Words values, const std::int8_t* x) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kVnni) {
    // Highway has no name for it yet.
    asm("vpdpbusd %2%{1to16%}, %1, %0"
        : "+v"(sum.raw)
        : "v"(values.raw), "m"(*reinterpret_cast<const std::int32_t(*)>(x)));
    return sum;
  }
#endif
#if HWY_TARGET == HWY_SCALAR
  std::int32_t total = hn::GetLane(sum);
  for (std::uint32_t k = 0; k < 4; ++k) {
    total += static_cast<std::int32_t>(hn::GetLane(values) >> (8 * k) & 255U) * x[k];
  }
  return hn::Set(IntTag(), total);
#else
  std::int32_t word = 0;
  std::memcpy(&word, x, sizeof(word));
  const Ints factors = hn::Set(IntTag(), word);
#if HWY_TARGET == HWY_AVX3
  if constexpr (!kWide) {
    const __m512i pairs = _mm512_maddubs_epi16(values.raw, factors.raw);
    return hn::Add(sum, Ints{_mm512_madd_epi16(pairs, _mm512_set1_epi16(1))});
  }
#endif
  // A product of 255 and 127 fits into 16 bits.
  const hn::Repartition<std::int16_t, IntTag> d16;
  const hn::Repartition<std::uint16_t, IntTag> du16;
  const auto even_values = hn::BitCast(d16, low_bits(values, 0x00FF00FF));
  const auto odd_values = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, values)));
  const auto even_x = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d16, factors)));
  const auto odd_x = hn::ShiftRight<8>(hn::BitCast(d16, factors));
  const Ints even = hn::BitCast(IntTag(), hn::Mul(even_values, even_x));
  const Ints odd = hn::BitCast(IntTag(), hn::Mul(odd_values, odd_x));
  const auto low = [&](Ints v) SEMFUSE_LAMBDA { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const Ints first = hn::Add(low(even), hn::ShiftRight<16>(even));
  return hn::Add(sum, hn::Add(first, hn::Add(low(odd), hn::ShiftRight<16>(odd))));
#endif
}

// sum + Σ of the products of each lane's bytes in all words of a part with those at x.
template <class Format, bool kVnni>
HWY_INLINE Ints dot_part(Ints sum, const Words* values, const std::int8_t* x) {
#if HWY_TARGET == HWY_AVX2
  // Pairs of products fit into 16 bits, and so do sums of kTogether of them. Where weights have a sign, the factors
  // take it: 128 · 127 · 2 fits too.
  SEMFUSE_UNROLL
  for (std::size_t first = 0; first < Format::kWords; first += Format::kTogether) {
    __m256i pairs = _mm256_setzero_si256();
    SEMFUSE_UNROLL
    for (std::size_t j = first; j < first + Format::kTogether; ++j) {
      std::int32_t word = 0;
      std::memcpy(&word, x + 4 * j, sizeof(word));
      const __m256i factors = _mm256_set1_epi32(word);
      const __m256i weights = values[j].raw;
      const __m256i products = Format::kWide
                                   ? _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(factors, weights))
                                   : _mm256_maddubs_epi16(weights, factors);
      pairs = j == first ? products : _mm256_add_epi16(pairs, products);
    }
    sum = hn::Add(sum, Ints{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))});
  }
#else
  SEMFUSE_UNROLL
  for (std::size_t j = 0; j < Format::kWords; ++j) sum = dot4<Format::kWide, kVnni>(sum, values[j], x + 4 * j);
#endif
  return sum;
}

// Unpacked weights of as many rows as a vector has lanes.
struct UnpackedRows {
  const std::uint32_t* values;  // [parts, kWords, lanes]
  const float* scales;          // [parts, lanes]
  const float* least;           // [parts, lanes], if the format has them.
  std::size_t parts;
};

// y [kRows, lanes], rows `row` ... of x.
template <class Format, bool kVnni, std::size_t kRows>
HWY_INLINE void multiply_rows(const UnpackedRows& w, const QuantisedRows& x, std::size_t row, float* y,
                              std::size_t y_stride, std::size_t count) {
  constexpr std::size_t kPart = Format::kWords * 4;
  constexpr std::size_t kPartsOfBlock = QuantisedRows::kBlock / kPart;
  const std::size_t lanes = hn::Lanes(Tag());
  const std::int8_t* x_values[kRows];
  const float* x_scales[kRows];
  const float* x_sums[kRows];
  const std::int32_t* x_halves[kRows];
  Vector sum[kRows];
  SEMFUSE_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    x_values[r] = x.values(row + r);
    x_scales[r] = x.scales(row + r);
    x_sums[r] = x.sums(row + r);
    x_halves[r] = x.half_sums(row + r);
    sum[r] = hn::Zero(Tag());
  }
  for (std::size_t part = 0; part < w.parts; ++part) {
    const std::size_t block = part / kPartsOfBlock;
    Words values[Format::kWords];
    SEMFUSE_UNROLL
    for (std::size_t j = 0; j < Format::kWords; ++j) {
      values[j] = hn::Load(WordTag(), w.values + (part * Format::kWords + j) * lanes);
    }
    const Vector scale = hn::Load(Tag(), w.scales + part * lanes);
    const Vector least = Format::kHasLeast ? hn::Load(Tag(), w.least + part * lanes) : hn::Zero(Tag());
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t first = 0;
      if constexpr (Format::kOffset != 0) {
        first = kPartsOfBlock == 2 ? x_halves[r][part] : x_halves[r][2 * part] + x_halves[r][2 * part + 1];
      }
      const Ints dot =
          dot_part<Format, kVnni>(hn::Set(IntTag(), -Format::kOffset * first), values, x_values[r] + part * kPart);
      const Vector scaled = hn::Mul(scale, hn::Set(Tag(), x_scales[r][block]));
      sum[r] = hn::MulAdd(hn::ConvertTo(Tag(), dot), scaled, sum[r]);
      if constexpr (Format::kHasLeast) sum[r] = hn::MulAdd(least, hn::Set(Tag(), x_sums[r][block]), sum[r]);
    }
  }
  SEMFUSE_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) store(sum[r], y + r * y_stride, count);
}

// The rows from `row` on: as many at once as there are, then half as many, down to one.
template <class Format, bool kVnni, std::size_t kRows>
void multiply_rows_from(const UnpackedRows& w, const QuantisedRows& x, std::size_t row, Matrix y, std::size_t column,
                        std::size_t count) {
  for (; row + kRows <= y.rows(); row += kRows) {
    multiply_rows<Format, kVnni, kRows>(w, x, row, y.row(row) + column, y.stride(), count);
  }
  if constexpr (kRows > 1) multiply_rows_from<Format, kVnni, kRows / 2>(w, x, row, y, column, count);
}

#if HWY_TARGET <= HWY_AVX3

constexpr std::size_t kTileSide = 16;

// Sizes of the three tiles of multiply_tiles(): sums, x, weights. Belongs to a thread until release().
class TileSizes {
 public:
  TileSizes() {
    set(0, kTileSide, 4 * kTileSide);
    set(1, kTileSide, QuantisedRows::kBlock);
    set(2, QuantisedRows::kBlock / 4, 4 * kTileSide);
    asm volatile("ldtilecfg %0" : : "m"(bytes_));
  }
  TileSizes(const TileSizes&) = delete;
  TileSizes& operator=(const TileSizes&) = delete;
  ~TileSizes() { asm volatile("tilerelease"); }

 private:
  void set(std::size_t tile, std::size_t rows, std::size_t row_bytes) {
    bytes_[16 + 2 * tile] = static_cast<std::uint8_t>(row_bytes);
    bytes_[48 + tile] = static_cast<std::uint8_t>(rows);
  }
  std::uint8_t bytes_[64] = {1};
};

// The same as multiply_rows() for 16 rows at a time, bit by bit: sums of integers have one value. Returns how many rows
// it has done.
template <class Format>
HWY_INLINE std::size_t multiply_tiles(const UnpackedRows& w, const QuantisedRows& x, Matrix y, std::size_t column,
                                      std::size_t count) {
  static_assert(Format::kWords * 4 == QuantisedRows::kBlock);
  const std::size_t stride = x.blocks() * QuantisedRows::kBlock;
  const std::size_t blocks = x.blocks();
  // What a tile stores can be loaded only a while later, so sums are read some parts after they were made.
  constexpr std::size_t kBuffers = 4;
  alignas(64) std::int32_t dots[kBuffers][kTileSide * kTileSide];
  std::size_t row = 0;
  for (; row + kTileSide <= y.rows(); row += kTileSide) {
    const std::int8_t* values = x.values(row);
    const auto multiply_part = [&](std::size_t part) SEMFUSE_LAMBDA {
      auto& dot = dots[part % kBuffers];
      asm volatile(
          "tilezero %%tmm0\n\t"
          "tileloadd (%1,%2,1), %%tmm1\n\t"
          "tileloadd (%3,%4,1), %%tmm2\n\t"
          "tdpbsud %%tmm2, %%tmm1, %%tmm0\n\t"
          "tilestored %%tmm0, (%5,%4,1)"
          : "=m"(dot)
          : "r"(values + part * QuantisedRows::kBlock), "r"(stride), "r"(w.values + part * Format::kWords * kTileSide),
            "r"(4 * kTileSide), "r"(&dot[0]));
    };
    Vector sum[kTileSide];
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kTileSide; ++r) sum[r] = hn::Zero(Tag());
    for (std::size_t part = 0; part < std::min(kBuffers - 1, w.parts); ++part) multiply_part(part);
    for (std::size_t part = 0; part < w.parts; ++part) {
      if (part + kBuffers - 1 < w.parts) multiply_part(part + kBuffers - 1);
      const auto& dot = dots[part % kBuffers];
      const Vector scale = hn::Load(Tag(), w.scales + part * kTileSide);
      const Vector least = Format::kHasLeast ? hn::Load(Tag(), w.least + part * kTileSide) : hn::Zero(Tag());
      const float* x_scales = x.scales(row) + part;
      const float* x_sums = x.sums(row) + part;
      const std::int32_t* x_halves = x.half_sums(row) + 2 * part;
      SEMFUSE_UNROLL
      for (std::size_t r = 0; r < kTileSide; ++r) {
        Ints whole = hn::Load(IntTag(), &dot[r * kTileSide]);
        if constexpr (Format::kOffset != 0) {
          const std::int32_t first = x_halves[2 * r * blocks] + x_halves[2 * r * blocks + 1];
          whole = hn::Sub(whole, hn::Set(IntTag(), Format::kOffset * first));
        }
        const Vector scaled = hn::Mul(scale, hn::Set(Tag(), x_scales[r * blocks]));
        sum[r] = hn::MulAdd(hn::ConvertTo(Tag(), whole), scaled, sum[r]);
        if constexpr (Format::kHasLeast) sum[r] = hn::MulAdd(least, hn::Set(Tag(), x_sums[r * blocks]), sum[r]);
      }
    }
    SEMFUSE_UNROLL
    for (std::size_t r = 0; r < kTileSide; ++r) store(sum[r], y.row(row + r) + column, count);
  }
  return row;
}

#endif

template <class Format, bool kVnni>
void multiply_quantised(const StoredMatrix& weights, std::size_t first, std::size_t count, const QuantisedRows& x,
                        Matrix y) {
  const std::size_t lanes = hn::Lanes(Tag());
  const std::size_t parts = weights.cols / (Format::kWords * 4);
  const std::size_t num_words = parts * Format::kWords * lanes;
  auto* values = unpacked_memory<std::uint32_t>(num_words + 2 * parts * lanes);
  auto* scales = reinterpret_cast<float*>(values + num_words);
  float* least = scales + parts * lanes;
  const UnpackedRows unpacked{.values = values, .scales = scales, .least = least, .parts = parts};
#if HWY_TARGET <= HWY_AVX3
  std::optional<TileSizes> tiles;
  if (kVnni && Format::kWords == 8 && y.rows() >= kTileSide && has_matrix_tiles()) tiles.emplace();
#endif
  for (std::size_t column = first; column < first + count; column += lanes) {
    const StoredRows rows(weights, column);
    NextRows next(weights, column + lanes, lanes, parts / Format::kPartsOfStep);
    for (std::size_t part = 0; part < parts; part += Format::kPartsOfStep) {
      next.fetch();
      Format::step(rows, part / Format::kPartsOfStep, values + part * Format::kWords * lanes, scales + part * lanes,
                   least + part * lanes);
    }
    const std::size_t written = std::min(lanes, first + count - column);
    std::size_t done = 0;
#if HWY_TARGET <= HWY_AVX3
    if constexpr (kVnni && Format::kWords == 8) {
      if (tiles) done = multiply_tiles<Format>(unpacked, x, y, column, written);
    }
#endif
    multiply_rows_from<Format, kVnni, kRowsAtOnce>(unpacked, x, done, y, column, written);
  }
}

// Numbers of a row that are unpacked to floats at a time: with those of a panel's other rows they stay in the first or
// second-level cache.
constexpr std::size_t kFloatDepth = 256;

template <class Format>
void multiply_floats(const StoredMatrix& weights, std::size_t first, std::size_t count, ConstMatrix x, Matrix y) {
  const std::size_t lanes = hn::Lanes(Tag());
  const std::size_t width = tile_cols();
  float* panel = unpacked_memory<float>(kFloatDepth * width);
  for (std::size_t column = first; column < first + count; column += width) {
    const std::size_t cols = std::min(width, first + count - column);
    for (std::size_t begin = 0; begin < weights.cols; begin += kFloatDepth) {
      const std::size_t depth = std::min(kFloatDepth, weights.cols - begin);
      const std::size_t whole = depth / Format::kNumbers * Format::kNumbers;
      for (std::size_t side = 0; side < width && side < cols; side += lanes) {
        const StoredRows rows(weights, column + side);
        for (std::size_t k = 0; k < whole; k += Format::kNumbers) {
          Format::step(rows, (begin + k) / Format::kNumbers, weights.cols, width, panel + k * width + side);
        }
        for (std::size_t lane = 0; whole < depth && lane < lanes && column + side + lane < weights.rows; ++lane) {
          // Less than one step is left, of a plain type.
          const std::size_t size = row_bytes(weights.type, 1);
          const std::byte* rest = weights.row(column + side + lane) + (begin + whole) * size;
          float numbers[Format::kNumbers];
          decode_row(weights.type, {rest, (depth - whole) * size}, {numbers, depth - whole});
          for (std::size_t k = whole; k < depth; ++k) panel[k * width + side + lane] = numbers[k - whole];
        }
      }
      multiply_panel({.a = x.data() + begin,
                      .a_row_stride = x.stride(),
                      .a_depth_stride = 1,
                      .b = panel,
                      .b_stride = width,
                      .depth = depth,
                      .c = y.data() + column,
                      .c_stride = y.stride(),
                      .cols = cols,
                      .resume = begin > 0},
                     y.rows(), /*whole_rows=*/true);
    }
  }
}

template <bool kVnni>
void multiply_any(const StoredMatrix& weights, std::size_t first, std::size_t count, ConstMatrix x,
                  const QuantisedRows& quantised, Matrix y) {
  switch (weights.type) {
    case StorageType::f32:
      return multiply_floats<F32>(weights, first, count, x, y);
    case StorageType::f16:
      return multiply_floats<F16>(weights, first, count, x, y);
    case StorageType::bf16:
      return multiply_floats<BF16>(weights, first, count, x, y);
    case StorageType::q8_64:
      return multiply_floats<Q8_64>(weights, first, count, x, y);
    case StorageType::q8_0:
      return multiply_quantised<Q8_0, kVnni>(weights, first, count, quantised, y);
    case StorageType::q4_0:
      return multiply_quantised<Q4_0, kVnni>(weights, first, count, quantised, y);
    case StorageType::q4_1:
      return multiply_quantised<Q4_1, kVnni>(weights, first, count, quantised, y);
    case StorageType::q4_k:
      return multiply_quantised<Q4_K, kVnni>(weights, first, count, quantised, y);
    case StorageType::q5_k:
      return multiply_quantised<Q5_K, kVnni>(weights, first, count, quantised, y);
    case StorageType::q6_k:
      return multiply_quantised<Q6_K, kVnni>(weights, first, count, quantised, y);
  }
}

void MultiplyStored(const StoredMatrix& weights, std::size_t first, std::size_t count, ConstMatrix x,
                    const QuantisedRows& quantised, Matrix y) {
#if HWY_TARGET <= HWY_AVX3
  static const bool vnni = __builtin_cpu_supports("avx512vnni") != 0;
  if (vnni) return multiply_any<true>(weights, first, count, x, quantised, y);
#endif
  multiply_any<false>(weights, first, count, x, quantised, y);
}

// 32 numbers become integers from -127 to 127; the largest in size is one of the two.
void QuantiseBlock(const float* x, std::int8_t* values, float& scale, float& sum, std::int32_t* half_sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector most = hn::Zero(d);
  for (std::size_t i = 0; i < QuantisedRows::kBlock; i += lanes) most = hn::Max(most, hn::Abs(hn::LoadU(d, x + i)));
  const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  scale = largest / 127.0f;
  const Vector inverse = hn::Set(d, largest > 0.0f ? 127.0f / largest : 0.0f);
  HWY_ALIGN std::int32_t whole[QuantisedRows::kBlock];
  for (std::size_t i = 0; i < QuantisedRows::kBlock; i += lanes) {
    hn::Store(hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), inverse)), IntTag(), whole + i);
  }
  half_sums[0] = half_sums[1] = 0;
  for (std::size_t i = 0; i < QuantisedRows::kBlock; ++i) {
    values[i] = static_cast<std::int8_t>(whole[i]);
    half_sums[i / 16] += whole[i];
  }
  sum = scale * static_cast<float>(half_sums[0] + half_sums[1]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(MultiplyStored);
HWY_EXPORT(QuantiseBlock);

bool reads_quantised(StorageType type) {
  switch (type) {
    case StorageType::f32:
    case StorageType::f16:
    case StorageType::bf16:
    case StorageType::q8_64:
      return false;
    default:
      return true;
  }
}

void QuantisedRows::resize(std::size_t rows, std::size_t cols) {
  assert(cols % kBlock == 0);
  rows_ = rows;
  blocks_ = cols / kBlock;
  const std::size_t blocks = rows_ * blocks_;
  if (scales_.size() >= blocks) return;
  values_ = AlignedFloats(blocks * kBlock / sizeof(float));
  scales_ = AlignedFloats(blocks);
  sums_ = AlignedFloats(blocks);
  half_sums_ = AlignedFloats(2 * blocks);
}

void QuantisedRows::quantise(ConstMatrix x, std::size_t first, std::size_t count) {
  assert(x.rows() == rows_ && x.cols() == blocks_ * kBlock && first + count <= rows_);
  const auto quantise_block = HWY_DYNAMIC_DISPATCH(QuantiseBlock);
  auto* values = reinterpret_cast<std::int8_t*>(values_.data());
  auto* half_sums = reinterpret_cast<std::int32_t*>(half_sums_.data());
  for (std::size_t block = first * blocks_; block < (first + count) * blocks_; ++block) {
    quantise_block(x.row(block / blocks_) + block % blocks_ * kBlock, values + block * kBlock, scales_.data()[block],
                   sums_.data()[block], half_sums + 2 * block);
  }
}

void multiply_stored(const StoredMatrix& weights, std::size_t first, std::size_t count, ConstMatrix x,
                     const QuantisedRows& quantised, Matrix y) {
  assert(first % 32 == 0 && first + count <= weights.rows && y.cols() == weights.rows);
  HWY_DYNAMIC_DISPATCH(MultiplyStored)(weights, first, count, x, quantised, y);
}

}  // namespace semfuse
#endif
