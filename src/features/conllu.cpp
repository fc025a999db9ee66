#include "features/conllu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/text_lines.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxConlluBytes = std::size_t{1} << 30;
constexpr std::size_t kNumColumns = 10;
using Columns = std::array<std::string_view, kNumColumns>;

Columns columns_of(std::string_view line) {
  const auto num_columns = static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t')) + 1;
  if (num_columns != kNumColumns) {
    throw Error(fmt::format("has {} columns; CoNLL-U has {}, with tabs between", num_columns, kNumColumns));
  }
  Columns columns;
  for (std::string_view& column : columns) {
    column = line.substr(0, line.find('\t'));
    if (column.empty()) throw Error(fmt::format("column {} is empty; write _", &column - columns.data() + 1));
    line.remove_prefix(std::min(column.size() + 1, line.size()));
  }
  return columns;
}

std::optional<std::size_t> whole_number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || (text.size() > 1 && text[0] == '0')) return {};
  return number;
}

// Adds the word of a line; `num_words` are before it.
void read_line(std::string_view line, TaggedSentence& sentence) {
  const Columns columns = columns_of(line);
  const std::string_view id = columns[0];
  const std::size_t num_words = sentence.words.size();
  if (const std::size_t dash = id.find_first_of("-."); dash != id.npos) {
    const std::optional<std::size_t> first = whole_number_of(id.substr(0, dash)),
                                     second = whole_number_of(id.substr(dash + 1));
    const bool range = id[dash] == '-';
    if (!first || !second ||
        (range ? *first != num_words + 1 || *second < *first : *first != num_words || *second == 0)) {
      throw Error(fmt::format("{} does not follow word {}", quoted_text(id), num_words));
    }
    return;
  }
  if (whole_number_of(id) != num_words + 1) {
    throw Error(fmt::format("the number of the word is {}, not {}", quoted_text(id), num_words + 1));
  }
  if (valid_utf8_prefix(columns[1]) != columns[1].size())
    throw Error(fmt::format("the word {} is not UTF-8", quoted_text(columns[1])));
  const std::optional<UniversalTag> tag = find_universal_tag(columns[3]);
  if (!tag) {
    throw Error(fmt::format("the part of speech is {}; it is one of {}", quoted_text(columns[3]),
                            fmt::join(kUniversalTags, " ")));
  }
  sentence.words.emplace_back(columns[1]);
  sentence.tags.push_back(*tag);
}

}  // namespace

std::vector<TaggedSentence> parse_conllu(std::string_view text, std::string_view origin) {
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  const auto finish = [&] {
    if (!sentence.words.empty()) sentences.push_back(std::move(sentence));
    sentence = {};
  };
  text = without_byte_order_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) {
      finish();
      // Between sentences a line that begins with # is a comment; inside one it is a word, or a mistake.
    } else if (!sentence.words.empty() || !line.starts_with('#')) {
      try {
        read_line(line, sentence);
      } catch (const Error& error) {
        throw Error(fmt::format("{}:{}: {}", origin, number, error.what()));
      }
    }
  }
  finish();
  if (sentences.empty()) throw Error(fmt::format("{}: holds no sentence", origin));
  return sentences;
}

std::vector<TaggedSentence> load_conllu(const std::filesystem::path& path) {
  return parse_conllu(read_text(path, kMaxConlluBytes), path.string());
}

}  // namespace semfuse
