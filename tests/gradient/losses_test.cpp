// Each loss by itself against the plain twin: value and gradient of the logits.
#include <gtest/gtest.h>

#include <vector>

#include "core/workspace.h"
#include "losses/class_uniformity.h"
#include "losses/feature_reconstruction.h"
#include "losses/token_cross_entropy.h"
#include "support/gradient_check.h"
#include "support/reference_losses.h"

namespace semfuse {
namespace {

using ComplexTables = reference::Tables<std::complex<double>>;

constexpr std::size_t kRows = 6;

Matrix random_logits(Workspace& workspace, std::size_t cols, double size, std::uint64_t seed) {
  const Matrix m = workspace.matrix(kRows, cols);
  RandomStream random(seed, RandomPurpose::shuffle);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) m(i, j) = static_cast<float>((2.0 * random.next_uniform() - 1.0) * size);
  }
  return m;
}

TEST(TokenCrossEntropyGradient, EqualsTheTwin) {
  for (const double smoothing : {0.0, 0.02, 0.3}) {
    for (const std::size_t vocab_size : {2, 13, 41}) {
      SCOPED_TRACE(testing::Message() << "smoothing " << smoothing << ", " << vocab_size << " words");
      Workspace workspace;
      const Matrix logits = random_logits(workspace, vocab_size, 4.0, vocab_size);
      std::vector<TokenId> targets;
      for (std::size_t t = 0; t < kRows; ++t) targets.push_back(static_cast<TokenId>(t * 5 % vocab_size));
      const reference::Tables<double> at = {{"logits", reference::table_of(logits)}};
      const double expected = reference::token_cross_entropy(at.at("logits"), targets, smoothing);
      const double total = token_cross_entropy(logits, targets, smoothing, 0.5f / kRows);
      EXPECT_NEAR(total / kRows, expected, 1e-6 * expected);
      expect_close({{"logits", reference::table_of(logits)}}, complex_step(at, [&](const ComplexTables& w) {
                     return 0.5 * reference::token_cross_entropy(w.at("logits"), targets, smoothing);
                   }));
    }
  }
}

TEST(FeatureReconstructionGradient, EqualsTheTwin) {
  for (const std::size_t num_features : {1, 5, 22}) {
    Workspace workspace;
    const Matrix logits = random_logits(workspace, num_features, 4.0, num_features);
    const Matrix features = random_logits(workspace, num_features, 1.0, 7);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < num_features; ++j) {
        const float x = features(i, j);
        features(i, j) = x < -0.5f ? 0.0f : x > 0.5f ? 1.0f : 0.5f + x;  // Memberships in [0, 1], many of them 0 or 1.
      }
    }
    const reference::Tables<double> at = {{"logits", reference::table_of(logits)}};
    const double expected = reference::feature_reconstruction(at.at("logits"), reference::table_of(features));
    const double total = feature_reconstruction(logits, features, 0.7f / kRows);
    EXPECT_NEAR(total / kRows, expected, 2e-6 * expected);
    expect_close({{"logits", reference::table_of(logits)}}, complex_step(at, [&](const ComplexTables& w) {
                   return 0.7 * reference::feature_reconstruction(w.at("logits"), reference::table_of(features));
                 }));
  }
}

TEST(ClassUniformityGradient, EqualsTheTwin) {
  const std::vector<std::vector<TokenId>> classes = {{3, 1, 8}, {2, 5}, {4, 9, 10, 0}};
  const std::vector<std::vector<TokenId>> target_rows = {{3, 2, 7, 8, 1, 5}, {3, 7, 7, 7, 7, 8}, {0, 1, 2, 3, 4, 5}};
  for (const std::vector<TokenId>& targets : target_rows) {  // Some classes absent, some positions in no class.
    Workspace workspace;
    const Matrix logits = random_logits(workspace, 11, 3.0, 5);
    const ClassUniformity uniformity(classes);
    std::vector<ClassUniformity::LogitGradient> sparse;
    const double total = uniformity.evaluate(logits, targets, uniformity.position_weights(targets), 0.6, sparse);
    const reference::Tables<double> at = {{"logits", reference::table_of(logits)}};
    EXPECT_NEAR(total, reference::class_uniformity(at.at("logits"), targets, classes), 1e-9);
    reference::Table<double> dense(kRows, 11);
    for (const auto& [row, token, value] : sparse)
      dense(row, static_cast<std::size_t>(token)) += static_cast<double>(value);
    expect_close({{"logits", dense}}, complex_step(at, [&](const ComplexTables& w) {
                   return 0.6 * reference::class_uniformity(w.at("logits"), targets, classes);
                 }));
  }
}

TEST(ClassUniformity, IsZeroWithoutClassWords) {
  Workspace workspace;
  const Matrix logits = random_logits(workspace, 11, 3.0, 5);
  const std::vector<TokenId> targets = {7, 7, 6, 6, 7, 7};
  const ClassUniformity uniformity({{3, 1, 8}, {2, 5}});
  std::vector<ClassUniformity::LogitGradient> sparse;
  EXPECT_EQ(uniformity.evaluate(logits, targets, uniformity.position_weights(targets), 1.0, sparse), 0.0);
  EXPECT_TRUE(sparse.empty());
}

}  // namespace
}  // namespace semfuse
