#include "kernels/stored_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "core/half_float.h"
#include "core/random.h"
#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

// Any bytes are weights; only the scales must be sensible numbers.
class RandomStored {
 public:
  // With all bytes but the scales `filled`, if it is given.
  RandomStored(StorageType type, std::size_t rows, std::size_t cols, std::optional<std::byte> filled = std::nullopt)
      : bytes_(rows * row_bytes(type, cols)) {
    const RandomStream random(7, RandomPurpose::weights, static_cast<std::uint64_t>(type));
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = filled.value_or(static_cast<std::byte>(static_cast<int>(random.uniform(i) * 256.0)));
    }
    matrix_ = {.type = type, .data = bytes_.data(), .rows = rows, .cols = cols};
    const std::size_t blocks = cols / block_size(type);
    const std::size_t size = is_plain(type) ? 0 : row_bytes(type, block_size(type));
    const auto number = [&](std::size_t i) { return static_cast<float>(random.uniform(bytes_.size() + i) - 0.5); };
    for (std::size_t r = 0; r < rows; ++r) {
      std::byte* row = bytes_.data() + r * matrix_.row_size();
      const auto put = [&](std::size_t place, auto value) { std::memcpy(row + place, &value, sizeof(value)); };
      const auto half = [&](std::size_t b) { return float_to_half(number(r * 1000 + b)); };
      if (is_plain(type)) {
        for (std::size_t i = 0; i < cols; ++i) {
          const float value = number(r * cols + i);
          if (type == StorageType::f32) put(4 * i, value);
          if (type == StorageType::f16) put(2 * i, float_to_half(value));
          if (type == StorageType::bf16) put(2 * i, float_to_bfloat(value));
        }
      }
      for (std::size_t b = 0; size > 0 && b < blocks; ++b) {
        if (type == StorageType::q8_64) {
          put(cols + 4 * b, number(r * 1000 + b));
        } else if (type == StorageType::q6_k) {
          put(b * size + 208, half(b));
        } else {
          put(b * size, half(2 * b));
          if (type != StorageType::q8_0 && type != StorageType::q4_0) put(b * size + 2, half(2 * b + 1));
        }
      }
    }
  }
  const StoredMatrix& matrix() const { return matrix_; }

 private:
  std::vector<std::byte> bytes_;
  StoredMatrix matrix_;
};

constexpr StorageType kTypes[] = {StorageType::f32,  StorageType::f16,  StorageType::bf16, StorageType::q8_0,
                                  StorageType::q4_0, StorageType::q4_1, StorageType::q4_k, StorageType::q5_k,
                                  StorageType::q6_k, StorageType::q8_64};

// What the product should be: sums in double of the decoded weights and of x as it is read.
double expected(const StoredMatrix& weights, std::size_t output, ConstMatrix x, const QuantisedRows& quantised,
                std::size_t row, double& size) {
  std::vector<float> w(weights.cols);
  weights.decode(output, w.data());
  double sum = 0.0;
  size = 0.0;
  for (std::size_t k = 0; k < weights.cols; ++k) {
    const double factor = reads_quantised(weights.type)
                              ? static_cast<double>(quantised.values(row)[k]) * quantised.scales(row)[k / 32]
                              : static_cast<double>(x(row, k));
    sum += factor * w[k];
    size += std::abs(factor * w[k]);
  }
  return sum;
}

TEST(StoredMatmul, IsTheProductWithTheDecodedWeights) {
  for_each_instruction_set([] {
    for (const StorageType type : kTypes) {
      for (const std::size_t outputs : {1, 16, 33, 70}) {
        for (const std::size_t rows : {1, 2, 9, 13, 35}) {
          SCOPED_TRACE(testing::Message() << to_string(type) << " " << outputs << " x " << rows);
          const std::size_t cols = is_plain(type) ? 301 : 512;
          const RandomStored weights(type, outputs, cols);
          GuardedMatrix x(rows, cols);
          x.fill(UniformNumbers(3));
          GuardedMatrix y(rows, outputs, {.gap = 3, .misalignment = 1});
          QuantisedRows quantised;
          if (reads_quantised(type)) {
            quantised.resize(rows, cols);
            quantised.quantise(x.view(), 0, rows);
          }
          for (std::size_t first = 0; first < outputs; first += 32) {
            multiply_stored(weights.matrix(), first, std::min<std::size_t>(32, outputs - first), x.view(), quantised,
                            y.view());
          }
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t o = 0; o < outputs; ++o) {
              double size = 0.0;
              const double sum = expected(weights.matrix(), o, x.view(), quantised, r, size);
              ASSERT_NEAR(y.view()(r, o), sum, 3e-6 * size + 1e-6) << r << " " << o;
            }
          }
          EXPECT_TRUE(y.guards_intact());
        }
      }
    }
  });
}

