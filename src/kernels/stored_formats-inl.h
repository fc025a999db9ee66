// What the block types are made of: for each, how the weights of several rows become integers and scales (Highway's
// -inl convention).
//
// A format's part is the numbers of a row that share a scale: weight = scale · (value - kOffset) + least, with value
// from 0 to 255, the least only if kHasLeast. step(rows, index, …) unpacks kPartsOfStep parts: kWords words of four
// values for each, one scale and one least for each. Products of kTogether words may be added before they are widened.
#include <cstddef>
#include <cstdint>

#if defined(SEMFUSE_KERNELS_STORED_FORMATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SEMFUSE_KERNELS_STORED_FORMATS_INL_H_
#undef SEMFUSE_KERNELS_STORED_FORMATS_INL_H_
#else
#define SEMFUSE_KERNELS_STORED_FORMATS_INL_H_
#endif

#include "kernels/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {

constexpr std::uint32_t kNibbles = 0x0F0F0F0F;

HWY_INLINE void store_words(Words v, std::uint32_t* to) {
  hn::Store(v, WordTag(), to);
}
HWY_INLINE void store_floats(Vector v, float* to) {
  hn::Store(v, Tag(), to);
}

// 16 bytes whose low halves are the first 16 numbers of a part, and whose high halves are the others.
HWY_INLINE void store_nibbles(const StoredRows& rows, std::size_t place, std::uint32_t* values) {
  const std::size_t lanes = hn::Lanes(WordTag());
  Words packed[4];
  rows.sixteen(place, packed);
  SEMFUSE_UNROLL
  for (std::size_t j = 0; j < 4; ++j) {
    store_words(low_bits(packed[j], kNibbles), values + j * lanes);
    store_words(low_bits(hn::ShiftRight<4>(packed[j]), kNibbles), values + (4 + j) * lanes);
  }
}

struct Q4_0 {
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kPartsOfStep = 1;
  static constexpr std::int32_t kOffset = 8;
  static constexpr bool kHasLeast = false;
  static constexpr bool kWide = false;  // Values go beyond 127.
  static constexpr std::size_t kTogether = 8;

  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::uint32_t* values, float* scales, float*) {
    store_nibbles(rows, index * 18 + 2, values);
    store_floats(floats_of_halves(rows.words(index * 18)), scales);
  }
};

struct Q4_1 {
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kPartsOfStep = 1;
  static constexpr std::int32_t kOffset = 0;
  static constexpr bool kHasLeast = true;
  static constexpr bool kWide = false;
  static constexpr std::size_t kTogether = 8;

  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::uint32_t* values, float* scales,
                              float* least) {
    store_nibbles(rows, index * 20 + 4, values);
    const Words both = rows.words(index * 20);
    store_floats(floats_of_halves(both), scales);
    store_floats(floats_of_halves(hn::ShiftRight<16>(both)), least);
  }
};

struct Q8_0 {
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kPartsOfStep = 1;
  // Bytes with a sign where they are multiplied as such.
  static constexpr std::int32_t kOffset = HWY_TARGET == HWY_AVX2 ? 0 : 128;
  static constexpr bool kHasLeast = false;
  static constexpr bool kWide = true;
  static constexpr std::size_t kTogether = 1;

  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::uint32_t* values, float* scales, float*) {
    const std::size_t lanes = hn::Lanes(WordTag());
    Words v[8];
    rows.sixteen(index * 34 + 2, v);
    rows.sixteen(index * 34 + 18, v + 4);
    SEMFUSE_UNROLL
    for (std::size_t j = 0; j < 8; ++j) {
      store_words(hn::Xor(v[j], hn::Set(WordTag(), kOffset == 0 ? 0 : 0x80808080u)), values + j * lanes);
    }
    store_floats(floats_of_halves(rows.words(index * 34)), scales);
  }
};

