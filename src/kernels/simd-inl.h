// Vector helpers shared by the kernels, compiled once for each instruction set (Highway's -inl convention).
#include <cstddef>
#include <cstdint>

#include "kernels/dropout.h"

#if defined(SEMFUSE_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_SIMD_INL_H_
#undef SEMFUSE_KERNELS_SIMD_INL_H_
#else
#define SEMFUSE_KERNELS_SIMD_INL_H_
#endif

#include "hwy/highway.h"

#if HWY_COMPILER_CLANG
#define SEMFUSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SEMFUSE_UNROLL _Pragma("GCC unroll 16")
#endif

// A lambda of the loops below must become part of them, or every vector costs a call and its sums live in memory.
#define SEMFUSE_LAMBDA HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using MaskVector = hn::Mask<Tag>;

// The first `count` floats at p, zeros in the other lanes; reads nothing beyond them.
HWY_INLINE Vector load_first(const float* p, std::size_t count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  if (count < hn::Lanes(d)) {
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
    for (std::size_t i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
  return hn::LoadU(d, p);
#else
  return hn::MaskedLoad(hn::FirstN(d, count), d, p);
#endif
}

HWY_INLINE void store_first(Vector v, float* p, std::size_t count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  if (count < hn::Lanes(d)) {
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, lanes);
    for (std::size_t i = 0; i < count; ++i) p[i] = lanes[i];
    return;
  }
  hn::StoreU(v, d, p);
#else
  hn::BlendedStore(v, hn::FirstN(d, count), d, p);
#endif
}

// v with zeros in the lanes from `count` on.
HWY_INLINE Vector first_lanes(Vector v, std::size_t count) {
  return count == hn::Lanes(Tag()) ? v : hn::IfThenElseZero(hn::FirstN(Tag(), count), v);
}

// Calls body(column, count) for whole vectors of a row of `cols` numbers, and once more for what is left.
template <class Body>
HWY_INLINE void for_vectors(std::size_t cols, const Body& body) {
  const std::size_t lanes = hn::Lanes(Tag());
  std::size_t j = 0;
  for (; j + lanes <= cols; j += lanes) body(j, lanes);
  if (j < cols) body(j, cols - j);
}

HWY_INLINE Vector load(const float* p, std::size_t count) {
  return count == hn::Lanes(Tag()) ? hn::LoadU(Tag(), p) : load_first(p, count);
}

HWY_INLINE void store(Vector v, float* p, std::size_t count) {
  if (count == hn::Lanes(Tag())) {
    hn::StoreU(v, Tag(), p);
  } else {
    store_first(v, p, count);
  }
}

// Applies a row of a DropoutMask to vectors of the row, from left to right.
class RowDropout {
 public:
  HWY_INLINE RowDropout(const DropoutMask& mask, std::size_t row)
      : active_(mask.active()),
        threshold_(mask.threshold),
        scale_(mask.scale),
        keys_(hn::Add(hn::Set(Unsigned(), mask.row_key(row)),
                      hn::Mul(hn::Iota(Unsigned(), 0u), hn::Set(Unsigned(), DropoutMask::kColumnStep)))) {}

  // v · scale where the mask keeps the columns `column` ... of the row, 0 elsewhere. `column` is a multiple of the
  // vector length.
  HWY_INLINE Vector apply(Vector v, std::size_t column) {
    if (!active_) return v;
    const bool high = column / DropoutMask::kHalf % 2 != 0;
    // With 16 lanes the high half belongs to the hash that the vector to the left computed.
    if (!high || hn::Lanes(Unsigned()) < DropoutMask::kHalf) {
      const std::size_t hashed = column / (2 * DropoutMask::kHalf) * DropoutMask::kHalf + column % DropoutMask::kHalf;
      auto x = hn::Add(keys_, hn::Set(Unsigned(), static_cast<std::uint32_t>(hashed) * DropoutMask::kColumnStep));
      x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(Unsigned(), 0x7FEB352Du));
      x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(Unsigned(), 0x846CA68Bu));
      hash_ = hn::Xor(x, hn::ShiftRight<16>(x));
    }
    const auto bits = high ? hn::ShiftRight<16>(hash_) : hn::And(hash_, hn::Set(Unsigned(), 0xFFFFu));
    const auto keep = hn::RebindMask(Tag(), hn::Not(hn::Lt(bits, hn::Set(Unsigned(), threshold_))));
    return hn::IfThenElseZero(keep, hn::Mul(v, hn::Set(Tag(), scale_)));
  }

 private:
  using Unsigned = hn::RebindToUnsigned<Tag>;

  bool active_;
  std::uint32_t threshold_;
  float scale_;
  hn::Vec<Unsigned> keys_;  // Row key plus column step of each lane.
  hn::Vec<Unsigned> hash_ = hn::Zero(Unsigned());
};

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
