#include "data/text_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "data/number_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::array<std::string_view, 12> kTextNames = {"text",      "sentence", "review",      "content",
                                                         "body",      "message",  "comment",     "caption",
                                                         "utterance", "document", "description", "title"};
constexpr std::size_t kSampleRows = 1000;

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

TextColumn find_text_column(const std::filesystem::path& path, const TableOptions& options) {
  const std::unique_ptr<TableReader> table = TableReader::open(path, options);
  if (table->format() == TableFormat::txt) return {.name = "text", .reason = ""};
  std::vector<std::size_t> bytes;  // By column, of cells that are text and no number.
  Row row;
  for (std::size_t rows = 0; rows < kSampleRows && table->next(row);) {
    if (row.blank || row.fault) continue;
    ++rows;
    bytes.resize(table->columns().size());
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const Cell& cell = row.cells[c];
      if (cell.kind == Cell::Kind::text && !number_of(cell.text)) bytes[c] += cell.text.size();
    }
  }
  const std::vector<std::string>& columns = table->columns();
  if (columns.empty()) throw Error(fmt::format("{}: holds no rows; check that it is the right file", table->name()));
  bytes.resize(columns.size());
  if (columns.size() == 1) return {.name = columns[0], .reason = "the only column"};
  for (const std::string_view name : kTextNames) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [name](const std::string& column) { return same_letters(column, name); });
    if (found != columns.end()) return {.name = *found, .reason = "by its name"};
  }
  const auto longest = std::max_element(bytes.begin(), bytes.end());
  if (*longest == 0) {
    throw Error(fmt::format("{}: no column holds text; say which one to take (its columns are {})", table->name(),
                            fmt::join(columns, ", ")));
  }
  return {.name = columns[static_cast<std::size_t>(longest - bytes.begin())], .reason = "the longest on average"};
}

}  // namespace semfuse
