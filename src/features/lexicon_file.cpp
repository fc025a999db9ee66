#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/attribute_name.h"
#include "core/nearest_word.h"
#include "core/number_text.h"
#include "core/text_lines.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "semfuse/lexicon.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxLexiconBytes = std::size_t{64} << 20;
constexpr std::string_view kLike = "like";
const std::vector<std::string> kColumns = {"word", "class", "polarity", "strength"};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == line.npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

std::vector<std::string_view> parse_heading(std::string_view line) {
  std::vector<std::string_view> names = cells_of(line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].starts_with('#')) continue;
    const bool known = std::find(kColumns.begin(), kColumns.end(), names[i]) != kColumns.end();
    if (const std::string advice = did_you_mean(names[i], kColumns); !known && !advice.empty()) {
      throw Error(fmt::format("unknown column {}{}", quoted_text(names[i]), advice));
    }
    if (!is_attribute_name(names[i])) {
      throw Error(fmt::format(
          "{} is no name of a column (a-z, 0-9 and _); the heading is {} and attributes of your own, with tabs between",
          quoted_text(names[i]), fmt::join(kColumns, " ")));
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error(fmt::format("the column {} appears twice; remove one", names[i]));
    }
  }
  for (const char* needed : {"word", "class"}) {
    if (std::find(names.begin(), names.end(), needed) == names.end())
      throw Error(fmt::format("the heading lacks the column {}; it is {}, with tabs between", needed,
                              fmt::join(kColumns, " ")));
  }
  return names;
}

double parse_number(std::string_view column, std::string_view cell) {
  if (cell.empty()) return 0.0;
  const std::optional<double> number = number_of(cell);
  if (!number) throw Error(fmt::format("{} wants a number, got {}", column, quoted_text(cell)));
  return *number;
}

// "great, superb".
std::vector<std::string> parse_like(std::string_view cell) {
  std::vector<std::string> words;
  if (cell.find_first_not_of(' ') == cell.npos) return words;
  while (true) {
    const std::size_t comma = std::min(cell.find(','), cell.size());
    std::string_view word = cell.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    if (word.empty() || split_words(word) != Sentence{std::string(word)} ||
        quoted_text(word) != fmt::format("\"{}\"", word)) {
      throw Error(fmt::format("{} wants words with commas between, got {}", kLike, quoted_text(word)));
    }
    words.emplace_back(word);
    if (comma == cell.size()) return words;
    cell.remove_prefix(comma + 1);
  }
}

// One line against the heading.
LexiconEntry parse_entry(const std::vector<std::string_view>& columns, std::string_view line) {
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.size() > columns.size()) {
    throw Error(fmt::format("has {} cells, more than the {} columns of the heading", cells.size(), columns.size()));
  }
  LexiconEntry entry;
  bool has_class = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns[i].starts_with('#')) continue;  // A note for people.
    if (columns[i] == "word") {
      if (split_words(cells[i]) != Sentence{std::string(cells[i])} ||
          quoted_text(cells[i]) != fmt::format("\"{}\"", cells[i]) || cells[i].starts_with('<')) {
        throw Error(fmt::format("{} is not one word", quoted_text(cells[i])));
      }
      entry.word = cells[i];
    } else if (columns[i] == "class") {
      // A name that is one slip away from a known one is that slip; `adverb` is no `verb`.
      if (const std::string advice = did_you_mean(cells[i], WordClass::known(), 1);
          !WordClass::is_known(cells[i]) && !advice.empty()) {
        throw Error(fmt::format("unknown class {}{}", quoted_text(cells[i]), advice));
      }
      if (!is_attribute_name(cells[i])) {
        throw Error(fmt::format("{} is no name of a class (a-z, 0-9 and _); known ones are {}", quoted_text(cells[i]),
                                fmt::join(WordClass::known(), ", ")));
      }
      entry.word_class = cells[i];
      has_class = true;
    } else if (columns[i] == kLike) {
      entry.like = parse_like(cells[i]);
    } else {
      const double number = parse_number(columns[i], cells[i]);
      if (columns[i] == "polarity") {
        entry.polarity = number;
      } else if (columns[i] == "strength") {
        entry.strength = number;
      } else if (number != 0.0) {
        entry.more.emplace(columns[i], number);
      }
    }
  }
  if (entry.word.empty() || !has_class) throw Error("lacks a word or its class; are there spaces instead of tabs?");
  return entry;
}

}  // namespace

Lexicon Lexicon::parse(std::string_view tsv, std::string_view origin) {
  std::vector<LexiconEntry> entries;
  std::map<std::string, std::size_t> lines;  // By word.
  std::vector<std::string_view> columns;
  tsv = without_byte_order_mark(tsv);
  for (std::size_t number = 1; !tsv.empty(); ++number) {
    const std::string_view line = take_line(tsv);
    if (line.empty() || line.starts_with('#')) continue;
    try {
      if (columns.empty()) {
        columns = parse_heading(line);
        continue;
      }
      LexiconEntry entry = parse_entry(columns, line);
      const auto [first, added] = lines.emplace(entry.word, number);
      if (!added) {
        throw Error(fmt::format("\"{}\" appears twice (first at line {}); remove one", entry.word, first->second));
      }
      const Lexicon alone({entry});  // Throws if an attribute is out of its range.
      entries.push_back(std::move(entry));
    } catch (const Error& error) {
      constexpr std::string_view kPrefix = "lexicon: ";
      std::string_view what = error.what();
      if (what.starts_with(kPrefix)) what.remove_prefix(kPrefix.size());
      throw Error(fmt::format("{}:{}: {}", origin, number, what));
    }
  }
  if (entries.empty()) {
    throw Error(fmt::format("{}: holds no word; write a heading ({}, with tabs between) and a line for each word",
                            origin, fmt::join(kColumns, " ")));
  }
  return Lexicon(std::move(entries));
}

Lexicon Lexicon::load(const std::filesystem::path& path) {
  return parse(read_text(path, kMaxLexiconBytes), path.string());
}

}  // namespace semfuse
