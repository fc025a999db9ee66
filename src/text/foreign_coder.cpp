#include "text/foreign_coder.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

// A normalised text and where its bytes were.
struct NormalText {
  std::string bytes;
  std::vector<std::uint32_t> places;  // One more than bytes.
};

NormalText normalised(std::string_view text, const ForeignParts& parts) {
  NormalText normal;
  const auto add = [&](char byte, std::size_t place) {
    normal.bytes += byte;
    normal.places.push_back(static_cast<std::uint32_t>(place));
  };
  std::size_t end = text.size();
  while (parts.squeezes_blanks && end > 0 && text[end - 1] == ' ') --end;
  bool after_blank = parts.squeezes_blanks;
  if (parts.prefix_blank) add(' ', 0);
  for (std::size_t i = 0; i < end;) {
    const bool is_mark = text.substr(i).starts_with(kBlankMark);  // A blank that is never squeezed.
    const bool is_blank = text[i] == ' ';
    if (!is_blank || !after_blank) add(is_mark ? ' ' : text[i], i);
    after_blank = is_blank && parts.squeezes_blanks;
    i += is_mark ? kBlankMark.size() : 1;
  }
  normal.places.push_back(static_cast<std::uint32_t>(text.size()));
  if (normal.bytes == " " && parts.prefix_blank && end == 0) normal.bytes.clear();  // Nothing was left of the text.
  return normal;
}

bool goes_on_behind_blank(std::string_view piece) {
  for (std::size_t i = 1; i < piece.size(); ++i) {
    if (piece[i] == ' ' && piece[i - 1] != ' ') return true;
  }
  return false;
}

}  // namespace

void ForeignCoder::Finder::add(const AddedToken& token) {
  ids.emplace(token.text, token.id);
  std::vector<std::size_t>& known = lengths[static_cast<unsigned char>(token.text[0])];
  if (std::find(known.begin(), known.end(), token.text.size()) == known.end()) known.push_back(token.text.size());
  std::sort(known.begin(), known.end(), std::greater<>());
}

TokenId ForeignCoder::Finder::find(std::string_view text, std::size_t& length) const {
  for (const std::size_t size : lengths[static_cast<unsigned char>(text[0])]) {
    if (size > text.size()) continue;
    if (const auto found = ids.find(text.substr(0, size)); found != ids.end()) {
      length = size;
      return found->second;
    }
  }
  return -1;
}

ForeignCoder::ForeignCoder(ForeignParts parts)
    : parts_(std::move(parts)), words_(parts_.surfaces), cutter_(parts_.merges, parts_.ranks, symbols()) {
  for (const AddedToken& token : parts_.added) {
    all_.add(token);
    if (!token.is_special) plain_.add(token);
  }
  for (const std::string& pattern : parts_.patterns) patterns_.emplace_back(pattern);
  std::unordered_set<TokenId> added;
  for (const AddedToken& token : parts_.added) added.insert(token.id);
  const std::unordered_set<TokenId> bytes(parts_.byte_ids.begin(), parts_.byte_ids.end());
  byte_symbols_.fill(-1);
  cuts_words_ = parts_.kind == TokenizerKind::spm;
  for (std::size_t i = 0; i < parts_.surfaces.size(); ++i) {
    const std::string& surface = parts_.surfaces[i];
    const auto id = static_cast<TokenId>(i);
    if (surface.empty() || added.contains(id) || bytes.contains(id)) continue;
    if (surface.size() == 1 && byte_symbols_[static_cast<unsigned char>(surface[0])] < 0) {
      byte_symbols_[static_cast<unsigned char>(surface[0])] = id;
    }
    if (utf8_character_length(surface) == surface.size()) character_symbols_[surface] = id;
    if (goes_on_behind_blank(surface)) cuts_words_ = false;
  }
  for (std::size_t i = 0; i < parts_.characters.size(); ++i) {
    character_symbols_.emplace(parts_.characters[i], static_cast<TokenId>(parts_.surfaces.size() + i));
  }
}

PieceCutter::Symbols ForeignCoder::symbols() const {
  if (parts_.kind == TokenizerKind::bpe) {
    return [this](std::string_view word, std::vector<Piece>& pieces) {
      for (const char c : word) pieces.push_back({.id = byte_symbols_[static_cast<unsigned char>(c)], .length = 1});
    };
  }
  return [this](std::string_view word, std::vector<Piece>& pieces) {
    while (!word.empty()) {
      const std::size_t length = utf8_character_length(word);
      const auto found = character_symbols_.find(word.substr(0, length));
      pieces.push_back({.id = length == 0 || found == character_symbols_.end() ? -1 : found->second,
                        .length = static_cast<std::uint32_t>(length == 0 ? 1 : length)});
      word.remove_prefix(pieces.back().length);
    }
  };
}

