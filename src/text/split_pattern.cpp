#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <utility>

#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxPattern = 20'000;
constexpr std::uint32_t kMatchLimit = 1'000'000;  // Of one match; a word needs some dozens.
constexpr std::uint32_t kHeapLimit = 20'000;      // KiB.
constexpr std::uint32_t kDepthLimit = 100'000;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 128> text = {};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

// Frees what PCRE2 made.
struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct SplitPattern::Code {
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_context, Free> limits;
};

SplitPattern::SplitPattern(std::string pattern) : pattern_(std::move(pattern)) {
  if (pattern_ == kGpt2Pattern) return;
  const auto refuse = [&](std::string_view what) {
    throw Error(fmt::format("the split pattern {} {}; write it as Perl would read it", quoted_text(pattern_), what));
  };
  if (pattern_.empty() || pattern_.size() > kMaxPattern) refuse(fmt::format("has {} bytes", pattern_.size()));
  if (valid_utf8_prefix(pattern_) != pattern_.size()) refuse("is not UTF-8");
  const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
  pcre2_set_parens_nest_limit(context.get(), 50);
  int error = 0;
  PCRE2_SIZE place = 0;
  auto code = std::make_shared<Code>();
  code->code.reset(pcre2_compile(units(pattern_), pattern_.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                                 &error, &place, context.get()));
  if (code->code == nullptr) refuse(fmt::format("is wrong at byte {}: {}", place, message_of(error)));
  // Without it the pattern is only slower.
  static_cast<void>(pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE));
  code->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code->limits.get(), kMatchLimit);
  pcre2_set_heap_limit(code->limits.get(), kHeapLimit);
  pcre2_set_depth_limit(code->limits.get(), kDepthLimit);
  code_ = std::move(code);
}

void SplitPattern::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  if (!code_) {
    while (!text.empty()) {
      pieces.push_back(text.substr(0, first_word_length(text)));
      text.remove_prefix(pieces.back().size());
    }
    return;
  }
  // The pattern sees valid text only, which need not be looked at again for each match.
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), pieces);
    text.remove_prefix(valid);
    if (text.empty()) break;
    pieces.push_back(text.substr(0, 1));
    text.remove_prefix(1);
  }
}

void SplitPattern::split_valid(std::string_view text, std::vector<std::string_view>& pieces) const {
  const std::unique_ptr<pcre2_match_data, Free> match(pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
  std::size_t done = 0;
  std::size_t from = 0;
  const auto add_until = [&](std::size_t end) {
    if (end > done) pieces.push_back(text.substr(done, end - done));
    done = end;
  };
  while (from < text.size()) {
    const auto run = [&](std::uint32_t options) {
      return pcre2_match(code_->code.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK | options, match.get(),
                         code_->limits.get());
    };
    int result = run(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);  // Slower, but with the heap for a stack.
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      throw Error(
          fmt::format("the tokenizer's split pattern {} fails on a text: {}; give a shorter text, or use another "
                      "tokenizer",
                      quoted_text(pattern_), message_of(result)));
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.get());
    // \K in a look-around can move the start back or past the end.
    if (ends[0] < from || ends[1] < ends[0]) {
      throw Error(fmt::format("the tokenizer's split pattern {} does not go forward; use another tokenizer",
                              quoted_text(pattern_)));
    }
    if (ends[1] > ends[0]) {
      add_until(ends[0]);
      add_until(ends[1]);
      from = ends[1];
    } else {  // Nothing was matched: go on behind the next character.
      from = ends[1] + (ends[1] < text.size() ? utf8_character_length(text.substr(ends[1])) : 1);
    }
  }
  add_until(text.size());
}

}  // namespace semfuse
