// What the fuzzer does with bytes as tsv and csv; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/table_reader.h"
#include "fuzz/require.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

using FuzzRows = std::vector<std::vector<std::string>>;

// The good rows of a table; rows at fault are counted. Every row has a place, and says what is wrong in one line.
inline FuzzRows fuzz_rows(std::string_view bytes, TableFormat format, std::size_t& num_faults) {
  const auto table = TableReader::of(unpacked_bytes(bytes, "fuzz"), format, {.max_row_bytes = 4096});
  FuzzRows rows;
  std::size_t line = 0;
  for (Row row; table->next(row);) {
    fuzz_require(row.line > line);
    line = row.line;
    if (row.blank) continue;
    if (row.fault) {
      fuzz_require(row.fault->what.find('\n') == std::string::npos);
      ++num_faults;
      continue;
    }
    fuzz_require(format == TableFormat::jsonl || row.cells.size() == table->columns().size());
    std::vector<std::string>& cells = rows.emplace_back();
    for (const Cell& cell : row.cells) {
      fuzz_require(valid_utf8_prefix(cell.text) == cell.text.size());
      cells.emplace_back(cell.text);
    }
  }
  return rows;
}

// True if every row is good. Only Error may escape. What csv holds can be written with every cell in quotes, and is
// then read as the same.
inline bool fuzz_delimited_table(std::span<const std::uint8_t> input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  std::size_t num_faults = 0;
  bool refused = false;
  for (const TableFormat format : {TableFormat::tsv, TableFormat::csv}) {
    try {
      const FuzzRows rows = fuzz_rows(bytes, format, num_faults);
      if (format == TableFormat::tsv || rows.empty()) continue;
      std::string quoted;
      for (std::size_t c = 0; c < rows[0].size(); ++c) quoted += (c == 0 ? "\"c" : ",\"c") + std::to_string(c) + '"';
      bool short_enough = true;
      for (const std::vector<std::string>& row : rows) {
        const std::size_t begin = quoted.size();
        for (std::size_t c = 0; c < row.size(); ++c) {
          quoted += c == 0 ? "\n\"" : ",\"";
          for (const char letter : row[c]) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
          quoted += '"';
        }
        short_enough = short_enough && quoted.size() - begin <= 4096;
      }
      std::size_t none = 0;
      if (short_enough) fuzz_require(fuzz_rows(quoted, format, none) == rows && none == 0);
    } catch (const Error& error) {
      fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
      refused = true;
    }
  }
  return !refused && num_faults == 0;
}

}  // namespace semfuse
