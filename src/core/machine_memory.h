// How much memory the machine has.
#pragma once

#include <string_view>

namespace semfuse {

// Throws Error "not enough memory for PURPOSE: it needs about ... GiB, this machine has ...; ADVICE" if the machine has
// not that much: an allocation succeeds long before its pages are there.
void require_memory(double bytes, std::string_view purpose, std::string_view advice);

}  // namespace semfuse
