// Numbers of 16 bits: core/half_float.h.
#pragma once

#include "core/half_float.h"  // IWYU pragma: export
