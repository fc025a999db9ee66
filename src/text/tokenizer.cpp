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
    case TokenizerKind::bytes:
      break;
  }
  return "bytes";
}

Tokenizer Tokenizer::bytes() {
  return Tokenizer(std::make_shared<const State>(TokenizerParts::of_bytes()));
}

Tokenizer Tokenizer::parse(std::string_view json, std::string_view origin) {
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

Vocabulary Tokenizer::vocabulary() const {
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
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("a text of {} bytes is too long for the tokenizer; cut it into several", text.size()));
  }
  tokens.clear();
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
  return tokenizer_json(state_->parts);
}

}  // namespace semfuse
