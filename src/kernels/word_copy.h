// Words copied and cleared by wide stores.
#pragma once

#include <cstdint>
#include <span>

namespace semfuse {

// For lists of a few kilobytes. The C library moves these by one instruction that some processors need microseconds
// for where the target lies a few bytes behind the source in its page. `to` is as long as `from`; they do not overlap.
void copy_words(std::span<const std::int32_t> from, std::span<std::int32_t> to);
void clear_words(std::span<std::int32_t> words);

}  // namespace semfuse
