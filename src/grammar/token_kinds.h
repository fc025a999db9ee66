// What a token is made of, and how long it is: whether a state that reads on and on surely reads it is one operation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/byte_groups.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Groups of bytes, and bits for lengths beside them. A token is read by a state with a run if all its kinds are the
// run's. Strings that do not begin with whole characters have a kind that no run has, and so have empty ones.
using TokenKinds = ByteGroups;

// A blank that a token begins with is not of the blank's group but of this kind, so that what follows it can be told.
inline constexpr TokenKinds kLeadingBlank = TokenKinds{1} << 55;

// The kind that no run has.
inline constexpr TokenKinds kLeftOut = TokenKinds{1} << 63;

TokenKinds kinds_of(std::string_view string);
// Nothing if the run is short.
TokenKinds kinds_of(const StateRun& run);
// All kinds of tokens that hold only such bytes, and some others.
TokenKinds kinds_of(const std::array<bool, 256>& bytes);
// Those of tokens that are a blank and then what the run reads.
TokenKinds kinds_behind_blank(const StateRun& run);

// The kinds of each token. Most are like those of many others, so each is kept once.
class KindsOfTokens {
 public:
  explicit KindsOfTokens(std::span<const std::string> strings);

  TokenKinds operator[](TokenId token) const { return all_[place_of_[static_cast<std::size_t>(token)]]; }
  const std::vector<TokenKinds>& all() const { return all_; }               // That there are.
  const std::vector<std::uint32_t>& place_of() const { return place_of_; }  // In these, of each token.

 private:
  std::vector<TokenKinds> all_;
  std::vector<std::uint32_t> place_of_;
};

}  // namespace semfuse
