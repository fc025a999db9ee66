#include "data/column_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "io/file.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "semfuse-columns-1";
constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // Of anything: no product of two sizes below overflows.
constexpr std::uint64_t kMostColumns = 4096;
constexpr const char* kSizes = "columns.json";
constexpr const char* kEnds = "ends.u64";
constexpr const char* kIds = "ids.i32";
constexpr const char* kRowOf = "row_of.u32";
constexpr const char* kRows = "rows.f32";
constexpr const char* kLabels = "labels.u32";
constexpr const char* kSoft = "soft.f32";
constexpr const char* kSoftField = "soft";  // Of columns.json, if there are such labels.

struct SizeField {
  const char* name;
  std::uint64_t ColumnSizes::*value;
  std::uint64_t most;
};
constexpr SizeField kFields[] = {
    {"texts", &ColumnSizes::texts, kMost},        {"ids", &ColumnSizes::ids, kMost},
    {"rows", &ColumnSizes::rows, kMost},          {"features", &ColumnSizes::features, kMostColumns},
    {"knobs", &ColumnSizes::knobs, kMostColumns}, {"vocabulary", &ColumnSizes::vocabulary, std::uint64_t{1} << 31},
    {"bytes", &ColumnSizes::bytes, kMost * 1024}};

// 0 says nothing; a probability has both counts, a scalar the bits of its value as a float, a distribution the place of
// the label from 1.
std::uint32_t packed(KnobKind kind, const KnobLabel& label) {
  constexpr std::size_t kMostCount = 0xFFFF;
  switch (kind) {
    case KnobKind::scalar:
      return label.value ? std::bit_cast<std::uint32_t>(static_cast<float>(*label.value))
                         : std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
    case KnobKind::distribution:
      return label.label ? static_cast<std::uint32_t>(*label.label) + 1 : 0;
    default:
      return static_cast<std::uint32_t>(std::min(label.positive, kMostCount) << 16 |
                                        std::min(label.negative, kMostCount));
  }
}

KnobLabel unpacked(KnobKind kind, std::uint32_t bits) {
  KnobLabel label;
  switch (kind) {
    case KnobKind::scalar:
      if (const float value = std::bit_cast<float>(bits); std::isfinite(value))
        label.value = static_cast<double>(value);
      break;
    case KnobKind::distribution:
      if (bits > 0) label.label = bits - 1;
      break;
    default:
      label.positive = bits >> 16;
      label.negative = bits & 0xFFFF;
  }
  return label;
}

}  // namespace

ColumnSizes parse_column_sizes(std::string_view json, std::string_view origin) {
  const nlohmann::json object = parse_json(json, origin);
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("{}: {}; remove its folder, it is made again", origin, what));
  };
  const bool has_soft = object.is_object() && object.contains(kSoftField);
  if (!object.is_object() || object.size() != std::size(kFields) + (has_soft ? 2 : 1) || !object.contains("format") ||
      object["format"] != kFormat) {
    refuse("does not describe columns of this version");
  }
  ColumnSizes sizes;
  for (const SizeField& field : kFields) {
    const auto found = object.find(field.name);
    if (found == object.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > field.most) {
      refuse(fmt::format("{} is no number of them", field.name));
    }
    sizes.*field.value = found->get<std::uint64_t>();
  }
  if (has_soft) {
    const nlohmann::json& soft = object[kSoftField];
    if (!soft.is_number_unsigned() || soft.get<std::uint64_t>() < 1 || soft.get<std::uint64_t>() > kMostColumns) {
      refuse(fmt::format("{} is no number of them", kSoftField));
    }
    sizes.soft = soft.get<std::uint64_t>();
  }
  if (sizes.ids < 2 * sizes.texts || (sizes.features == 0 && sizes.rows > 0)) {
    refuse("its numbers do not fit together");
  }
  return sizes;
}

std::string to_json(const ColumnSizes& sizes) {
  Json object = {{"format", kFormat}};
  for (const SizeField& field : kFields) object[field.name] = sizes.*field.value;
  if (sizes.soft > 0) object[kSoftField] = sizes.soft;
  return object.dump() + '\n';
}

