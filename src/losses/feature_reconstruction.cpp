#include "losses/feature_reconstruction.h"

#include <cassert>

#include "kernels/softmax.h"

namespace semfuse {

double feature_reconstruction(Matrix logits, ConstMatrix features, float scale) {
  assert(logits.rows() == features.rows() && logits.cols() == features.cols());
  const float share = 1.0f / static_cast<float>(logits.cols());
  double total = 0.0;
  for (std::size_t t = 0; t < logits.rows(); ++t) {
    total += static_cast<double>(sigmoid_cross_entropy(logits.row(t), features.row(t), logits.cols(), scale * share) *
                                 share);
  }
  return total;
}

}  // namespace semfuse