void ForeignCoder::encode(std::string_view text, bool with_specials, std::vector<Token>& tokens) const {
  const Finder& finder = with_specials ? all_ : plain_;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size() && !finder.ids.empty();) {
    std::size_t length = 0;
    const TokenId id = finder.find(text.substr(i), length);
    if (id < 0) {
      ++i;
      continue;
    }
    encode_plain(text.substr(done, i - done), static_cast<std::uint32_t>(done), tokens);
    tokens.push_back({.id = id, .begin = static_cast<std::uint32_t>(i), .end = static_cast<std::uint32_t>(i + length)});
    i += length;
    done = i;
  }
  encode_plain(text.substr(done), static_cast<std::uint32_t>(done), tokens);
}

void ForeignCoder::encode_plain(std::string_view text, std::uint32_t begin, std::vector<Token>& tokens) const {
  if (text.empty()) return;
  const std::size_t first = tokens.size();
  if (parts_.kind == TokenizerKind::spm) {
    encode_spm(text, tokens);
  } else if (parts_.prefix_blank && text[0] != ' ') {
    encode_bpe(std::string(" ").append(text), tokens);
    for (std::size_t i = first; i < tokens.size(); ++i) {
      tokens[i].begin = std::max(tokens[i].begin, 1U) - 1;
      --tokens[i].end;
    }
  } else {
    encode_bpe(text, tokens);
  }
  for (std::size_t i = first; i < tokens.size(); ++i) {
    tokens[i].begin += begin;
    tokens[i].end += begin;
  }
}

void ForeignCoder::encode_bpe(std::string_view text, std::vector<Token>& tokens) const {
  std::vector<std::string_view> words = {text};
  for (const SplitPattern& pattern : patterns_) {
    std::vector<std::string_view> smaller;
    smaller.reserve(words.size());
    for (const std::string_view word : words) pattern.split(word, smaller);
    words = std::move(smaller);
  }
  const std::size_t first = tokens.size();
  for (const std::string_view word : words) {
    const auto begin = static_cast<std::uint32_t>(word.data() - text.data());
    const TokenId whole = parts_.whole_words ? words_.find(word) : -1;
    if (whole >= 0) {
      tokens.push_back({.id = whole, .begin = begin, .end = begin + static_cast<std::uint32_t>(word.size())});
    } else {
      cutter_.cut(word, begin, tokens);
    }
  }
  const auto is_unknown = [](const Token& token) { return token.id < 0; };
  tokens.erase(std::remove_if(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end(), is_unknown),
               tokens.end());
}

void ForeignCoder::encode_spm(std::string_view text, std::vector<Token>& tokens) const {
  const NormalText normal = normalised(text, parts_);
  const std::string_view bytes = normal.bytes;
  std::vector<Token> symbols;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t end = i + 1;
    while (end < bytes.size() && (!cuts_words_ || bytes[end] != ' ' || bytes[end - 1] == ' ')) ++end;
    cutter_.cut(bytes.substr(i, end - i), static_cast<std::uint32_t>(i), symbols);
    i = end;
  }
  const std::size_t first = tokens.size();
  append_known(bytes, symbols, tokens);
  for (std::size_t i = first; i < tokens.size(); ++i) {
    tokens[i].begin = normal.places[tokens[i].begin];
    tokens[i].end = normal.places[tokens[i].end];
  }
}

// Symbols that are no tokens become their bytes, or else the unknown token, once for several in a row.
void ForeignCoder::append_known(std::string_view text, const std::vector<Token>& symbols,
                                std::vector<Token>& tokens) const {
  const auto size = static_cast<TokenId>(parts_.surfaces.size());
  bool after_unknown = false;
  for (const Token& symbol : symbols) {
    const bool is_unknown = symbol.id < 0 || symbol.id >= size;
    if (!is_unknown) {
      tokens.push_back(symbol);
    } else if (!parts_.byte_ids.empty()) {
      for (std::uint32_t i = symbol.begin; i < symbol.end; ++i) {
        tokens.push_back({.id = parts_.byte_ids[static_cast<unsigned char>(text[i])], .begin = i, .end = i + 1});
      }
    } else if (after_unknown) {
      tokens.back().end = symbol.end;
    } else if (parts_.unknown) {
      tokens.push_back({.id = *parts_.unknown, .begin = symbol.begin, .end = symbol.end});
    }
    after_unknown = is_unknown && parts_.byte_ids.empty() && parts_.unknown;
  }
}

}  // namespace semfuse
