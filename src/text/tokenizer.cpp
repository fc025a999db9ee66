#include "semfuse/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/tokenizer_state.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

void check_length(std::string_view text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("a text of {} bytes is too long for the tokenizer; cut it into several", text.size()));
  }
}

void append_bytes(std::string_view text, std::uint32_t begin, std::vector<Token>& tokens) {
  for (const char c : text) {
    tokens.push_back({.id = Tokenizer::kFirstByte + static_cast<unsigned char>(c), .begin = begin, .end = begin + 1});
    ++begin;
  }
}

}  // namespace

Tokenizer::State::State(TokenizerParts parts_in) : parts(std::move(parts_in)) {
  if (parts.kind == TokenizerKind::words) words.emplace(parts.surfaces);
  if (parts.kind == TokenizerKind::pieces) pieces.emplace(parts.merges);
}

Tokenizer::State::State(ForeignParts foreign_parts) {
  parts.kind = foreign_parts.kind;
  parts.leading_blank = foreign_parts.prefix_blank;
  parts.surfaces = foreign_parts.surfaces;
  foreign.emplace(std::move(foreign_parts));
}

Tokenizer ForeignTokenizers::make(ForeignParts parts, std::string_view origin) {
  check(parts, origin);
  try {
    return Tokenizer(std::make_shared<const Tokenizer::State>(std::move(parts)));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  }
}

const ForeignParts* ForeignTokenizers::parts(const Tokenizer& tokenizer) {
  return tokenizer.state_->foreign ? &tokenizer.state_->foreign->parts() : nullptr;
}

const std::string& Tokenizer::State::surface(TokenId id, std::size_t index) const {
  if (id < 0 || static_cast<std::size_t>(id) >= parts.surfaces.size()) {
    throw Error(fmt::format("id {} (number {}) is none of the tokenizer's, which are below {}; take it out", id,
                            index + 1, parts.surfaces.size()));
  }
  return parts.surfaces[static_cast<std::size_t>(id)];
}

void Tokenizer::State::append_word(std::string_view word, std::uint32_t begin, std::vector<Token>& tokens) const {
  if (pieces) return pieces->cut(word, begin, tokens);
  if (const TokenId id = words->find(word); id >= 0) {
    tokens.push_back({.id = id, .begin = begin, .end = begin + static_cast<std::uint32_t>(word.size())});
  } else {
    append_bytes(word, begin, tokens);
  }
}

