#include "training/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/adamw_update.h"
#include "kernels/reductions.h"

namespace semfuse {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 15;  // Parameters of one task.

std::size_t num_blocks(const ParameterBlock& block) {
  return (block.size() + kBlock - 1) / kBlock;
}

}  // namespace

double learning_rate(double highest, std::uint64_t step, std::uint64_t warmup_steps, std::uint64_t total_steps,
                     double final_share) {
  if (step < warmup_steps) return highest * static_cast<double>(step) / static_cast<double>(warmup_steps);
  if (step >= total_steps) return highest * final_share;
  const double progress = static_cast<double>(step - warmup_steps) /
                          static_cast<double>(std::max<std::uint64_t>(1, total_steps - warmup_steps));
  const double rate = highest * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return final_share == 0.0 ? rate : highest * final_share + (1.0 - final_share) * rate;
}

AdamW::AdamW(const ParameterLayout& layout, const AdamWOptions& options, std::vector<MatrixPlace> matrices)
    : options_(options), m_(layout), v_(layout), matrices_(std::move(matrices)) {
  std::size_t first = 0;
  const auto add_until = [&](std::size_t end) {
    for (; first < end; first = std::min(end, first + kBlock)) {
      runs_.push_back({.first = first, .count = std::min(kBlock, end - first)});
    }
  };
  for (const MatrixPlace& place : matrices_.places()) {
    add_until(place.offset);
    first = place.offset + place.size();
  }
  add_until(m_.size());
}

double AdamW::norm(const ParameterBlock& gradients, ThreadPool& pool) {
  std::vector<double> sums(num_blocks(gradients));
  pool.run(sums.size(), [&](std::size_t index, std::size_t) {
    const std::size_t first = index * kBlock;
    sums[index] = sum_of_squares(gradients.data() + first, std::min(kBlock, gradients.size() - first));
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

void AdamW::step(double rate, double norm, const ParameterBlock& gradients, ParameterBlock& weights, ThreadPool& pool) {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  const AdamWUpdate update{
      .gradient_scale = static_cast<float>(std::min(1.0, options_.clip_norm / (norm + 1e-6))),
      .decay = static_cast<float>(1.0 - rate * options_.weight_decay),
      .beta1 = static_cast<float>(options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .rest1 = static_cast<float>(1.0 - options_.beta1),
      .rest2 = static_cast<float>(1.0 - options_.beta2),
      .step_size = static_cast<float>(rate / (1.0 - std::pow(options_.beta1, t))),
      .inverse_sqrt_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(options_.beta2, t))),
      .epsilon = static_cast<float>(options_.epsilon)};
  pool.run(runs_.size(), [&](std::size_t index, std::size_t) {
    const auto [first, count] = runs_[index];
    adamw_update(update, count, gradients.data() + first, weights.data() + first, m_.data() + first, v_.data() + first);
  });
  if (matrices_.places().empty()) return;
  matrices_.run({.gradient_scale = update.gradient_scale, .decay = update.decay, .rate = static_cast<float>(rate)},
                gradients, weights, m_, pool);
}

}  // namespace semfuse
