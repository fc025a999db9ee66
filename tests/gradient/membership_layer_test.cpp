// Learned memberships by themselves against the plain twin: degrees, and the gradients of the parameters.
#include "model/membership_layer.h"

#include "features/graded_columns.h"
#include "support/layer_case.h"

namespace semfuse {
namespace {

constexpr std::size_t kFeatures = 22;

class MembershipLayerGradient : public testing::TestWithParam<MembershipKernel> {};

TEST_P(MembershipLayerGradient, EqualsTheTwin) {
  const FeatureOptions options{.kernel = GetParam(), .kernel_base = 0.2, .learn_kernel = true};
  ParameterLayout layout;
  const MembershipLayer layer(layout, options);
  const ParameterBlock weights = random_weights(layout, 3);
  const Batch batch = random_batch({6, 5, 9}, 7, kFeatures, 4);
  std::vector<float> ungraded = batch.features;
  for (const GradedColumn& graded : graded_columns()) ungraded[graded.column] = kNoAttribute;
  const ConstMatrix attributes(ungraded.data(), batch.num_tokens(), kFeatures);

  std::vector<float> numbers(ungraded.size());
  const Matrix rows(numbers.data(), attributes.rows(), attributes.cols());
  layer.grade(weights, attributes, rows);
  const reference::Tables<double> at = reference::tables_of(layout, weights);
  const reference::Table<double> table = reference::table_of(attributes);
  expect_output(rows, reference::graded(at, table, options));
  for (const GradedColumn& graded : graded_columns()) EXPECT_EQ(rows(0, graded.column), 0.0f);

  const Batch random = random_batch({6, 5, 9}, 7, kFeatures, 5);
  const ConstMatrix d_rows = random.feature_rows();
  MembershipLayer::Gradient gradient;
  layer.add_rows(weights, attributes.row_range(0, 8), d_rows.row_range(0, 8), gradient);
  layer.add_rows(weights, attributes.row_range(8, 12), d_rows.row_range(8, 12), gradient);
  ParameterBlock gradients(layout);
  for (const ParameterInfo& info : layout.entries()) std::fill_n(gradients.vector(info), info.size, 1e3f);
  layer.write_gradients(weights, gradient, gradients);
  expect_close(reference::tables_of(layout, gradients),
               complex_step(at, [&](const reference::Tables<std::complex<double>>& w) {
                 return weighted_sum(reference::graded(w, table, options), d_rows);
               }));
}

INSTANTIATE_TEST_SUITE_P(Kernels, MembershipLayerGradient,
                         testing::Values(MembershipKernel::power, MembershipKernel::triangular,
                                         MembershipKernel::gaussian),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace semfuse
