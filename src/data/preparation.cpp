#include "data/preparation.h"

#include <fmt/format.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>

#include "core/nearest_word.h"
#include "core/thread_pool.h"
#include "data/block_stages.h"
#include "data/builtin_corpora.h"
#include "data/held_out_words.h"
#include "data/new_folder.h"
#include "data/text_encoder.h"
#include "data/text_hash.h"
#include "features/feature_bank_access.h"
#include "features/natural_bank.h"
#include "io/file.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

// Raised whenever the same files and options come to give other bytes: phrases of lexicons are now read.
constexpr std::string_view kPreparationVersion = "semfuse-prepared-3";
constexpr std::uint64_t kTokenizerBytes = std::uint64_t{48} << 20;  // Of text are enough to make a tokenizer of.
constexpr std::size_t kMostBlocks = 16;                             // At a time: each takes several MB.
constexpr double kTokenizerShare = 0.2;                             // Of all the work.

constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kReportFile = "report.json";
constexpr const char* kTrainFolder = "train";
constexpr const char* kValFolder = "val";
constexpr const char* kHeldOutFolder = "held_out";  // Only if words are held out.

struct ReportField {
  const char* name;
  std::uint64_t PreparationReport::*value;
};
constexpr ReportField kReportFields[] = {{"train_texts", &PreparationReport::train_texts},
                                         {"val_texts", &PreparationReport::val_texts},
                                         {"val_left_out", &PreparationReport::val_left_out},
                                         {"long_texts", &PreparationReport::long_texts},
                                         {"empty", &PreparationReport::empty},
                                         {"bad", &PreparationReport::bad}};

// Only of data that have such texts.
constexpr ReportField kRareFields[] = {{"held_out_texts", &PreparationReport::held_out_texts},
                                       {"judge_texts", &PreparationReport::judge_texts}};

std::string to_json(const PreparationReport& report) {
  Json object = {{"format", kPreparationVersion}, {"text_column", report.text_column}};
  for (const ReportField& field : kReportFields) object[field.name] = report.*field.value;
  for (const ReportField& field : kRareFields) {
    if (report.*field.value > 0) object[field.name] = report.*field.value;
  }
  return object.dump() + '\n';
}

PreparationReport parse_report(const std::string& text, const std::string& origin) {
  try {
    const nlohmann::json object = parse_json(text, origin);
    PreparationReport report{.text_column = object.at("text_column").get<std::string>()};
    for (const ReportField& field : kReportFields) report.*field.value = object.at(field.name).get<std::uint64_t>();
    for (const ReportField& field : kRareFields) {
      if (object.contains(field.name)) report.*field.value = object[field.name].get<std::uint64_t>();
    }
    return report;
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: is damaged; remove its folder, it is made again", origin));
  }
}

