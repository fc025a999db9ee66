// Which column of a table holds the text.
#pragma once

#include <filesystem>
#include <string>

#include "data/table_reader.h"

namespace semfuse {

struct TextColumn {
  std::string name;
  std::string reason;  // Why this one, for the person: "of its name", "the only column"; empty if it was given.
};

// Of a file: the first of text, sentence, review, content, body, message, comment, tweet, caption, utterance, request,
// document, description, reference, ref, title and a few such words of other languages that it has (in any case of
// letters), else the one that is longest on average over the first 1,000 good rows, numbers left out. Throws Error if
// no column has text, or if the first line, which should name the columns, is clearly a row: what would name the text
// is a sentence, and what would name another column is one too, or is met again in that column. Misses are taken
// rather than refusing a good file: forms have whole questions for names.
TextColumn find_text_column(const std::filesystem::path& path, const TableOptions& options = {});

}  // namespace semfuse
