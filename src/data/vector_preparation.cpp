#include "data/vector_preparation.h"

#include <fmt/format.h>

#include "core/lower_case.h"
#include "data/held_out_words.h"
#include "data/new_folder.h"
#include "data/record_reader.h"
#include "data/text_hash.h"
#include "features/vector_training.h"
#include "io/append_file.h"
#include "io/file.h"
#include "semfuse/error.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTrainingBytes = std::uint64_t{16} << 20;  // Are enough, and take minutes.
constexpr std::size_t kMaxVectorBytes = std::size_t{256} << 20;
constexpr std::string_view kVectorVersion = "semfuse-vectors-1";
constexpr const char* kVectorFile = "words.vectors";
constexpr const char* kTextFile = "words.txt";

// The words of the text a line, as fastText reads them.
void append_words(std::string_view text, std::string& line, std::uint64_t& num_words) {
  constexpr std::string_view kSpaces(" \n\r\t\v\f\0", 7);
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    const std::size_t space = length > 1 && text.front() == ' ' ? 1 : 0;
    const std::string word = lower_case(text.substr(space, length - space));
    text.remove_prefix(length);
    if (word.find_first_of(kSpaces) != word.npos) continue;
    if (!line.empty()) line += ' ';
    line += word;
    ++num_words;
  }
  line += '\n';
}

std::uint64_t write_words(const PreparationOptions& source, const fs::path& file) {
  RecordReader records(
      source.train,
      {.text_column = source.text_column, .columns = {}, .skip_bad = source.skip_bad, .table = source.table});
  const HeldOutWords held_out(source.held_out);
  const std::uint64_t every = records.bytes_total() / kTrainingBytes + 1;
  AppendFile words(file);
  Record record;
  std::string line;
  std::uint64_t num_words = 0;
  for (std::uint64_t number = 0; records.next(record); ++number) {
    if (number % every != 0 || held_out.are_in(record.text)) continue;
    if (source.val.empty() && is_validation_text(record.text, source.val_share)) continue;
    if (is_judge_text(record.text, source.judge_share)) continue;
    line.clear();
    append_words(record.text, line, num_words);
    words.append_all(std::span<const char>(line));
  }
  words.finish();
  return num_words;
}

// Vectors depend neither on tokens nor on knobs and features.
std::string vector_fingerprint(PreparationOptions source, std::size_t width) {
  source.given.reset();
  source.knobs.clear();
  source.bank = nullptr;
  source.soft_labels = nullptr;
  source.tokenizer = TokenizerKind::words;
  source.vocabulary = 0;
  source.max_length = 0;
  const std::string all = fmt::format("{} {} {}", kVectorVersion, width, fingerprint_of(source));
  return fmt::format("vectors-{:016x}{:016x}", text_hash(all), text_hash("again " + all));
}

}  // namespace

std::shared_ptr<const WordVectors> prepare_vectors(const PreparationOptions& source, std::size_t width,
                                                   const fs::path& cache) {
  const std::string fingerprint = vector_fingerprint(source, width);
  const fs::path folder = cache / fingerprint;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    NewFolder::remove_abandoned(cache);
    NewFolder made(folder);
    const fs::path texts = made.path() / kTextFile;
    const std::uint64_t num_words = write_words(source, texts);
    const WordVectors vectors =
        train_word_vectors(texts, {.width = width, .num_words = num_words, .on_progress = source.on_progress});
    if (vector_fingerprint(source, width) != fingerprint) {
      throw Error(fmt::format("{}: changed while it was read; try again when nothing writes to it",
                              source.train.front().string()));
    }
    fs::remove(texts, ignored);
    write_atomically(made.path() / kVectorFile, vectors.bytes());
    made.give_name();
  }
  const fs::path file = folder / kVectorFile;
  return std::make_shared<const WordVectors>(WordVectors::parse(read_text(file, kMaxVectorBytes), file.string()));
}

}  // namespace semfuse
