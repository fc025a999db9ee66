// A dataset on the disk: a folder of columns that are mapped into memory, made once by a ColumnWriter.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text_hash.h"
#include "io/append_file.h"
#include "io/mapped_file.h"
#include "semfuse/dataset.h"

namespace semfuse {

// What the columns are of. The files are documented in docs/file_formats.md.
struct ColumnSizes {
  std::uint64_t texts = 0;
  std::uint64_t ids = 0;
  std::uint64_t rows = 0;  // Different feature rows; 0 if there are no features.
  std::uint64_t features = 0;
  std::uint64_t knobs = 0;
  std::uint64_t vocabulary = 0;  // Every id is below it.
  std::uint64_t bytes = 0;       // As Dataset::num_bytes().
  std::uint64_t soft = 0;        // Numbers of a text's soft labels; 0: there are none.
  bool operator==(const ColumnSizes&) const = default;
};

// Reads a columns.json. Throws Error if the text is something else.
ColumnSizes parse_column_sizes(std::string_view json, std::string_view origin);
std::string to_json(const ColumnSizes& sizes);

// Where the soft labels of a knob are among those of a text; none of what is no label of a column, or a number.
struct SoftColumns {
  std::size_t first = 0;
  std::size_t count = 0;
};
std::vector<SoftColumns> soft_columns(std::span<const Knob> knobs);

// What is read of a text is checked then, not all of it at once: a file of 2 GB opens as fast as a small one. Needs no
// memory of its own size: the system keeps what was read lately.
class ColumnDataset : public Dataset {
 public:
  // Throws Error if the folder is not whole: a file is missing, or of another size than columns.json says. `knobs` are
  // those that it was made for.
  ColumnDataset(const std::filesystem::path& folder, std::span<const Knob> knobs);

  std::size_t size() const override { return sizes_.texts; }
  std::span<const TokenId> ids(std::size_t text) const override;
  std::size_t num_features() const override { return sizes_.features; }
  void copy_features(std::size_t text, std::span<float> rows) const override;
  KnobLabel label(std::size_t text, std::size_t knob) const override;
  std::span<const float> soft_label(std::size_t text, std::size_t knob) const override;
  std::uint64_t num_bytes() const override { return sizes_.bytes; }
  const ColumnSizes& sizes() const { return sizes_; }

 private:
  [[noreturn]] void refuse(const char* what) const;

  std::filesystem::path folder_;
  std::vector<KnobKind> kinds_;
  std::vector<SoftColumns> soft_columns_;  // By knob.
  ColumnSizes sizes_;
  MappedFile ends_;    // [texts]: where the ids of each end, as 64 bits.
  MappedFile ids_;     // [ids]
  MappedFile row_of_;  // [ids]: which of the rows, if there are features.
  MappedFile rows_;    // [rows, features]
  MappedFile labels_;  // [texts, knobs], 32 bits each.
  MappedFile soft_;    // [texts, soft]
};

// Writes the files of a folder that is there and empty. What is written does not depend on the blocks that it came in.
class ColumnWriter {
 public:
  // Texts one after the other, as threads make them. Each has its own list of different rows.
  struct Block {
    std::vector<std::uint64_t> lengths;  // Ids of each text.
    std::vector<TokenId> ids;            // Of all of them.
    std::vector<std::uint32_t> row_of;   // For each id, the place of its row in `rows`, if there are features.
    std::vector<float> rows;             // [rows, features]
    std::vector<KnobLabel> labels;       // [texts, knobs]
    std::vector<float> soft = {};        // [texts, num_soft]
    std::uint64_t bytes = 0;
  };

  // Texts have `num_soft` numbers as soft labels, as soft_columns() says, or none. Throws Error, as all functions here
  // do, if a file cannot be written.
  ColumnWriter(std::filesystem::path folder, std::size_t num_features, std::vector<Knob> knobs, std::size_t vocab_size,
               FileLayer& files = FileLayer::system(), std::size_t num_soft = 0);

  void add(const Block& block);

  // Bytes of memory for the rows that it knows. Once they are full it begins to know them anew, so a row may be in
  // the file more than once: memory does not grow with the number of different rows, however many texts there are.
  static constexpr std::size_t kKnownBytes = std::size_t{32} << 20;
  // Flushes everything to the disk.
  ColumnSizes finish();

 private:
  std::uint32_t place_of(std::span<const float> row);

  std::filesystem::path folder_;
  std::vector<Knob> knobs_;
  ColumnSizes sizes_;
  FileLayer& files_;
  AppendFile ends_, ids_, row_of_, rows_, labels_;
  std::optional<AppendFile> soft_;  // If there are such labels.
  TextMap<std::uint32_t> places_;   // Of known rows, by their bytes.
};

}  // namespace semfuse
