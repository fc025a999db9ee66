#include "core/machine_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include "semfuse/error.h"

namespace semfuse {

void require_memory(double bytes, std::string_view purpose, std::string_view advice) {
  constexpr double kBytesPerGiB = 1024.0 * 1024.0 * 1024.0;
  const double available =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (available <= 0.0 || bytes <= available) return;
  throw Error(fmt::format("not enough memory for {}: it needs about {:.1f} GiB, this machine has {:.1f}; {}", purpose,
                          bytes / kBytesPerGiB, available / kBytesPerGiB, advice));
}

}  // namespace semfuse