std::vector<SoftColumns> soft_columns(std::span<const Knob> knobs) {
  std::vector<SoftColumns> columns;
  std::size_t first = 0;
  for (const Knob& knob : knobs) {
    const bool has_some = knob.of_column && knob.kind != KnobKind::scalar;
    columns.push_back({.first = first, .count = has_some ? knob.num_values() : 0});
    first += columns.back().count;
  }
  return columns;
}

ColumnDataset::ColumnDataset(const fs::path& folder, std::span<const Knob> knobs) : folder_(folder) {
  constexpr std::size_t kMaxJson = 4096;
  const fs::path sizes_file = folder / kSizes;
  sizes_ = parse_column_sizes(read_text(sizes_file, kMaxJson), sizes_file.string());
  if (sizes_.knobs != knobs.size()) refuse("was made for other knobs");
  for (const Knob& knob : knobs) kinds_.push_back(knob.kind);
  ends_ = MappedFile(folder / kEnds, sizes_.texts * sizeof(std::uint64_t));
  ids_ = MappedFile(folder / kIds, sizes_.ids * sizeof(TokenId));
  labels_ = MappedFile(folder / kLabels, sizes_.texts * sizes_.knobs * sizeof(std::uint32_t));
  if (sizes_.soft > 0) {
    soft_columns_ = soft_columns(knobs);
    if (soft_columns_.empty() || soft_columns_.back().first + soft_columns_.back().count != sizes_.soft) {
      refuse("was made for other knobs");
    }
    soft_ = MappedFile(folder / kSoft, sizes_.texts * sizes_.soft * sizeof(float));
  }
  if (sizes_.features == 0) return;
  row_of_ = MappedFile(folder / kRowOf, sizes_.ids * sizeof(std::uint32_t));
  rows_ = MappedFile(folder / kRows, sizes_.rows * sizes_.features * sizeof(float));
}

void ColumnDataset::refuse(const char* what) const {
  throw Error(fmt::format("{}: {}; remove the folder, it is made again", folder_.string(), what));
}

std::span<const TokenId> ColumnDataset::ids(std::size_t text) const {
  const std::span<const std::uint64_t> ends = ends_.as<std::uint64_t>();
  const std::uint64_t first = text == 0 ? 0 : ends[text - 1];
  const std::uint64_t end = ends[text];
  if (first > end || end > sizes_.ids || end - first < 2) refuse("is damaged: a text has no proper end");
  ends_.note_read(text * sizeof(std::uint64_t), sizeof(std::uint64_t));
  ids_.note_read(first * sizeof(TokenId), (end - first) * sizeof(TokenId));
  const std::span<const TokenId> ids = ids_.as<TokenId>().subspan(first, end - first);
  const auto is_id = [&](TokenId id) { return id >= 0 && static_cast<std::uint64_t>(id) < sizes_.vocabulary; };
  if (!std::ranges::all_of(ids, is_id)) refuse("is damaged: an id is none of the vocabulary");
  return ids;
}

void ColumnDataset::copy_features(std::size_t text, std::span<float> rows) const {
  if (sizes_.features == 0) return;
  const std::uint64_t first = text == 0 ? 0 : ends_.as<std::uint64_t>()[text - 1];
  const std::size_t count = rows.size() / sizes_.features;
  if (first + count > sizes_.ids) refuse("is damaged: a text has no proper end");
  row_of_.note_read(first * sizeof(std::uint32_t), count * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t place = row_of_.as<std::uint32_t>()[first + i];
    if (place >= sizes_.rows) refuse("is damaged: a token has no feature row");
    rows_.note_read(place * sizes_.features * sizeof(float), sizes_.features * sizeof(float));
    const std::span<const float> row = rows_.as<float>().subspan(place * sizes_.features, sizes_.features);
    if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) {
      refuse("is damaged: a feature is not finite");
    }
    std::ranges::copy(row, rows.begin() + static_cast<std::ptrdiff_t>(i * sizes_.features));
  }
}

