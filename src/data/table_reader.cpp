#include "data/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/nearest_word.h"
#include "data/builtin_corpora.h"
#include "data/delimited_table.h"
#include "data/json_table.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::array kFormats = {
    std::pair{TableFormat::txt, std::string_view("txt")}, std::pair{TableFormat::tsv, std::string_view("tsv")},
    std::pair{TableFormat::csv, std::string_view("csv")}, std::pair{TableFormat::jsonl, std::string_view("jsonl")}};

class TextTable : public TableReader {
 public:
  TextTable(std::unique_ptr<ByteSource> source, const TableOptions& options)
      : TableReader(std::move(source), TableFormat::txt, options) {
    columns_ = {"text"};
  }

 private:
  void parse(Row& row) override { row.cells.push_back({lines_.line(), Cell::Kind::text}); }
};

std::optional<RowFault> fault_of_bytes(std::string_view line) {
  if (line.find('\0') != line.npos) {
    return RowFault{RowFault::Kind::zero_byte, "has a zero byte, which no text has; remove it"};
  }
  if (const std::size_t valid = valid_utf8_prefix(line); valid != line.size()) {
    return RowFault{RowFault::Kind::not_utf8, fmt::format("byte {} is not UTF-8: {}; convert the file (iconv -t UTF-8)",
                                                          valid + 1, quoted_text(line.substr(valid, 8)))};
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TableFormat format) {
  return kFormats[static_cast<std::size_t>(format)].second;
}

TableFormat parse_table_format(std::string_view name) {
  for (const auto& [format, known] : kFormats) {
    if (name == known) return format;
  }
  throw Error(fmt::format("{} is no format of data; known ones are txt, tsv, csv, jsonl", quoted_text(name)));
}

TableFormat table_format_of(const std::filesystem::path& path) {
  if (find_builtin_corpus(path) != nullptr) return TableFormat::txt;
  const std::filesystem::path ending = path.extension();
  const std::filesystem::path inner = ending == ".gz" || ending == ".zst" ? path.stem().extension() : ending;
  std::string name = inner.string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
  for (const auto& [format, known] : kFormats) {
    if (!name.empty() && name.substr(1) == known) return format;
  }
  if (name == ".ndjson") return TableFormat::jsonl;
  throw Error(fmt::format(
      "{}: its name does not say what it holds; say --format txt, tsv, csv or jsonl, or let it end so (and in .gz or "
      ".zst if packed){}",
      path.string(), did_you_mean(path.filename().string(), builtin_corpus_names())));
}

TableReader::TableReader(std::unique_ptr<ByteSource> source, TableFormat format, const TableOptions& options)
    : lines_(std::move(source), options.max_row_bytes), format_(format) {}

std::unique_ptr<TableReader> TableReader::of(std::unique_ptr<ByteSource> source, TableFormat format,
                                             const TableOptions& options) {
  switch (format) {
    case TableFormat::txt:
      return std::make_unique<TextTable>(std::move(source), options);
    case TableFormat::jsonl:
      return std::make_unique<JsonTable>(std::move(source), options);
    case TableFormat::tsv:
    case TableFormat::csv:
      break;
  }
  return std::make_unique<DelimitedTable>(std::move(source), format, options);
}

std::unique_ptr<TableReader> TableReader::open(const std::filesystem::path& path, const TableOptions& options) {
  const TableFormat format = options.format ? *options.format : table_format_of(path);
  return of(open_bytes(path), format, options);
}

std::optional<std::size_t> TableReader::find_column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

bool TableReader::next(Row& row) {
  row.cells.clear();
  row.fault.reset();
  row.blank = false;
  if (!lines_.next()) return false;
  row.line = lines_.number();
  row.bytes = lines_.line().size();
  if (lines_.too_long()) {
    row.fault = {RowFault::Kind::too_long,
                 fmt::format("is longer than {} bytes; cut it into shorter texts", lines_.max_bytes())};
    return true;
  }
  row.blank = lines_.line().empty();
  if (row.blank) return true;
  gather(row);
  row.bytes = lines_.line().size();
  if (!row.fault) row.fault = fault_of_bytes(lines_.line());
  if (!row.fault) parse(row);
  if (row.fault) row.cells.clear();
  return true;
}

}  // namespace semfuse
