#include "features/tag_weights.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::uint32_t kHashLimit = std::uint32_t{1} << kTagFeatureBits;
constexpr std::uint32_t kMaskLimit = std::uint32_t{1} << kUniversalTags.size();

// Seven bits a byte, the lowest first; the highest bit says that another byte follows.
void append_number(std::uint32_t number, std::string& bytes) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

std::uint8_t take_byte(std::string_view& bytes) {
  if (bytes.empty()) throw Error("ends before its last feature");
  const auto byte = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  return byte;
}

// At most 28 bits, in no more bytes than it needs.
std::uint32_t take_number(std::string_view& bytes) {
  std::uint32_t number = 0;
  for (int shift = 0; shift < 28; shift += 7) {
    const std::uint8_t byte = take_byte(bytes);
    number |= static_cast<std::uint32_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) break;
      return number;
    }
  }
  throw Error("holds a number that no tagger writes");
}

}  // namespace

TagFeatures::TagFeatures(std::span<const std::uint32_t> hashes) : TagFeatures() {
  for (const std::uint32_t hash : hashes) words_[hash >> 6].bits |= std::uint64_t{1} << (hash & 63);
  for (Word& word : words_) {
    word.before = static_cast<std::uint32_t>(size_);
    size_ += static_cast<std::size_t>(std::popcount(word.bits));
  }
  assert(size_ == hashes.size());
}

TagWeights::TagWeights(std::vector<std::uint32_t> hashes, const std::vector<Row>& rows)
    : hashes_(std::move(hashes)), features_(hashes_), weights_(rows.size() * kStride) {
  assert(hashes_.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy(rows[i].begin(), rows[i].end(), &weights_[i * kStride]);
}

void TagWeights::append_to(std::string& bytes) const {
  append_number(static_cast<std::uint32_t>(hashes_.size()), bytes);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    append_number(hashes_[i] - next, bytes);
    next = hashes_[i] + 1;
    const std::int8_t* row = &weights_[i * kStride];
    std::uint32_t mask = 0;
    for (std::size_t tag = 0; tag < kUniversalTags.size(); ++tag) mask |= std::uint32_t{row[tag] != 0} << tag;
    append_number(mask, bytes);
    for (std::size_t tag = 0; tag < kUniversalTags.size(); ++tag) {
      if (row[tag] != 0) bytes.push_back(static_cast<char>(row[tag]));
    }
  }
}

TagWeights TagWeights::take_from(std::string_view& bytes) {
  const std::uint32_t num_features = take_number(bytes);
  // A feature takes three bytes at least, so a short file cannot ask for much memory.
  if (num_features > bytes.size() / 3) throw Error("ends before its last feature");
  std::vector<std::uint32_t> hashes(num_features);
  std::vector<Row> rows(num_features);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < num_features; ++i) {
    const std::uint32_t gap = take_number(bytes);
    if (gap >= kHashLimit - next) throw Error("holds a feature out of range");
    hashes[i] = next + gap;
    next = hashes[i] + 1;
    const std::uint32_t mask = take_number(bytes);
    if (mask == 0 || mask >= kMaskLimit) throw Error("holds a feature of no part of speech");
    for (std::size_t tag = 0; tag < kUniversalTags.size(); ++tag) {
      if ((mask >> tag & 1) == 0) continue;
      rows[i][tag] = static_cast<std::int8_t>(take_byte(bytes));
      if (rows[i][tag] == 0) throw Error("holds a weight that is 0");
    }
  }
  return TagWeights(std::move(hashes), rows);
}

void TagWeights::add(std::span<const std::uint32_t> features, TagScores& scores) const {
  constexpr std::size_t kMost = 32;
  assert(features.size() <= kMost);
  std::array<std::uint32_t, kMost> rows;
  const std::size_t num_rows = features_.find_all(features, rows.data());
  for (std::size_t r = 0; r < num_rows; ++r) {
    const std::int8_t* weights = &weights_[rows[r] * kStride];
    for (std::size_t i = 0; i < kStride; ++i) scores[i] = static_cast<std::int16_t>(scores[i] + weights[i]);
  }
}

UniversalTag TagWeights::best_of(const TagScores& scores) {
  const auto end = scores.begin() + kUniversalTags.size();
  return static_cast<UniversalTag>(std::max_element(scores.begin(), end) - scores.begin());
}

UniversalTag TagWeights::best(std::span<const std::uint32_t> features) const {
  TagScores scores{};
  add(features, scores);
  return best_of(scores);
}

}  // namespace semfuse
