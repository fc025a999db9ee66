#include "losses/token_cross_entropy.h"

#include <cassert>

#include "kernels/softmax.h"

namespace semfuse {

double token_cross_entropy(Matrix logits, std::span<const TokenId> targets, double smoothing, float scale) {
  assert(targets.size() == logits.rows());
  const std::size_t vocab_size = logits.cols();
  const double share = smoothing / static_cast<double>(vocab_size);
  double total = 0.0;
  for (std::size_t t = 0; t < logits.rows(); ++t) {
    float* z = logits.row(t);
    const auto target = static_cast<std::size_t>(targets[t]);
    const auto target_logit = static_cast<double>(z[target]);
    const LogitSums sums = softmax_gradient(z, vocab_size, static_cast<float>(share), scale);
    total += static_cast<double>(sums.log_sum_exp) - (1.0 - smoothing) * target_logit -
             share * static_cast<double>(sums.sum);
    z[target] -= static_cast<float>(1.0 - smoothing) * scale;
  }
  return total;
}

}  // namespace semfuse
