#include "features/word_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "core/lower_case.h"
#include "io/checksum.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::string_view kVectorMagic = "semfuse-vectors-1\n";
constexpr float kLargestByte = 127.0f;
// Of every vector: about the length of a row of readable features, so that neither drowns the other.
constexpr float kLength = 3.0f;
constexpr double kLeastSquare = 1e-70;  // Of a row's length: what makes a shorter one longer is no float.

void append_word(std::uint32_t number, std::string& bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
}

// Reads the parts of a file one after the other.
class VectorReader {
 public:
  explicit VectorReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw Error("ends before its last vector");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint32_t number() {
    std::uint32_t number = 0;
    for (int shift = 0; shift < 32; shift += 8)
      number |= static_cast<std::uint32_t>(static_cast<unsigned char>(take(1)[0])) << shift;
    return number;
  }
  // Of something that takes so many bytes at least: a short file cannot ask for much memory.
  std::uint32_t count(std::size_t bytes_each) {
    const std::uint32_t count = number();
    if (count > rest_.size() / bytes_each) throw Error("ends before its last vector");
    return count;
  }
  float real() {
    constexpr float kMost = 1e6f;  // No sum of these is infinite.
    const auto value = std::bit_cast<float>(number());
    if (!(std::abs(value) <= kMost)) throw Error("holds a number out of range");
    return value;
  }
  std::vector<std::int8_t> row(std::size_t width) {
    const std::string_view bytes = take(width);
    return {bytes.begin(), bytes.end()};
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

// Appends the row in 8 bits; gives what they are to be multiplied with.
float append_rounded(std::span<const float> row, std::vector<std::int8_t>& rows) {
  float largest = 0.0f;
  for (const float value : row) largest = std::max(largest, std::abs(value));
  const float scale = largest > 0.0f ? largest / kLargestByte : 0.0f;
  for (const float value : row)
    rows.push_back(static_cast<std::int8_t>(scale > 0.0f ? std::lround(value / scale) : 0L));
  return scale;
}

void set_length(std::span<float> row) {
  double sum = 0.0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  if (!(sum > kLeastSquare)) return;
  const auto scale = static_cast<float>(static_cast<double>(kLength) / std::sqrt(sum));
  for (float& value : row) value *= scale;
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

}  // namespace

std::vector<std::uint32_t> word_parts(std::string_view word) {
  const std::string whole = fmt::format("<{}>", word);
  std::vector<std::uint32_t> parts;
  for (std::size_t begin = 0; begin < whole.size(); ++begin) {
    if (!begins_character(whole[begin])) continue;
    std::uint32_t hash = 2166136261;
    std::size_t end = begin;
    for (std::size_t length = 1; length <= WordVectors::kLongestPart && end < whole.size(); ++length) {
      do {
        // Bytes count as signed there.
        hash = (hash ^ static_cast<std::uint32_t>(static_cast<std::int8_t>(whole[end]))) * 16777619;
        ++end;
      } while (end < whole.size() && !begins_character(whole[end]));
      if (length >= WordVectors::kShortestPart) parts.push_back(hash % WordVectors::kBuckets);
    }
  }
  return parts;
}

WordVectors::WordVectors(const WordVectorTables& tables) : mean_(tables.width), words_(tables.words) {
  const std::size_t width = tables.width;
  assert(tables.word_rows.size() == words_.size() * width);
  assert(tables.part_rows.size() == tables.parts.size() * width);
  for (std::size_t i = 0; i < tables.word_rows.size(); ++i)
    mean_[i % width] += tables.word_rows[i] / static_cast<float>(words_.size());
  std::vector<float> row(width);
  for (std::size_t w = 0; w < words_.size(); ++w) {
    for (std::size_t j = 0; j < width; ++j) row[j] = tables.word_rows[w * width + j] - mean_[j];
    append_rounded(row, word_rows_);
  }
  parts_ = tables.parts;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    part_scales_.push_back(append_rounded(std::span(tables.part_rows).subspan(p * width, width), part_rows_));
  }
  index();
}

void WordVectors::index() {
  places_.clear();
  for (std::size_t w = 0; w < words_.size(); ++w) {
    if (!places_.emplace(words_[w], static_cast<std::uint32_t>(w)).second) throw Error("holds a word twice");
  }
}

bool WordVectors::add_row_of(std::string_view lower, std::span<float> row) const {
  const std::size_t width = mean_.size();
  if (const auto found = places_.find(lower); found != places_.end()) {
    for (std::size_t j = 0; j < width; ++j) row[j] = static_cast<float>(word_rows_[found->second * width + j]);
    return true;
  }
  std::size_t count = 0;
  for (const std::uint32_t part : word_parts(lower)) {
    const auto found = std::lower_bound(parts_.begin(), parts_.end(), part);
    if (found == parts_.end() || *found != part) continue;
    const auto place = static_cast<std::size_t>(found - parts_.begin());
    for (std::size_t j = 0; j < width; ++j)
      row[j] += part_scales_[place] * static_cast<float>(part_rows_[place * width + j]);
    ++count;
  }
  if (count == 0) return false;
  for (std::size_t j = 0; j < width; ++j) row[j] = row[j] / static_cast<float>(count) - mean_[j];
  return true;
}

std::vector<float> WordVectors::vector_of(std::string_view word) const {
  std::vector<float> row(width());
  if (add_row_of(lower_case(word), row)) set_length(row);
  return row;
}

bool WordVectors::knows(std::string_view word) const {
  std::vector<float> row(width());
  return add_row_of(lower_case(word), row);
}

std::vector<float> WordVectors::columns_of(std::string_view surface) const {
  const bool spaced = surface.size() > 1 && surface.starts_with(' ');
  if (spaced) surface.remove_prefix(1);
  std::vector<float> columns = vector_of(surface);
  columns.push_back(spaced ? 1.0f : 0.0f);
  columns.push_back(!surface.empty() && lower_case(surface[0]) != surface[0] ? 1.0f : 0.0f);
  return columns;
}

WordVectors WordVectors::with(std::span<const std::string> words, std::span<const float> rows) const {
  const std::size_t width = mean_.size();
  assert(rows.size() == words.size() * width);
  WordVectors more = *this;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string lower = lower_case(words[i]);
    std::vector<std::int8_t> rounded;
    append_rounded(rows.subspan(i * width, width), rounded);
    const auto [found, added] = more.places_.emplace(lower, static_cast<std::uint32_t>(more.words_.size()));
    if (added) {
      more.words_.push_back(lower);
      more.word_rows_.resize(more.word_rows_.size() + width);
    }
    std::ranges::copy(rounded, more.word_rows_.begin() + static_cast<std::ptrdiff_t>(found->second * width));
  }
  return more;
}

