#include "data/text_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "core/number_text.h"
#include "data/delimited_table.h"
#include "data/word_scan.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr auto kTextNames = std::to_array<std::string_view>(
    {"text",      "texte",   "texto",    "sentence",    "satz",      "phrase", "frase",
     "review",    "content", "body",     "message",     "comment",   "tweet",  "caption",
     "utterance", "request", "document", "description", "reference", "ref",    "title"});
constexpr std::size_t kSampleRows = 1000;

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// A name of a column is hardly ever one. Questions may be: forms have them above their answers.
bool is_sentence(std::string_view name, bool alone) {
  constexpr std::size_t kFewestWords = 6;
  std::size_t words = 0;
  for_each_word(name, [&words](std::string_view) { ++words; });
  if (name.ends_with('?') || name.ends_with(':')) return false;
  return words >= kFewestWords || (words > (alone ? 2 : 1) && (name.ends_with('.') || name.ends_with('!')));
}

// Rows of which some are read, to see whether the first line is one of them too.
class FirstLine {
 public:
  explicit FirstLine(const std::vector<std::string>& cells) : cells_(cells), again_(cells.size()) {}

  void add(const Row& row) {
    bool all = true;
    std::vector<bool> same(cells_.size());
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      same[c] = row.cells[c].text == cells_[c];
      all = all && same[c];
    }
    if (all) return;  // Files with headings that were put together.
    for (std::size_t c = 0; c < cells_.size(); ++c) again_[c] = again_[c] || same[c];
  }

  // What would name the text is a sentence, and of the others each is one, or something that its column says again.
  bool is_row(std::size_t text) const {
    const bool alone = cells_.size() == 1;
    if (!is_sentence(cells_[text], alone)) return false;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (!again_[c] && !is_sentence(cells_[c], alone)) return false;
    }
    return true;
  }

 private:
  const std::vector<std::string>& cells_;
  std::vector<bool> again_;
};

}  // namespace

TextColumn find_text_column(const std::filesystem::path& path, const TableOptions& options) {
  const std::unique_ptr<TableReader> table = TableReader::open(path, options);
  if (table->format() == TableFormat::txt) return {.name = "text", .reason = ""};
  const bool names_itself = table->format() != TableFormat::jsonl && options.heading.empty();
  std::optional<FirstLine> first_line;
  if (names_itself) first_line.emplace(table->columns());
  std::vector<std::size_t> bytes;    // By column, of cells that are text and no number.
  std::optional<std::string> fault;  // The first.
  Row row;
  for (std::size_t rows = 0; rows < kSampleRows && table->next(row);) {
    if (row.fault && !fault) fault = fmt::format("{}:{}: {}", table->name(), row.line, row.fault->what);
    if (row.blank || row.fault) continue;
    ++rows;
    bytes.resize(table->columns().size());
    if (first_line) first_line->add(row);
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const Cell& cell = row.cells[c];
      if (cell.kind == Cell::Kind::text && !number_of(cell.text)) bytes[c] += cell.text.size();
    }
  }
  const std::vector<std::string>& columns = table->columns();
  if (columns.empty() && fault) throw Error(*fault);
  if (columns.empty()) throw Error(fmt::format("{}: holds no rows; check that it is the right file", table->name()));
  bytes.resize(columns.size());
  for (const std::string_view name : kTextNames) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [name](const std::string& column) { return same_letters(column, name); });
    if (found != columns.end()) return {.name = *found, .reason = "by its name"};
  }
  const auto longest = std::max_element(bytes.begin(), bytes.end());
  const auto place = static_cast<std::size_t>(longest - bytes.begin());
  if (first_line && first_line->is_row(place)) {
    throw Error(fmt::format(
        "{}: its first line should name the columns, but reads like a text: {}; name the {} with "
        "--heading {}, or write a line of names in front",
        table->name(), quoted_text(columns[place], 40),
        columns.size() == 1 ? "column" : fmt::format("{} columns", columns.size()), heading_example(columns.size())));
  }
  if (columns.size() == 1) return {.name = columns[0], .reason = "the only column"};
  // Without one good row the first one at fault says more, for one that a heading does not fit.
  if (*longest == 0 && fault) throw Error(*fault);
  if (*longest == 0) {
    throw Error(fmt::format("{}: no column holds text; say which one to take (its columns are {})", table->name(),
                            fmt::join(columns, ", ")));
  }
  return {.name = columns[place], .reason = "the longest on average"};
}

}  // namespace semfuse
