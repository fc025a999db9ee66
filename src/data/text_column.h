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

// Of a file: its only column, or the first of text, sentence, review, content, body, message, comment, caption,
// utterance, document, description, title that it has (in any case of letters), else the one that is longest on
// average over the first 1,000 good rows, numbers left out. Throws Error if no column has text.
TextColumn find_text_column(const std::filesystem::path& path, const TableOptions& options = {});

}  // namespace semfuse