// Scales and minimums of the eight parts of a block of q4_k or q5_k.
HWY_INLINE void store_k_scales(const StoredRows& rows, std::size_t place, float* scales, float* least) {
  const std::size_t lanes = hn::Lanes(WordTag());
  const Words both = rows.words(place);
  const Vector d = floats_of_halves(both);
  const Vector d_minimum = hn::Neg(floats_of_halves(hn::ShiftRight<16>(both)));
  Words scale = rows.words(place + 4);
  Words minimum = rows.words(place + 8);
  Words rest = rows.words(place + 12);
  for (std::size_t j = 0; j < 4; ++j) {
    const Words high_scale = hn::ShiftLeft<4>(low_bits(hn::ShiftRight<6>(scale), 3));
    const Words high_minimum = hn::ShiftLeft<4>(low_bits(hn::ShiftRight<6>(minimum), 3));
    const auto put = [&](std::size_t part, Words scale_bits, Words minimum_bits) SEMFUSE_LAMBDA {
      store_floats(hn::Mul(d, floats_of_words(scale_bits)), scales + part * lanes);
      store_floats(hn::Mul(d_minimum, floats_of_words(minimum_bits)), least + part * lanes);
    };
    put(j, low_bits(scale, 63), low_bits(minimum, 63));
    put(j + 4, hn::Or(low_bits(rest, 15), high_scale), hn::Or(low_bits(hn::ShiftRight<4>(rest), 15), high_minimum));
    scale = hn::ShiftRight<8>(scale);
    minimum = hn::ShiftRight<8>(minimum);
    rest = hn::ShiftRight<8>(rest);
  }
}

template <bool kHighBits>
struct QK {
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kPartsOfStep = 8;
  static constexpr std::int32_t kOffset = 0;
  static constexpr bool kHasLeast = true;
  static constexpr bool kWide = false;
  static constexpr std::size_t kTogether = kHighBits ? 4 : 8;

  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::uint32_t* values, float* scales,
                              float* least) {
    const std::size_t lanes = hn::Lanes(WordTag());
    const std::size_t begin = index * (kHighBits ? 176 : 144);
    store_k_scales(rows, begin, scales, least);
    for (std::size_t half = 0; half < 2; ++half) {
      Words high[4] = {hn::Zero(WordTag()), hn::Zero(WordTag()), hn::Zero(WordTag()), hn::Zero(WordTag())};
      if (kHighBits) rows.sixteen(begin + 16 + half * 16, high);
      for (std::size_t pair = 0; pair < 4; ++pair) {
        Words packed[4];
        rows.sixteen(begin + (kHighBits ? 48 : 16) + pair * 32 + half * 16, packed);
        SEMFUSE_UNROLL
        for (std::size_t j = 0; j < 4; ++j) {
          Words first = low_bits(packed[j], kNibbles);
          Words second = low_bits(hn::ShiftRight<4>(packed[j]), kNibbles);
          if (kHighBits) {
            first = hn::Or(first, hn::ShiftLeft<4>(low_bits(high[j], 0x01010101)));
            second = hn::Or(second, hn::ShiftLeft<3>(low_bits(high[j], 0x02020202)));
            high[j] = hn::ShiftRight<2>(high[j]);
          }
          std::uint32_t* to = values + (pair * 2 * kWords + half * 4 + j) * lanes;
          store_words(first, to);
          store_words(second, to + kWords * lanes);
        }
      }
    }
  }
};
using Q4_K = QK<false>;
using Q5_K = QK<true>;

