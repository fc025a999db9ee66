#include <fmt/format.h>

#include <system_error>

#include "data/data_description.h"
#include "data/knob_proposals.h"
#include "io/json_writer.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

// A TOML string. What JSON escapes, TOML reads.
std::string quoted(const std::string& text) {
  return Json(text).dump();
}

std::string list_of(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += fmt::format("\n  {},", quoted(item));
  return text + (items.empty() ? "]" : "\n]");
}

std::string seen_from(const fs::path& folder, const fs::path& file) {
  std::error_code failed;
  const fs::path near = fs::proximate(file, folder.empty() ? fs::path(".") : folder, failed);
  return failed ? file.string() : near.string();
}

// About as many entries as texts of this size make use of.
std::size_t vocabulary_size(std::uint64_t text_bytes) {
  return text_bytes < (std::uint64_t{1} << 20) ? 2000 : text_bytes < (std::uint64_t{64} << 20) ? 8000 : 16000;
}

}  // namespace

std::string draft_configuration(const DataDescription& description, const fs::path& folder) {
  std::vector<std::string> files, knobs, labels;
  for (const DataDescription::File& file : description.files) files.push_back(seen_from(folder, file.path));
  for (const KnobProposal& proposal : description.knobs) knobs.push_back(proposal.knob);
  for (const ColumnSummary& column : description.columns) {
    const std::string source = " of " + column_source(column.name());
    for (const std::string& knob : knobs) {
      if (knob.ends_with(source) || knob.find(source + ' ') != knob.npos) {
        labels.push_back(column.name());
        break;
      }
    }
  }
  return fmt::format(
      "# A draft by `semfuse data describe`: {} texts, {:.1f} words each. Edit it, then\n"
      "#   semfuse train --config THIS_FILE --out model\n"
      "\n"
      "# What is not said here is as in this preset.\n"
      "from = \"text\"\n"
      "\n"
      "[data]\n"
      "kind = \"files\"\n"
      "# txt, tsv, csv or jsonl, also packed (.gz, .zst). Names are as seen from this file.\n"
      "train = {}\n"
      "# Files to measure with. None: a share of the training texts, chosen by a hash of the text.\n"
      "val = []\n"
      "# The column that holds the text.\n"
      "text = {}\n"
      "# Columns that knobs read.\n"
      "labels = {}\n"
      "\n"
      "[text]\n"
      "# words: each word a token. pieces: parts of words, for large or varied texts. bytes: any text at all.\n"
      "tokenizer = \"pieces\"\n"
      "vocabulary = {}\n"
      "\n"
      "[model]\n"
      "# What the model can be asked for. Remove what you do not need.\n"
      "knobs = {}\n",
      description.texts, description.lengths.mean(), list_of(files), quoted(description.text_column.name),
      list_of(labels), vocabulary_size(description.text_bytes), list_of(knobs));
}

}  // namespace semfuse