// "name size time" of a file: another file of the name has another one.
std::string identity_of(const fs::path& path) {
  if (const EmbeddedText* corpus = find_builtin_corpus(path)) {
    return fmt::format("{}\n{:016x}", corpus->name, text_hash(corpus->text));
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw Error(fmt::format("{}: there is no such file; name one that is there{}", path.string(),
                            did_you_mean(path.filename().string(), builtin_corpus_names())));
  }
  return fmt::format("{}\n{} {}.{:09}", fs::absolute(path).lexically_normal().string(), status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

class Preparation {
 public:
  explicit Preparation(const PreparationOptions& options)
      : options_(options), held_out_(options.held_out), pool_(thread_count(options.threads)) {}

  void run(const fs::path& folder) {
    const Tokenizer tokenizer = options_.given ? *options_.given : with_held_out_words(make_tokenizer());
    write_atomically(folder / kTokenizerFile, tokenizer.to_json());
    for (const char* name : {kTrainFolder, kValFolder}) fs::create_directory(folder / name);
    const std::size_t num_features = options_.bank != nullptr && options_.feature_rows ? options_.bank->size() : 0;
    const std::vector<SoftColumns> columns = soft_columns(options_.knobs);
    const std::size_t num_soft =
        options_.soft_labels && !columns.empty() ? columns.back().first + columns.back().count : 0;
    FileLayer& files = FileLayer::system();
    ColumnWriter train(folder / kTrainFolder, num_features, options_.knobs, tokenizer.size(), files, num_soft);
    ColumnWriter val(folder / kValFolder, num_features, options_.knobs, tokenizer.size(), files, num_soft);
    std::optional<ColumnWriter> held_out;
    if (!held_out_.empty()) {
      fs::create_directory(folder / kHeldOutFolder);
      held_out.emplace(folder / kHeldOutFolder, num_features, options_.knobs, tokenizer.size(), files, num_soft);
    }
    TextEncoderOptions encoding = {.vocabulary = options_.given_vocabulary,
                                   .max_length = options_.max_length,
                                   .cut = options_.cut,
                                   .skip_bad = options_.skip_bad,
                                   .val_share = options_.val.empty() ? options_.val_share : 0.0,
                                   .judge_share = options_.judge_share,
                                   .knobs = options_.knobs,
                                   .soft_labels = num_soft > 0 ? options_.soft_labels() : SoftLabels(),
                                   .bank = options_.bank,
                                   .feature_rows = options_.feature_rows,
                                   .held_out = &held_out_};
    const Writers writers = {train, val, held_out ? &*held_out : nullptr};
    if (!options_.train.empty()) encode(TextEncoder(tokenizer, encoding), options_.train, writers);
    if (!options_.val.empty()) {
      encoding.val_share = 1.0;
      encode(TextEncoder(tokenizer, encoding), options_.val, writers);
    }
    require_texts();
    train.finish();
    val.finish();
    if (held_out) held_out->finish();
    write_atomically(folder / kReportFile, to_json(report_));
  }

 private:
  RecordReader reader(const std::vector<fs::path>& files, const std::vector<std::string>& columns) const {
    return {files,
            {.text_column = options_.text_column,
             .columns = columns,
             .skip_bad = options_.skip_bad,
             .table = options_.table}};
  }

  void tell(double done) const {
    if (options_.on_progress && !options_.on_progress(done)) throw Error("preparing the data was stopped");
  }

  Tokenizer make_tokenizer() {
    if (options_.tokenizer == TokenizerKind::bytes) return Tokenizer::bytes();
    // Always so many, so that the result does not depend on the threads.
    std::array trainers = {TokenizerTrainer(TokenizerTrainer::kMostWords, options_.leading_blank),
                           TokenizerTrainer(TokenizerTrainer::kMostWords, options_.leading_blank)};
    RecordReader records = reader(options_.train, {});
    const std::uint64_t every = records.bytes_total() / kTokenizerBytes + 1;
    const auto count = [&](const RecordBlock& block, std::size_t index) {
      if (index % every != 0) return;
      TokenizerTrainer& trainer = trainers[index / every % trainers.size()];
      for (const Record& record : block.records) {
        const bool is_val = options_.val.empty() && is_validation_text(record.text, options_.val_share);
        const bool is_judged = is_judge_text(record.text, options_.judge_share);
        if (!is_val && !is_judged && !held_out_.are_in(record.text)) trainer.add(record.text);
      }
    };
    const auto show = [&] {
      const auto total = static_cast<double>(std::max<std::uint64_t>(records.bytes_total(), 1));
      tell(kTokenizerShare * std::min(1.0, static_cast<double>(records.bytes_read()) / total));
    };
    run_stages(records, pool_, {.group = trainers.size(), .work = count, .finish = {}, .between = show});
    trainers[0].add(trainers[1]);
    return trainers[0].make(options_.tokenizer, options_.vocabulary);
  }

  // So that they are tokens, whether the training texts have them or not.
  Tokenizer with_held_out_words(Tokenizer tokenizer) const {
    if (tokenizer.kind() != TokenizerKind::words) return tokenizer;
    std::set<std::string> known(tokenizer.surfaces().begin(), tokenizer.surfaces().end());
    std::vector<std::string> more;
    for (const std::string& word : options_.held_out) {
      for (const std::string& surface : surfaces_of(word)) {
        if (surface.size() > 1 && known.insert(surface).second) more.push_back(surface);
      }
    }
    return tokenizer.with_words(more);
  }

  struct Writers {
    ColumnWriter& train;
    ColumnWriter& val;
    ColumnWriter* held_out;  // Null: no words are.
  };

  // Blocks are cut by sizes, encoded by threads, and written in their order.
  void encode(const TextEncoder& encoder, const std::vector<fs::path>& files, const Writers& writers) {
    RecordReader records = reader(files, encoder.columns());
    const std::size_t group = std::min(2 * pool_.num_threads(), kMostBlocks);
    std::vector<EncodedBlock> encoded(2 * group);
    const auto write = [&](std::size_t index) {
      const EncodedBlock block = std::move(encoded[index % encoded.size()]);
      writers.train.add(block.train);
      if (writers.held_out != nullptr) writers.held_out->add(block.held_out);
      report_.held_out_texts += block.held_out_texts;
      report_.judge_texts += block.judge_texts;
      report_.train_texts += block.train_texts;
      report_.long_texts += block.long_texts;
      report_.bad += block.bad;
      if (report_.val_texts < kMostValTexts) {
        writers.val.add(block.val);
        report_.val_texts += block.val_texts;
      } else {
        report_.val_left_out += block.val_texts;
      }
    };
    run_stages(
        records, pool_,
        {.group = group,
         .work = [&](const RecordBlock& block,
                     std::size_t index) { encoded[index % encoded.size()] = encoder.encode(block, records); },
         .finish = write,
         .between =
             [&] {
               const auto total = static_cast<double>(std::max<std::uint64_t>(records.bytes_total(), 1));
               tell(kTokenizerShare + (1.0 - kTokenizerShare) * static_cast<double>(records.bytes_read()) / total);
             }});
    report_.empty += records.counts().empty;
    report_.bad += records.counts().bad;
    if (report_.text_column.empty()) report_.text_column = records.text_column().name;
  }

  void require_texts() const {
    const std::string where = options_.train.empty() ? "" : options_.train.front().string();
    if (report_.train_texts == 0 && !options_.train.empty()) {
      throw Error(fmt::format("{}: holds no text to train on; name a file that does", where));
    }
    if (!options_.held_out.empty() && !options_.train.empty() && report_.held_out_texts == 0) {
      throw Error(fmt::format("{}: no text has one of the {} held-out words; hold out words that it has", where,
                              options_.held_out.size()));
    }
    if (report_.val_texts > 0) return;
    if (!options_.val.empty()) {
      throw Error(
          fmt::format("{}: holds no text to measure with; name a file that does", options_.val.front().string()));
    }
    throw Error(fmt::format(
        "{}: of its {} texts none is left to measure with; name a file with --val, or raise data.val_share ({})", where,
        report_.train_texts, options_.val_share));
  }

  const PreparationOptions& options_;
  HeldOutWords held_out_;
  ThreadPool pool_;
  PreparationReport report_;
};

PreparedData open(const fs::path& folder, const PreparationOptions& options) {
  const fs::path report = folder / kReportFile;
  return {.tokenizer = Tokenizer::load(folder / kTokenizerFile),
          .train = std::make_shared<ColumnDataset>(folder / kTrainFolder, options.knobs),
          .val = std::make_shared<ColumnDataset>(folder / kValFolder, options.knobs),
          .held_out = options.held_out.empty()
                          ? nullptr
                          : std::make_shared<ColumnDataset>(folder / kHeldOutFolder, options.knobs),
          .report = parse_report(read_text(report), report.string()),
          .fingerprint = {}};
}

// What is there, unless it is damaged: then it is removed, and nothing.
std::optional<PreparedData> open_whole(const fs::path& folder, const PreparationOptions& options) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) return std::nullopt;
  try {
    return open(folder, options);
  } catch (const Error& error) {
    fs::remove_all(folder, code);
    if (!code) return std::nullopt;
    throw Error(fmt::format("{}; remove the folder {}, it is made again", error.what(), folder.string()));
  }
}

}  // namespace

