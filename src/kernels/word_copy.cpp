#include "kernels/word_copy.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/word_copy.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(i) for each whole vector, and rest(i) for each word behind them.
template <class Body, class Rest>
HWY_INLINE void for_words(std::size_t count, const Body& body, const Rest& rest) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<std::int32_t>());
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (std::size_t v = 0; v < 4; ++v) body(i + v * lanes);
  }
  for (; i < count; ++i) rest(i);
}

void CopyWords(const std::int32_t* from, std::int32_t* to, std::size_t count) {
  const hn::ScalableTag<std::int32_t> tag;
  for_words(
      count, [&](std::size_t i) HWY_ATTR { hn::StoreU(hn::LoadU(tag, from + i), tag, to + i); },
      [&](std::size_t i) HWY_ATTR { to[i] = from[i]; });
}

void ClearWords(std::int32_t* words, std::size_t count) {
  const hn::ScalableTag<std::int32_t> tag;
  for_words(
      count, [&](std::size_t i) HWY_ATTR { hn::StoreU(hn::Zero(tag), tag, words + i); },
      [&](std::size_t i) HWY_ATTR { words[i] = 0; });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(CopyWords);
HWY_EXPORT(ClearWords);

void copy_words(std::span<const std::int32_t> from, std::span<std::int32_t> to) {
  HWY_DYNAMIC_DISPATCH(CopyWords)(from.data(), to.data(), from.size());
}
void clear_words(std::span<std::int32_t> words) {
  HWY_DYNAMIC_DISPATCH(ClearWords)(words.data(), words.size());
}

}  // namespace semfuse
#endif
