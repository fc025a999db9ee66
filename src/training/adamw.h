// The optimizer: clipping to a global norm, AdamW, and the learning-rate schedule.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/parameter_block.h"
#include "core/thread_pool.h"
#include "training/orthogonal_step.h"

namespace semfuse {

// Linear warmup from 0, then a cosine down to `final_share` of the highest at total_steps.
double learning_rate(double highest, std::uint64_t step, std::uint64_t warmup_steps, std::uint64_t total_steps,
                     double final_share = 0.0);

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 1.0;
};

class AdamW {
 public:
  // `matrices` are moved as wholes instead (OrthogonalStep); they have first moments, and second ones that stay 0.
  AdamW(const ParameterLayout& layout, const AdamWOptions& options, std::vector<MatrixPlace> matrices = {});

  // The norm of the whole gradient, its blocks summed in a fixed order.
  static double norm(const ParameterBlock& gradients, ThreadPool& pool);

  // Scales the gradients down to clip_norm if `norm` is above, then moves the weights.
  void step(double rate, double norm, const ParameterBlock& gradients, ParameterBlock& weights, ThreadPool& pool);

  std::uint64_t steps() const { return steps_; }
  const ParameterBlock& first_moments() const { return m_; }
  const ParameterBlock& second_moments() const { return v_; }

  // Goes on as an optimizer that has made so many steps and has these moments, of the same layout.
  void restore(std::uint64_t steps, ParameterBlock first_moments, ParameterBlock second_moments) {
    steps_ = steps;
    m_ = std::move(first_moments);
    v_ = std::move(second_moments);
  }

 private:
  AdamWOptions options_;
  ParameterBlock m_;
  ParameterBlock v_;
  OrthogonalStep matrices_;
  struct Run {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<Run> runs_;  // What is not in a matrix, a task each.
  std::uint64_t steps_ = 0;
};

}  // namespace semfuse