fs::path default_cache() {
  const auto variable = [](const char* name) { return std::getenv(name) == nullptr ? "" : std::getenv(name); };
  if (fs::path own = variable("SEMFUSE_CACHE"); !own.empty()) return own;
  if (const fs::path cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "semfuse";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "semfuse";
  throw Error(
      "there is no place for prepared data: neither SEMFUSE_CACHE nor HOME is set; set SEMFUSE_CACHE to a folder");
}

namespace {

std::string identity_of(const Lexicon& lexicon) {
  std::string all;
  for (const LexiconEntry& entry : lexicon.entries()) {
    all += fmt::format("\n{} {} {} {}", entry.word, entry.word_class, entry.polarity, entry.strength);
    for (const auto& [name, value] : entry.more) all += fmt::format(" {} {}", name, value);
  }
  return all;
}

// Names may hold anything, so each says its length.
std::string identity_of(const TableOptions& table) {
  std::string all = fmt::format("\n{} {} {}", table.format ? to_string(*table.format) : "by name", table.max_row_bytes,
                                table.heading.size());
  for (const std::string& name : table.heading) all += fmt::format("\n{} {}", name.size(), name);
  return all;
}

// All that rows depend on.
std::string identity_of(const FeatureBank& bank) {
  const FeatureOptions& options = bank.options();
  std::string all =
      fmt::format("\nfeatures {} {} {} {} {} {}", to_string(options.bank), to_string(options.kernel),
                  options.kernel_base, fmt::join(options.centers, " "), options.bandwidth, options.exclamation_nudge) +
      identity_of(bank.lexicon());
  const NaturalBank* natural = FeatureBankAccess::natural(bank);
  if (natural == nullptr) return all;
  const Tagger* tagger = natural->annotator().tagger();
  return all +
         fmt::format("\n{}\n{:016x}", natural->declaration().text, tagger != nullptr ? text_hash(tagger->bytes()) : 0);
}

}  // namespace

std::string fingerprint_of(const PreparationOptions& options) {
  std::string all(kPreparationVersion);
  for (const auto* files : {&options.train, &options.val}) {
    all += fmt::format("\n{} files", files->size());
    for (const fs::path& file : *files) all += fmt::format("\n{}", identity_of(file));
  }
  all += fmt::format("\n{}\n{} {} {} {}\n", options.text_column, options.val_share, options.max_length, options.cut,
                     options.skip_bad);
  all += identity_of(options.table);
  all += options.given ? options.given->to_json()
                       : fmt::format("{} {}{}", to_string(options.tokenizer), options.vocabulary,
                                     options.leading_blank ? " leading blank" : "");
  for (const Knob& knob : options.knobs) all += fmt::format("\n{}", to_string(knob));
  if (options.bank != nullptr) all += fmt::format("\n{}", options.feature_rows) + identity_of(*options.bank);
  if (!options.held_out.empty()) all += "\nheld out";
  for (const std::string& word : options.held_out) all += fmt::format("\n{} {}", word.size(), word);
  if (options.judge_share > 0.0) all += fmt::format("\njudges {}", options.judge_share);
  if (options.soft_labels) all += "\nsoft labels 1";  // Raised when judges come to say something else.
  return fmt::format("{:016x}{:016x}", text_hash(all), text_hash("again " + all));
}

PreparedData prepare(const PreparationOptions& options, const fs::path& cache) {
  if (options.train.empty() && (options.val.empty() || !options.given)) {
    throw Error("no file to train on is named; name one with --data, or as data.train");
  }
  const std::string fingerprint = fingerprint_of(options);
  const fs::path folder = cache / fingerprint;
  std::optional<PreparedData> data = open_whole(folder, options);
  const bool was_there = data.has_value();
  if (!was_there) {
    NewFolder::remove_abandoned(cache);
    NewFolder made(folder);
    try {
      Preparation(options).run(made.path());
    } catch (const fs::filesystem_error& error) {
      throw Error(fmt::format("{}: {}; free some space, or set SEMFUSE_CACHE to a folder on another disk",
                              error.path1().string(), error.code().message()));
    }
    if (fingerprint_of(options) != fingerprint) {
      throw Error(fmt::format("{}: changed while it was read; try again when nothing writes to it",
                              (options.train.empty() ? options.val : options.train).front().string()));
    }
    made.give_name();
#ifdef __GLIBC__
    ::malloc_trim(0);  // What threads took for their blocks is not needed again: training finds it as new memory.
#endif
    data = open(folder, options);
  }
  data->fingerprint = fingerprint;
  data->was_there = was_there;
  return std::move(*data);
}

}  // namespace semfuse