// Sums of products are largest where all weights are, and all factors of one sign.
TEST(StoredMatmul, HoldsTheLargestSums) {
  for_each_instruction_set([] {
    for (const StorageType type : kTypes) {
      if (!reads_quantised(type)) continue;
      for (const std::byte filled : {std::byte{0xFF}, std::byte{0x80}, std::byte{0x7F}}) {
        for (const float factor : {1.0f, -1.0f}) {
          SCOPED_TRACE(testing::Message() << to_string(type) << " " << static_cast<int>(filled) << " " << factor);
          constexpr std::size_t kCols = 512;
          const RandomStored weights(type, 9, kCols, filled);
          GuardedMatrix x(3, kCols);
          x.fill([&](std::size_t, std::size_t) { return factor; });
          QuantisedRows quantised;
          quantised.resize(3, kCols);
          quantised.quantise(x.view(), 0, 3);
          GuardedMatrix y(3, 9);
          multiply_stored(weights.matrix(), 0, 9, x.view(), quantised, y.view());
          for (std::size_t r = 0; r < 3; ++r) {
            for (std::size_t c = 0; c < 9; ++c) {
              double size = 0.0;
              const double sum = expected(weights.matrix(), c, x.view(), quantised, r, size);
              EXPECT_NEAR(y.view()(r, c), sum, 1e-5 * size) << r << ", " << c;
            }
          }
        }
      }
    }
  });
}

TEST(StoredMatmul, OtherRowsChangeNoBit) {
  for (const StorageType type : kTypes) {
    const RandomStored weights(type, 64, 512);
    GuardedMatrix x(37, 512);
    x.fill(UniformNumbers(5));
    GuardedMatrix all(37, 64);
    QuantisedRows quantised;
    quantised.resize(37, 512);
    quantised.quantise(x.view(), 0, 37);
    multiply_stored(weights.matrix(), 0, 64, x.view(), quantised, all.view());
    for (std::size_t r = 0; r < 37; ++r) {
      const Matrix one = x.view().row_range(r, 1);
      GuardedMatrix alone(1, 64);
      QuantisedRows single;
      single.resize(1, 512);
      single.quantise(one, 0, 1);
      multiply_stored(weights.matrix(), 0, 32, one, single, alone.view());
      multiply_stored(weights.matrix(), 32, 32, one, single, alone.view());
      for (std::size_t o = 0; o < 64; ++o) ASSERT_EQ(alone.view()(0, o), all.view()(r, o)) << to_string(type);
    }
  }
}

TEST(QuantisedRows, AreNearTheNumbersAndKeepTheirSums) {
  for_each_instruction_set([] {
    GuardedMatrix x(3, 96);
    x.fill(UniformNumbers(1));
    std::fill_n(x.view().row(1), 32, 0.0f);
    QuantisedRows quantised;
    quantised.resize(3, 96);
    quantised.quantise(x.view(), 0, 3);
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t k = 0; k < 96; ++k) {
        const float scale = quantised.scales(r)[k / 32];
        EXPECT_NEAR(static_cast<float>(quantised.values(r)[k]) * scale, x.view()(r, k), 0.501f * scale);
      }
      for (std::size_t half = 0; half < 6; ++half) {
        int sum = 0;
        for (std::size_t k = 0; k < 16; ++k) sum += quantised.values(r)[half * 16 + k];
        EXPECT_EQ(quantised.half_sums(r)[half], sum);
      }
    }
  });
}

}  // namespace
}  // namespace semfuse
