#include "io/archive_checksum.h"

#include <fmt/format.h>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

std::optional<std::size_t> find_checksum(std::string_view head) {
  const std::string entry = fmt::format("\"{}\":\"", kChecksumKey);
  const std::size_t found = head.find(entry);
  if (found == head.npos || head.find(entry, found + 1) != head.npos) return std::nullopt;
  const std::size_t digits = found + entry.size();
  if (digits + kBlankChecksum.size() >= head.size()) return std::nullopt;
  return digits;
}

std::string checksum_text(std::uint32_t value) {
  return fmt::format("{:08x}", value);
}

void check_checksum(std::string_view bytes, std::size_t head_size, std::string_view declared, std::string_view origin) {
  const std::optional<std::size_t> digits = find_checksum(bytes.substr(0, head_size));
  if (!digits || bytes.substr(*digits, kBlankChecksum.size()) != declared) {
    throw Error(fmt::format("{}: metadata {} is not written as one plain entry of eight digits; the file is damaged",
                            origin, kChecksumKey));
  }
  Crc32 checksum;
  checksum.add(bytes.substr(0, *digits));
  checksum.add(kBlankChecksum);
  checksum.add(bytes.substr(*digits + kBlankChecksum.size()));
  if (checksum_text(checksum.value()) == declared) return;
  throw Error(fmt::format("{}: its checksum is {}, but its bytes give {}; the file is damaged, use another copy",
                          origin, quoted_text(declared), checksum_text(checksum.value())));
}

}  // namespace semfuse
