#include "training/orthogonal_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "training/adamw.h"

namespace semfuse {
namespace {

using Numbers = std::vector<double>;  // [rows, cols], row by row.

ParameterLayout layer_layout() {
  ParameterLayout layout;
  layout.add("tok.weight", {30, 12});
  layout.add("enc.layers.0.self_attn.in_proj_weight", {36, 12});
  layout.add("enc.layers.0.self_attn.in_proj_bias", {36});
  layout.add("enc.layers.0.linear1.weight", {20, 12});
  layout.add("enc.layers.0.linear2.weight", {12, 20});
  layout.add("aux_head.0.weight", {8, 12});
  return layout;
}

ParameterBlock random_block(const ParameterLayout& layout, std::uint64_t seed) {
  ParameterBlock block(layout);
  RandomStream random(seed, RandomPurpose::weights);
  for (const ParameterInfo& info : layout.entries()) {
    for (std::size_t i = 0; i < info.size; ++i) block.vector(info)[i] = static_cast<float>(random.next_uniform() - 0.5);
  }
  return block;
}

Numbers product(const Numbers& a, const Numbers& b, std::size_t inner, std::size_t cols) {
  Numbers c(a.size() / inner * cols);
  for (std::size_t i = 0; i < a.size() / inner; ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      for (std::size_t j = 0; j < cols; ++j) c[i * cols + j] += a[i * inner + k] * b[k * cols + j];
    }
  }
  return c;
}

Numbers transposed(const Numbers& a, std::size_t cols) {
  Numbers t(a.size());
  const std::size_t rows = a.size() / cols;
  for (std::size_t i = 0; i < a.size(); ++i) t[i % cols * rows + i / cols] = a[i];
  return t;
}

// From the left, whatever the shape, where the program works on the shorter side.
Numbers directions(Numbers x, std::size_t cols) {
  const std::size_t rows = x.size() / cols;
  double norm = 0.0;
  for (const double each : x) norm += each * each;
  for (double& each : x) each /= std::sqrt(norm);
  for (int round = 0; round < 5; ++round) {
    const Numbers gram = product(x, transposed(x, cols), cols, rows);
    const Numbers once = product(gram, x, rows, cols), twice = product(gram, once, rows, cols);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] - 4.7750 * once[i] + 2.0315 * twice[i];
  }
  return x;
}

TEST(Orthogonalised, MakesSingularValuesAlike) {
  const std::vector<double> values = {1.0, 0.5, 0.1, 0.03, 0.012};
  std::vector<float> x(45), other(45);
  AlignedFloats scratch(orthogonal_scratch(5));
  for (std::size_t i = 0; i < 5; ++i) x[(i + 2) * 5 + i] = static_cast<float>(7.0 * values[i]);
  const Matrix found = orthogonalised({x.data(), 9, 5}, {other.data(), 9, 5}, scratch.data());
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      if (i == j + 2) {
        EXPECT_GT(found(i, j), 0.6f);
        EXPECT_LT(found(i, j), 1.25f);
      } else {
        EXPECT_NEAR(found(i, j), 0.0f, 1e-6f);
      }
    }
  }
}

TEST(OrthogonalStep, MatricesAreThoseOfTheLayers) {
  const ParameterLayout layout = layer_layout();
  const std::vector<MatrixPlace> places = layer_matrices(layout);
  ASSERT_EQ(places.size(), 5U);
  for (std::size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(places[part].offset, layout.entries()[1].offset + part * 144);
    EXPECT_EQ(places[part].rows, 12U);
    EXPECT_EQ(places[part].cols, 12U);
  }
  EXPECT_EQ(places[3].offset, layout.entries()[3].offset);
  EXPECT_EQ(places[3].rows, 20U);
  EXPECT_EQ(places[4].cols, 20U);
}

TEST(OrthogonalStep, FollowsTheFormulaInDoubleAndLeavesTheRestToAdamW) {
  const ParameterLayout layout = layer_layout();
  const AdamWOptions options{.beta2 = 0.95, .weight_decay = 0.1, .clip_norm = 1.0};
  AdamW plain(layout, options), muon(layout, options, layer_matrices(layout));
  ParameterBlock by_plain = random_block(layout, 1), weights = by_plain;
  Numbers expected(weights.data(), weights.data() + weights.size()), m(weights.size());
  ThreadPool pool(3);
  for (int t = 1; t <= 3; ++t) {
    const ParameterBlock gradients = random_block(layout, static_cast<std::uint64_t>(1 + t));
    const double rate = 0.02 * t, norm = AdamW::norm(gradients, pool), scale = 1.0 / (norm + 1e-6);
    plain.step(rate, norm, gradients, by_plain, pool);
    muon.step(rate, norm, gradients, weights, pool);
    for (const MatrixPlace& place : layer_matrices(layout)) {
      Numbers moved(place.size());
      for (std::size_t i = 0; i < place.size(); ++i) {
        const double g = 0.05 * scale * static_cast<double>(gradients.data()[place.offset + i]);
        m[place.offset + i] = 0.95 * m[place.offset + i] + g;
        moved[i] = g + 0.95 * m[place.offset + i];
      }
      moved = directions(moved, place.cols);
      const double step = rate * 0.2 * std::sqrt(static_cast<double>(std::max(place.rows, place.cols)));
      for (std::size_t i = 0; i < place.size(); ++i) {
        double& weight = expected[place.offset + i];
        weight = weight * (1.0 - 0.1 * rate) - step * moved[i];
      }
    }
  }
  for (const ParameterInfo& info : layout.entries()) {
    const bool whole = info.name.starts_with("enc.") && info.shape.size() == 2;
    for (std::size_t i = 0; i < info.size; ++i) {
      if (whole) {
        ASSERT_NEAR(weights.vector(info)[i], expected[info.offset + i], 1e-5) << info.name << " " << i;
        ASSERT_EQ(muon.second_moments().vector(info)[i], 0.0f);
      } else {
        ASSERT_EQ(weights.vector(info)[i], by_plain.vector(info)[i]) << info.name << " " << i;
      }
    }
  }
}

TEST(OrthogonalStep, AGradientOfZeroMovesNothing) {
  const ParameterLayout layout = layer_layout();
  AdamW muon(layout, {.weight_decay = 0.0}, layer_matrices(layout));
  ParameterBlock weights = random_block(layout, 1);
  const ParameterBlock before = weights, gradients(layout);
  ThreadPool pool(1);
  muon.step(0.1, 0.0, gradients, weights, pool);
  EXPECT_TRUE(std::equal(weights.data(), weights.data() + weights.size(), before.data()));
}

}  // namespace
}  // namespace semfuse
