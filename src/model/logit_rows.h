// The rows that logits are products with, wherever a model has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "core/matrix_view.h"

namespace semfuse {

// [size, width], read a row at a time: those of a pretrained model stay in its file, quantised as they may be.
struct LogitRows {
  std::size_t size = 0;
  std::size_t width = 0;
  std::function<void(std::size_t id, float* row)> read;

  // Of a matrix that must outlive them.
  static LogitRows of(ConstMatrix rows) {
    return {.size = rows.rows(), .width = rows.cols(), .read = [rows](std::size_t id, float* row) {
              std::copy_n(rows.row(id), rows.cols(), row);
            }};
  }
};

}  // namespace semfuse
