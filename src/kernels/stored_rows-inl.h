// Weights of several rows side by side, as stored: bytes and scales, a lane for each row (Highway's -inl convention).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/stored_matrix.h"

#if defined(SEMFUSE_KERNELS_STORED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_STORED_ROWS_INL_H_
#undef SEMFUSE_KERNELS_STORED_ROWS_INL_H_
#else
#define SEMFUSE_KERNELS_STORED_ROWS_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

using WordTag = hn::RebindToUnsigned<Tag>;
using Words = hn::Vec<WordTag>;
using IntTag = hn::RebindToSigned<Tag>;
using Ints = hn::Vec<IntTag>;

constexpr std::size_t kMostLanes = HWY_MAX_BYTES / sizeof(float);

// As many rows as a vector has lanes; where the matrix ends sooner, its last row again.
class StoredRows {
 public:
  HWY_INLINE StoredRows(const StoredMatrix& matrix, std::size_t first) {
    base_ = reinterpret_cast<const std::uint8_t*>(matrix.row(first));
    const std::size_t size = matrix.row_size();
    for (std::size_t lane = 0; lane < kMostLanes; ++lane) {
      offset_[lane] = static_cast<std::int32_t>(std::min(lane, matrix.rows - 1 - first) * size);
    }
  }

  // The four bytes at `place` of each row.
  HWY_INLINE Words words(std::size_t place) const {
    const WordTag d;
#if HWY_TARGET == HWY_AVX2
    // Processors with nothing more gather slowly.
    const auto at = [&](std::size_t lane) SEMFUSE_LAMBDA {
      std::int32_t word = 0;
      std::memcpy(&word, base_ + offset_[lane] + place, sizeof(word));
      return word;
    };
    return Words{_mm256_setr_epi32(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7))};
#elif HWY_TARGET <= HWY_AVX3
    return hn::GatherOffset(d, reinterpret_cast<const std::uint32_t*>(base_ + place), hn::Load(IntTag(), offset_));
#else
    HWY_ALIGN std::uint32_t lanes[kMostLanes];
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      std::memcpy(lanes + lane, base_ + offset_[lane] + place, sizeof(std::uint32_t));
    }
    return hn::Load(d, lanes);
#endif
  }

  // The 16 bytes at `place` of each row: out[j] has the j-th four of them.
  HWY_INLINE void sixteen(std::size_t place, Words* out) const {
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t j = 0; j < 4; ++j) out[j] = words(place + 4 * j);
#else
    const WordTag d;
    const hn::RebindToUnsigned<hn::Repartition<double, Tag> > d64;
    const std::uint8_t* from = base_ + place;
    Words z[4];
    SEMFUSE_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      z[i] = load16(from + offset_[i]);
      SEMFUSE_UNROLL
      for (std::size_t part = 1; part < kMostLanes / 4; ++part) {
        z[i] = hn::IfThenElse(part_mask(part), load16(from + offset_[i + 4 * part]), z[i]);
      }
    }
    const auto low0 = hn::BitCast(d64, hn::InterleaveLower(d, z[0], z[1]));
    const auto low1 = hn::BitCast(d64, hn::InterleaveLower(d, z[2], z[3]));
    const auto high0 = hn::BitCast(d64, hn::InterleaveUpper(d, z[0], z[1]));
    const auto high1 = hn::BitCast(d64, hn::InterleaveUpper(d, z[2], z[3]));
    out[0] = hn::BitCast(d, hn::InterleaveLower(d64, low0, low1));
    out[1] = hn::BitCast(d, hn::InterleaveUpper(d64, low0, low1));
    out[2] = hn::BitCast(d, hn::InterleaveLower(d64, high0, high1));
    out[3] = hn::BitCast(d, hn::InterleaveUpper(d64, high0, high1));
#endif
  }

 private:
#if HWY_TARGET != HWY_SCALAR
  static HWY_INLINE Words load16(const std::uint8_t* from) {
    const WordTag d;
    const hn::Repartition<std::uint8_t, WordTag> d8;
    if constexpr (kMostLanes == 4) return hn::BitCast(d, hn::LoadU(d8, from));
    HWY_ALIGN std::uint8_t block[16];
    std::memcpy(block, from, 16);  // LoadDup128() wants an aligned place; the compiler sees through it.
    return hn::BitCast(d, hn::LoadDup128(d8, block));
  }
  static HWY_INLINE hn::Mask<WordTag> part_mask(std::size_t part) {
    const WordTag d;
    const auto lane = hn::Iota(d, 0);
    return hn::Eq(hn::ShiftRight<2>(lane), hn::Set(d, static_cast<std::uint32_t>(part)));
  }
#endif

  const std::uint8_t* base_;
  HWY_ALIGN std::int32_t offset_[kMostLanes];
};

HWY_INLINE Words low_bits(Words v, std::uint32_t mask) {
  return hn::And(v, hn::Set(WordTag(), mask));
}

// Halves in the low 16 bits of each lane as floats; infinities and NaN, which no weight is, become large numbers.
HWY_INLINE Vector floats_of_halves(Words v) {
  const WordTag d;
  const auto size = hn::ShiftLeft<13>(low_bits(v, 0x7FFF));
  const auto sign = hn::ShiftLeft<16>(low_bits(v, 0x8000));
  const Vector scaled = hn::Mul(hn::BitCast(Tag(), size), hn::Set(Tag(), 0x1p112f));
  return hn::BitCast(Tag(), hn::Or(hn::BitCast(d, scaled), sign));
}

HWY_INLINE Vector floats_of_words(Words v) {
  return hn::ConvertTo(Tag(), hn::BitCast(IntTag(), v));
}

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
