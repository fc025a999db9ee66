#include "grammar/state_masks.h"

#include <algorithm>
#include <utility>

namespace semfuse {

StateMasks::Uniform StateMasks::find_uniform(ConfigurationId begin, Configurations& configurations) const {
  Uniform uniform = {.kinds = kinds_of(configurations.run(begin))};
  uniform.tokens = uniform_.all(uniform.kinds);
  if (uniform.tokens == nullptr) {
    uniform = find_behind_first(begin, configurations);
    uniform.tokens = uniform_.all(uniform.kinds);
  }
  return uniform.tokens == nullptr ? Uniform{} : uniform;
}

StateMasks::Uniform StateMasks::find_behind_blank(ConfigurationId begin, Configurations& configurations) const {
  const ConfigurationId behind = configurations.step(begin, ' ');
  if (behind == Configurations::kDead) return {};
  Uniform uniform = {.kinds = kinds_behind_blank(configurations.run(behind))};
  uniform.tokens = uniform_.with_blank(uniform.kinds);
  if (uniform.tokens == nullptr) {
    uniform = find_behind_first(behind, configurations);
    if (uniform.kinds != 0) uniform.kinds |= kLeadingBlank;
    uniform.tokens = uniform_.with_blank(uniform.kinds);
  }
  return uniform.tokens == nullptr ? Uniform{} : uniform;
}

// As of a name, whose first character is not what the others are. Tokens that begin with a blank are left to others.
StateMasks::Uniform StateMasks::find_behind_first(ConfigurationId begin, Configurations& configurations) {
  constexpr std::size_t kLeastBytes = 4;
  std::size_t num_read = 0;
  configurations.for_next_bytes(begin, [&](std::uint8_t byte) { num_read += byte < 0x80 ? 1 : 0; });
  if (num_read < kLeastBytes) return {};
  std::array<TokenKinds, 256> kinds{};  // Of what is behind each byte.
  std::vector<std::pair<TokenKinds, std::size_t>> num_bytes;
  configurations.for_next_bytes(begin, [&](std::uint8_t byte) {
    if (byte >= 0x80 || byte == ' ') return;
    kinds[byte] = kinds_of(configurations.run(configurations.step(begin, byte))) & ~kLeadingBlank;
    if ((kinds[byte] & kGroupOfByte[byte]) == 0) return;
    auto known =
        std::find_if(num_bytes.begin(), num_bytes.end(), [&](const auto& one) { return one.first == kinds[byte]; });
    if (known == num_bytes.end()) known = num_bytes.insert(known, {kinds[byte], 0});
    ++known->second;
  });
  const auto most = std::max_element(num_bytes.begin(), num_bytes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == num_bytes.end() || most->second < kLeastBytes) return {};
  Uniform uniform = {.kinds = most->first};
  uniform.first.emplace();
  for (std::size_t byte = 0; byte < kinds.size(); ++byte)
    (*uniform.first)[byte] = kinds[byte] != 0 && (uniform.kinds & ~kinds[byte]) == 0;
  return uniform;
}

const TokenSet* StateMasks::insert_uniform(const Uniform& uniform, std::uint32_t before, Mask& mask) const {
  if (uniform.tokens == nullptr || !uniform.first) return uniform.tokens;
  if (before == 0 && (uniform.kinds & kLeadingBlank) != 0) return nullptr;  // No token begins with a blank.
  const auto for_children = [&](auto call) {
    for (std::uint32_t child = trie_[before].first_child; child < trie_.end_of_children(before); ++child) {
      const std::uint8_t byte = trie_[child].byte();
      if ((*uniform.first)[byte] || (kGroupOfByte[byte] & uniform.kinds) != 0)
        call((*uniform.first)[byte], trie_.tokens_below(child));
    }
  };
  std::size_t num_meant = 0;
  std::size_t num_others = 0;
  for_children([&](bool meant, auto tokens) { (meant ? num_meant : num_others) += tokens.size(); });
  if (num_meant < num_others) {
    if (!mask.own) mask.own.emplace(num_tokens_);
    for_children([&](bool meant, std::span<const TokenId> tokens) {
      for (std::size_t i = 0; meant && i < tokens.size(); ++i) {
        if (uniform.tokens->contains(tokens[i])) mask.own->insert(tokens[i]);
      }
    });
    return nullptr;
  }
  TokenSet set = *uniform.tokens;
  for_children([&](bool meant, std::span<const TokenId> tokens) {
    for (std::size_t i = 0; !meant && i < tokens.size(); ++i) {
      const auto index = static_cast<std::size_t>(tokens[i]);
      set.words()[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    }
  });
  if (mask.own) {
    mask.own->unite(set);
  } else {
    mask.own = std::move(set);
  }
  return nullptr;
}

// Kinds of which the uniform tokens have none, by where a token begins; what no state reads is never looked for.
ReadableTokens::Wanted StateMasks::wanted_beside(const Uniform& plain, const Uniform& blank) const {
  const auto beside = [&](const Uniform& uniform, std::size_t byte) {
    return !uniform.first || (*uniform.first)[byte] ? readable_ & ~uniform.kinds : readable_;
  };
  ReadableTokens::Wanted wanted;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    wanted.first[byte] = beside(plain, byte);
    wanted.behind_blank[byte] = beside(blank, byte);
  }
  wanted.tells_behind_blank = blank.first.has_value();
  if ((plain.kinds & kLeadingBlank) == 0) wanted.first[' '] = blank.first ? readable_ : readable_ & ~blank.kinds;
  return wanted;
}

const StateMasks::Mask& StateMasks::of(StateId state, Configurations& configurations) {
  constexpr std::size_t kMostEnds = 20'000;
  const std::lock_guard lock(mutex_);
  if (const auto known = masks_.find(state); known != masks_.end()) return known->second;
  Mask mask;
  few_.clear();
  ends_.clear();
  const Configurations::Item item = {state, Configurations::kBottom};
  const ConfigurationId begin = configurations.find({&item, 1});
  const Uniform plain = find_uniform(begin, configurations);
  const Uniform blank = (plain.kinds & kLeadingBlank) != 0 ? Uniform{} : find_behind_blank(begin, configurations);
  mask.sets = {insert_uniform(plain, 0, mask), insert_uniform(blank, trie_.first_level(' '), mask)};
  const auto insert = [&](std::span<const TokenId> tokens) {
    if (mask.own) {
      for (const TokenId token : tokens) mask.own->insert(token);
      return;
    }
    few_.insert(few_.end(), tokens.begin(), tokens.end());
    if (few_.size() <= num_tokens_ / 64) return;
    mask.own.emplace(num_tokens_);
    for (const TokenId token : few_) mask.own->insert(token);
    few_.clear();
  };
  const auto visit = [&](std::uint32_t node, bool accepting) {
    if (accepting) ends_.push_back(node);
  };
  ReadableTokens readable(trie_, configurations, walk_memory_);
  if (plain.tokens == nullptr && blank.tokens == nullptr) {
    readable.find(begin, nullptr, insert, visit);
  } else {
    const ReadableTokens::Wanted wanted = wanted_beside(plain, blank);
    readable.find(begin, &wanted, insert, visit);
  }
  mask.too_many_ends = ends_.size() > kMostEnds;
  if (!mask.too_many_ends) mask.ends = arena_.copy(std::span<const std::uint32_t>(ends_));
  mask.few = arena_.copy(std::span<const TokenId>(few_));
  return masks_.emplace(state, std::move(mask)).first->second;
}

}  // namespace semfuse