std::string WordVectors::bytes() const {
  const std::size_t width = mean_.size();
  std::string bytes(kVectorMagic);
  const auto append_row = [&](const std::vector<std::int8_t>& rows, std::size_t place) {
    bytes.append(reinterpret_cast<const char*>(rows.data()) + place * width, width);
  };
  append_word(static_cast<std::uint32_t>(width), bytes);
  for (const float value : mean_) append_word(std::bit_cast<std::uint32_t>(value), bytes);
  append_word(static_cast<std::uint32_t>(words_.size()), bytes);
  for (std::size_t w = 0; w < words_.size(); ++w) {
    append_word(static_cast<std::uint32_t>(words_[w].size()), bytes);
    bytes += words_[w];
    append_row(word_rows_, w);
  }
  append_word(static_cast<std::uint32_t>(parts_.size()), bytes);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    append_word(parts_[p], bytes);
    append_word(std::bit_cast<std::uint32_t>(part_scales_[p]), bytes);
    append_row(part_rows_, p);
  }
  return bytes + checksum_bytes(bytes);
}

WordVectors WordVectors::parse(std::string_view bytes, std::string_view origin) {
  try {
    if (!bytes.starts_with(kVectorMagic) || bytes.size() < kVectorMagic.size() + kChecksumSize) {
      throw Error("holds no word vectors of this version");
    }
    const std::string_view whole = bytes.substr(0, bytes.size() - kChecksumSize);
    if (checksum_bytes(whole) != bytes.substr(whole.size())) throw Error("is damaged: its checksum differs");
    VectorReader reader(whole.substr(kVectorMagic.size()));
    WordVectors vectors;
    const std::uint32_t width = reader.number();
    if (width == 0 || width > kMaxWidth) throw Error(fmt::format("has vectors of {} numbers", width));
    for (std::uint32_t j = 0; j < width; ++j) vectors.mean_.push_back(reader.real());
    const std::uint32_t num_words = reader.count(4 + width);
    for (std::uint32_t w = 0; w < num_words; ++w) {
      vectors.words_.emplace_back(reader.take(reader.number()));
      const std::vector<std::int8_t> row = reader.row(width);
      vectors.word_rows_.insert(vectors.word_rows_.end(), row.begin(), row.end());
    }
    const std::uint32_t num_parts = reader.count(8 + width);
    for (std::uint32_t p = 0; p < num_parts; ++p) {
      const std::uint32_t part = reader.number();
      if (part >= kBuckets || (p > 0 && part <= vectors.parts_.back())) throw Error("has parts of words out of order");
      vectors.parts_.push_back(part);
      vectors.part_scales_.push_back(reader.real());
      const std::vector<std::int8_t> row = reader.row(width);
      vectors.part_rows_.insert(vectors.part_rows_.end(), row.begin(), row.end());
    }
    if (reader.left() > 0) throw Error(fmt::format("has {} bytes after its last vector", reader.left()));
    vectors.index();
    return vectors;
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  }
}

}  // namespace semfuse