std::string Tokenizer::State::without_leading_blank(std::string text) const {
  if (parts.leading_blank && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string_view to_string(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::words:
      return "words";
    case TokenizerKind::pieces:
      return "pieces";
    case TokenizerKind::bpe:
      return "bpe";
    case TokenizerKind::spm:
      return "spm";
    case TokenizerKind::bytes:
      break;
  }
  return "bytes";
}

Tokenizer Tokenizer::bytes() {
  return Tokenizer(std::make_shared<const State>(TokenizerParts::of_bytes()));
}

Tokenizer Tokenizer::parse(std::string_view json, std::string_view origin) {
  if (is_foreign_json(json)) return ForeignTokenizers::make(parse_foreign_json(json, origin), origin);
  return Tokenizer(std::make_shared<const State>(parse_tokenizer_json(json, origin)));
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return parse(read_text(path, kMaxFileBytes), path.string());
}

TokenizerKind Tokenizer::kind() const {
  return state_->parts.kind;
}

bool Tokenizer::leading_blank() const {
  return state_->parts.leading_blank;
}

std::size_t Tokenizer::size() const {
  return state_->parts.surfaces.size();
}

const std::vector<std::string>& Tokenizer::surfaces() const {
  return state_->parts.surfaces;
}

std::vector<SpecialToken> Tokenizer::specials() const {
  if (!state_->foreign) {
    return {{Vocabulary::kPad, "<pad>"}, {Vocabulary::kBos, "<bos>"}, {Vocabulary::kEos, "<eos>"}};
  }
  std::vector<SpecialToken> specials;
  for (const AddedToken& token : state_->foreign->parts().added) {
    if (token.is_special) specials.push_back({token.id, token.text});
  }
  std::sort(specials.begin(), specials.end(), [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  return specials;
}

Vocabulary Tokenizer::vocabulary() const {
  if (state_->foreign) throw Error("the tokenizer of an imported model has no vocabulary of words; use its surfaces");
  std::vector<std::string> entries = {"<pad>", "<bos>", "<eos>"};
  entries.insert(entries.end(), surfaces().begin() + kFirstByte, surfaces().end());
  return Vocabulary(std::move(entries));
}

std::vector<Token> Tokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  encode(text, tokens);
  return tokens;
}

void Tokenizer::encode(std::string_view text, std::vector<Token>& tokens) const {
  check_length(text);
  tokens.clear();
  if (state_->foreign) return state_->foreign->encode(text, false, tokens);
  if (kind() == TokenizerKind::bytes) return append_bytes(text, 0, tokens);
  std::size_t i = 0;
  if (leading_blank() && !text.empty()) {
    i = first_word_length_after_blank(text);
    state_->append_word(std::string(" ").append(text.substr(0, i)), 0, tokens);
    for (Token& token : tokens) token = {.id = token.id, .begin = std::max(token.begin, 1U) - 1, .end = token.end - 1};
  }
  while (i < text.size()) {
    const std::size_t length = first_word_length(text.substr(i));
    state_->append_word(text.substr(i, length), static_cast<std::uint32_t>(i), tokens);
    i += length;
  }
}

std::vector<Token> Tokenizer::encode_with_specials(std::string_view text) const {
  std::vector<Token> tokens;
  if (state_->foreign) {
    check_length(text);
    state_->foreign->encode(text, true, tokens);
    return tokens;
  }
  // Of our own kinds no name of a special token is inside another's, and each begins with "<".
  std::size_t begin = 0;
  const auto append = [&](std::size_t end) {
    for (const Token& token : encode(text.substr(begin, end - begin))) {
      const auto shift = static_cast<std::uint32_t>(begin);
      tokens.push_back({.id = token.id, .begin = token.begin + shift, .end = token.end + shift});
    }
  };
  const std::vector<SpecialToken> names = specials();
  for (std::size_t i = text.find('<'); i < text.size(); i = text.find('<', i)) {
    const auto name = std::find_if(names.begin(), names.end(), [&](const SpecialToken& special) {
      return text.substr(i).starts_with(special.name);
    });
    if (name == names.end()) {
      ++i;
      continue;
    }
    append(i);
    begin = i + name->name.size();
    tokens.push_back({name->id, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(begin)});
    i = begin;
  }
  append(text.size());
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) text += state_->surface(ids[i], i);
  return state_->without_leading_blank(std::move(text));
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) text += state_->surface(tokens[i].id, i);
  return state_->without_leading_blank(std::move(text));
}

Tokenizer Tokenizer::with_words(std::span<const std::string> surfaces) const {
  if (kind() != TokenizerKind::words) {
    throw Error(
        fmt::format("words can be added to a tokenizer of words only, and this one is of {}", to_string(kind())));
  }
  TokenizerParts parts = state_->parts;
  if (surfaces.size() > kMaxTokenizerSize - parts.surfaces.size()) {
    throw Error(fmt::format("a tokenizer has at most {} entries; add fewer words", kMaxTokenizerSize));
  }
  std::unordered_set<std::string_view> added;
  for (const std::string& surface : surfaces) {
    if (surface.size() < 2 || first_word_length(surface) != surface.size()) {
      throw Error(
          fmt::format("{} is not one word to the tokenizer; add words without spaces, of letters only or digits "
                      "only",
                      quoted_text(surface)));
    }
    if (state_->words->find(surface) >= 0 || !added.insert(surface).second) {
      throw Error(fmt::format("the tokenizer has {} already; leave it out", quoted_text(surface)));
    }
    parts.surfaces.push_back(surface);
  }
  return Tokenizer(std::make_shared<const State>(std::move(parts)));
}

std::string Tokenizer::to_json() const {
  if (state_->foreign) return foreign_json(state_->foreign->parts());
  return tokenizer_json(state_->parts);
}

}  // namespace semfuse
