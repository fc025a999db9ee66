#include "io/byte_reader.h"

#include <fmt/format.h>

#include "semfuse/error.h"

namespace semfuse {

void ByteReader::fail(std::string_view what, std::string_view next) const {
  throw Error(fmt::format("{}: {}; {}", origin_, what, next));
}

std::span<const std::byte> ByteReader::take(std::size_t size, std::string_view what) {
  if (size > left()) {
    fail(fmt::format("{} needs {} bytes at byte {}, but only {} are left", what, size, place_, left()),
         "the file is cut short or damaged, fetch it again");
  }
  place_ += size;
  return bytes_.subspan(place_ - size, size);
}

}  // namespace semfuse
