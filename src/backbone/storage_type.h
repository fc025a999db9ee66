// Types of storage, which the kernels know too: core/storage_type.h.
#pragma once

#include "core/storage_type.h"  // IWYU pragma: export
