// An estimate over seeds as people read it.
#pragma once

#include <string>

#include "evaluation/statistics.h"

namespace semfuse {

// "0.98 ± 0.01"; the mean alone where one run gives no interval, a dash where there is none.
std::string estimate_text(const Estimate& value, int digits);

}  // namespace semfuse
