// The step of whole matrices: momentum whose directions are made equally long (Muon), so that what few texts say is
// learned as fast as what most say.
#pragma once

#include <vector>

#include "core/parameter_block.h"
#include "core/thread_pool.h"

namespace semfuse {

// A matrix within a block.
struct MatrixPlace {
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;

  std::size_t size() const { return rows * cols; }
};

// The matrices of the encoder's layers in the order of the layout, those of queries, keys and values apart. Tables of
// tokens and what reads features have rows that are met one at a time, and are left to AdamW.
std::vector<MatrixPlace> layer_matrices(const ParameterLayout& layout);

struct OrthogonalUpdate {
  float gradient_scale = 1.0f;  // Clipping.
  float momentum = 0.95f;
  float decay = 1.0f;  // 1 - learning rate · weight decay
  float rate = 0.0f;
};

class OrthogonalStep {
 public:
  explicit OrthogonalStep(std::vector<MatrixPlace> places);

  const std::vector<MatrixPlace>& places() const { return places_; }

  // Of each matrix, m ← momentum · m + (1 - momentum) · g and W ← decay · W - rate · 0.2 · √(its longer side) · U,
  // where U are the directions of (1 - momentum) · g + momentum · m: a number of W moves as far as AdamW's would, on
  // average.
  void run(const OrthogonalUpdate& update, const ParameterBlock& gradients, ParameterBlock& weights, ParameterBlock& m,
           ThreadPool& pool);

 private:
  void move(const MatrixPlace& place, const OrthogonalUpdate& update, const float* gradients, float* weights, float* m,
            float* scratch) const;

  std::vector<MatrixPlace> places_;
  std::vector<std::size_t> order_;  // Of `places_`, the dearest first.
  std::size_t scratch_size_ = 0;
  std::vector<AlignedFloats> scratch_;  // Of each worker.
};

// Makes the singular values of x [m, n], m ≥ n, lie about 1, by polynomials of x. `other` is as large as x, `scratch`
// has orthogonal_scratch(n) floats; says which of both has the result. All zeros stay.
Matrix orthogonalised(Matrix x, Matrix other, float* scratch);
std::size_t orthogonal_scratch(std::size_t cols);

}  // namespace semfuse
