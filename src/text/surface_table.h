// Finds the token that a word is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// Refers to the surfaces, which must outlive it. Immutable.
class SurfaceTable {
 public:
  // Empty surfaces are left out.
  explicit SurfaceTable(const std::vector<std::string>& surfaces);

  // -1 if there is none.
  TokenId find(std::string_view word) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };
  const std::vector<std::string>* surfaces_;
  std::vector<Slot> slots_;  // A power of two, at most half of them taken.
};

}  // namespace semfuse