KnobLabel ColumnDataset::label(std::size_t text, std::size_t knob) const {
  labels_.note_read((text * sizes_.knobs + knob) * sizeof(std::uint32_t), sizeof(std::uint32_t));
  return unpacked(kinds_[knob], labels_.as<std::uint32_t>()[text * sizes_.knobs + knob]);
}

std::span<const float> ColumnDataset::soft_label(std::size_t text, std::size_t knob) const {
  if (sizes_.soft == 0 || soft_columns_[knob].count == 0) return {};
  const auto [first, count] = soft_columns_[knob];
  soft_.note_read((text * sizes_.soft + first) * sizeof(float), count * sizeof(float));
  const std::span<const float> values = soft_.as<float>().subspan(text * sizes_.soft + first, count);
  const auto is_probability = [](float value) { return value >= 0.0f && value <= 1.0f; };  // False for NaN.
  if (!std::ranges::all_of(values, is_probability)) refuse("is damaged: a soft label is no probability");
  return values;
}

ColumnWriter::ColumnWriter(fs::path folder, std::size_t num_features, std::vector<Knob> knobs, std::size_t vocab_size,
                           FileLayer& files, std::size_t num_soft)
    : folder_(std::move(folder)),
      knobs_(std::move(knobs)),
      sizes_{.features = num_features, .knobs = knobs_.size(), .vocabulary = vocab_size, .soft = num_soft},
      files_(files),
      ends_(folder_ / kEnds, files),
      ids_(folder_ / kIds, files),
      row_of_(folder_ / kRowOf, files),
      rows_(folder_ / kRows, files),
      labels_(folder_ / kLabels, files) {
  if (num_soft > 0) soft_.emplace(folder_ / kSoft, files);
}

std::uint32_t ColumnWriter::place_of(std::span<const float> row) {
  const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  if (const auto found = places_.find(bytes); found != places_.end()) return found->second;
  if (sizes_.rows == std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("{}: has more different feature rows than 32 bits count; declare fewer features",
                            folder_.string()));
  }
  const auto place = static_cast<std::uint32_t>(sizes_.rows++);
  rows_.append_all(row);
  places_.emplace(bytes, place);
  return place;
}

void ColumnWriter::add(const Block& block) {
  for (const std::uint64_t length : block.lengths) {
    sizes_.ids += length;
    ends_.append_all(std::span<const std::uint64_t>(&sizes_.ids, 1));
  }
  sizes_.texts += block.lengths.size();
  sizes_.bytes += block.bytes;
  ids_.append_all(std::span<const TokenId>(block.ids));
  if (sizes_.features > 0) {
    // A place for each of the block's rows, given in the order in which the texts have them.
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    constexpr std::size_t kOfMap = 96;  // What an element costs besides its bytes.
    const std::size_t most_places = kKnownBytes / (sizes_.features * sizeof(float) + kOfMap);
    std::vector<std::uint32_t> places(block.rows.size() / sizes_.features, kNone);
    for (const std::uint32_t row : block.row_of) {
      if (places[row] == kNone) {
        if (places_.size() >= most_places) {
          places_.clear();
          std::ranges::fill(places, kNone);  // So that it does not matter where blocks begin.
        }
        places[row] = place_of(std::span(block.rows).subspan(row * sizes_.features, sizes_.features));
      }
      row_of_.append_all(std::span<const std::uint32_t>(&places[row], 1));
    }
  }
  for (std::size_t i = 0; i < block.labels.size(); ++i) {
    const std::uint32_t bits = packed(knobs_[i % knobs_.size()].kind, block.labels[i]);
    labels_.append_all(std::span<const std::uint32_t>(&bits, 1));
  }
  if (soft_) soft_->append_all(std::span<const float>(block.soft));
}

ColumnSizes ColumnWriter::finish() {
  for (AppendFile* file : {&ends_, &ids_, &row_of_, &rows_, &labels_}) file->finish();
  if (soft_) soft_->finish();
  write_atomically(folder_ / kSizes, to_json(sizes_), files_);
  return sizes_;
}

}  // namespace semfuse
