#include <fmt/format.h>

#include <system_error>

#include "data/data_description.h"
#include "data/knob_proposals.h"
#include "io/json_writer.h"
#include "semfuse/knobs.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

// A TOML string. What JSON escapes, TOML reads.
std::string quoted(const std::string& text) {
  return Json(text).dump();
}

// What is beyond `most` becomes comments.
std::string list_of(const std::vector<std::string>& items, std::size_t most = kNoLimit) {
  std::string text = "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += fmt::format("\n  {}{},", i < most ? "" : "# ", quoted(items[i]));
  }
  return text + (items.empty() ? "]" : "\n]");
}

// How files are read, where their names and first lines do not say it.
std::string reading(const TableOptions& table) {
  std::string text;
  if (table.format) text += fmt::format("format = {}\n", quoted(std::string(to_string(*table.format))));
  if (!table.heading.empty()) {
    text += fmt::format("# The names of the columns: the files do not begin with a line of them.\nheading = {}\n",
                        list_of(table.heading));
  }
  return text;
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
  for (const KnobProposal& proposal : description.knobs) {
    knobs.push_back(proposal.knob);
    if (!proposal.column.empty()) labels.push_back(proposal.column);
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
      "{}"
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
      "# What the model can be asked for, {} knobs at most. Remove what you do not need.\n"
      "knobs = {}\n",
      description.texts, description.lengths.mean(), list_of(files), reading(description.table),
      quoted(description.text_column.name), list_of(labels), vocabulary_size(description.text_bytes), kMaxKnobs,
      list_of(knobs, kMaxKnobs));
}

}  // namespace semfuse