struct Q6_K {
  static constexpr std::size_t kWords = 4;
  static constexpr std::size_t kPartsOfStep = 16;
  static constexpr std::int32_t kOffset = 32;
  static constexpr bool kHasLeast = false;
  static constexpr bool kWide = false;
  static constexpr std::size_t kTogether = 2;

  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::uint32_t* values, float* scales, float*) {
    const std::size_t lanes = hn::Lanes(WordTag());
    const std::size_t begin = index * 210;
    const Vector d = floats_of_halves(hn::ShiftRight<16>(rows.words(begin + 206)));  // Nothing lies behind it.
    for (std::size_t four = 0; four < 4; ++four) {
      Words bytes = rows.words(begin + 192 + four * 4);
      for (std::size_t k = 0; k < 4; ++k) {
        const Ints scale = hn::ShiftRight<24>(hn::ShiftLeft<24>(hn::BitCast(IntTag(), bytes)));
        store_floats(hn::Mul(d, hn::ConvertTo(Tag(), scale)), scales + (four * 4 + k) * lanes);
        bytes = hn::ShiftRight<8>(bytes);
      }
    }
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t side = 0; side < 2; ++side) {  // The first or the last 16 of each 32.
        Words high[4];
        rows.sixteen(begin + 128 + half * 32 + side * 16, high);
        for (std::size_t part = 0; part < 2; ++part) {
          Words low[4];
          rows.sixteen(begin + half * 64 + part * 32 + side * 16, low);
          SEMFUSE_UNROLL
          for (std::size_t j = 0; j < 4; ++j) {
            const Words near = part == 0 ? high[j] : hn::ShiftRight<2>(high[j]);
            const Words first = hn::Or(low_bits(low[j], kNibbles), hn::ShiftLeft<4>(low_bits(near, 0x03030303)));
            const Words second = hn::Or(low_bits(hn::ShiftRight<4>(low[j]), kNibbles),
                                        low_bits(near, 0x30303030));  // Bits 4 and 5 are where they belong.
            std::uint32_t* to = values + ((half * 8 + part * 2 + side) * kWords + j) * lanes;
            store_words(first, to);
            store_words(second, to + 4 * kWords * lanes);
          }
        }
      }
    }
  }
};

// Plain and nearly plain weights as floats: step() gives kNumbers numbers of each row.
struct F32 {
  static constexpr std::size_t kNumbers = 4;
  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::size_t, std::size_t stride, float* to) {
    Words v[4];
    rows.sixteen(index * 16, v);
    SEMFUSE_UNROLL
    for (std::size_t j = 0; j < 4; ++j) store_floats(hn::BitCast(Tag(), v[j]), to + j * stride);
  }
};

template <bool kBrain>
struct HalfFormat {
  static constexpr std::size_t kNumbers = 8;
  static HWY_INLINE Vector number(Words v) {
    return kBrain ? hn::BitCast(Tag(), hn::ShiftLeft<16>(v)) : floats_of_halves(v);
  }
  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::size_t, std::size_t stride, float* to) {
    Words v[4];
    rows.sixteen(index * 16, v);
    SEMFUSE_UNROLL
    for (std::size_t j = 0; j < 4; ++j) {
      store_floats(number(v[j]), to + 2 * j * stride);
      store_floats(number(hn::ShiftRight<16>(v[j])), to + (2 * j + 1) * stride);
    }
  }
};
using F16 = HalfFormat<false>;
using BF16 = HalfFormat<true>;

struct Q8_64 {
  static constexpr std::size_t kNumbers = 16;
  static HWY_INLINE void step(const StoredRows& rows, std::size_t index, std::size_t cols, std::size_t stride,
                              float* to) {
    Words v[4];
    rows.sixteen(index * 16, v);
    const Vector scale = hn::BitCast(Tag(), rows.words(cols + index / 4 * 4));
    SEMFUSE_UNROLL
    for (std::size_t j = 0; j < 4; ++j) {
      Ints bytes = hn::BitCast(IntTag(), v[j]);
      SEMFUSE_UNROLL
      for (std::size_t k = 0; k < 4; ++k) {
        const Ints value = hn::ShiftRight<24>(hn::ShiftLeft<24>(bytes));
        store_floats(hn::Mul(scale, hn::ConvertTo(Tag(), value)), to + (4 * j + k) * stride);
        bytes = hn::ShiftRight<8>(bytes);
      }
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#endif
