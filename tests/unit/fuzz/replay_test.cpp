// Runs the fuzz targets over their seed corpus and random mutations of it, so that every build exercises them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "fuzz/adapter_file_entry.h"
#include "fuzz/bank_entry.h"
#include "fuzz/checkpoint_entry.h"
#include "fuzz/checkpoint_settings_entry.h"
#include "fuzz/columns_entry.h"
#include "fuzz/completion_request_entry.h"
#include "fuzz/conllu_entry.h"
#include "fuzz/delimited_table_entry.h"
#include "fuzz/experiment_entry.h"
#include "fuzz/gguf_entry.h"
#include "fuzz/grammar_entry.h"
#include "fuzz/held_out_words_entry.h"
#include "fuzz/hf_config_entry.h"
#include "fuzz/hf_tokenizer_entry.h"
#include "fuzz/imported_model_entry.h"
#include "fuzz/json_table_entry.h"
#include "fuzz/judge_entry.h"
#include "fuzz/lexicon_entry.h"
#include "fuzz/llama2c_entry.h"
#include "fuzz/packed_bytes_entry.h"
#include "fuzz/parity_case_entry.h"
#include "fuzz/regex_entry.h"
#include "fuzz/run_log_entry.h"
#include "fuzz/run_metrics_entry.h"
#include "fuzz/schema_entry.h"
#include "fuzz/spm_model_entry.h"
#include "fuzz/steering_entry.h"
#include "fuzz/study_records_entry.h"
#include "fuzz/tagger_entry.h"
#include "fuzz/tensor_archive_entry.h"
#include "fuzz/tokenizer_entry.h"
#include "fuzz/tokenizer_text_entry.h"
#include "fuzz/training_checkpoint_entry.h"
#include "fuzz/word_vectors_entry.h"
#include "io/file.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> read_corpus(const char* name) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(SEMFUSE_SOURCE_DIR) / "tests/fuzz/corpus" / name)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const fs::path& path : paths) {
    const std::string text = read_text(path);
    corpus.emplace_back(text.begin(), text.end());
  }
  return corpus;
}

// A copy with one to four small changes: a byte set, inserted or removed, a run doubled, the end cut off.
Bytes mutated(const std::vector<Bytes>& corpus, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  Bytes bytes = corpus[below(corpus.size())];
  const std::size_t num_changes = 1 + below(4);
  for (std::size_t i = 0; i < num_changes; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(below(bytes.size()));
    const auto value = static_cast<std::uint8_t>(random());
    switch (bytes.empty() ? 1 : below(5)) {
      case 0:
        bytes[static_cast<std::size_t>(at)] = value;
        break;
      case 1:
        bytes.insert(bytes.begin() + at, value);
        break;
      case 2:
        bytes.erase(bytes.begin() + at);
        break;
      case 3: {
        const Bytes run(bytes.begin() + at, bytes.begin() + std::min<std::ptrdiff_t>(at + 16, std::ssize(bytes)));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())), run.begin(), run.end());
        break;
      }
      default:
        bytes.resize(static_cast<std::size_t>(at));
    }
  }
  return bytes;
}

template <typename Entry>
void replay(const char* name, Entry entry) {
  const std::vector<Bytes> corpus = read_corpus(name);
  ASSERT_FALSE(corpus.empty());
  std::size_t num_accepted = 0;
  for (const Bytes& bytes : corpus) num_accepted += entry(bytes) ? 1 : 0;
  EXPECT_GT(num_accepted, 0U);
  EXPECT_LT(num_accepted, corpus.size());
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) entry(mutated(corpus, random));
}

TEST(FuzzReplay, TensorArchive) {
  replay("tensor_archive", [](const Bytes& bytes) { return fuzz_tensor_archive(bytes); });
}

TEST(FuzzReplay, Experiment) {
  replay("experiment", [](const Bytes& bytes) { return fuzz_experiment(bytes); });
}

TEST(FuzzReplay, Grammar) {
  replay("grammar", [](const Bytes& bytes) { return fuzz_grammar(bytes); });
}

TEST(FuzzReplay, Schema) {
  replay("schema", [](const Bytes& bytes) { return fuzz_schema(bytes); });
}

TEST(FuzzReplay, Regex) {
  replay("regex", [](const Bytes& bytes) { return fuzz_regex(bytes); });
}

TEST(FuzzReplay, DelimitedTable) {
  replay("delimited_table", [](const Bytes& bytes) { return fuzz_delimited_table(bytes); });
}

TEST(FuzzReplay, JsonTable) {
  replay("json_table", [](const Bytes& bytes) { return fuzz_json_table(bytes); });
}

TEST(FuzzReplay, PackedBytes) {
  replay("packed_bytes", [](const Bytes& bytes) { return fuzz_packed_bytes(bytes); });
}

TEST(FuzzReplay, AdapterFile) {
  replay("adapter_file", [](const Bytes& bytes) { return fuzz_adapter_file(bytes); });
}

TEST(FuzzReplay, ImportedModel) {
  replay("imported_model", [](const Bytes& bytes) { return fuzz_imported_model(bytes); });
}

TEST(FuzzReplay, Lexicon) {
  replay("lexicon", [](const Bytes& bytes) { return fuzz_lexicon(bytes); });
}

TEST(FuzzReplay, Conllu) {
  replay("conllu", [](const Bytes& bytes) { return fuzz_conllu(bytes); });
}

TEST(FuzzReplay, Tagger) {
  replay("tagger", [](const Bytes& bytes) { return fuzz_tagger(bytes); });
}

TEST(FuzzReplay, Judge) {
  replay("judge", [](const Bytes& bytes) { return fuzz_judge(bytes); });
}

TEST(FuzzReplay, Steering) {
  replay("steering", [](const Bytes& bytes) { return fuzz_steering(bytes); });
}

TEST(FuzzReplay, WordVectors) {
  replay("word_vectors", [](const Bytes& bytes) { return fuzz_word_vectors(bytes); });
}

TEST(FuzzReplay, HeldOutWords) {
  replay("held_out_words", [](const Bytes& bytes) { return fuzz_held_out_words(bytes); });
}

TEST(FuzzReplay, Bank) {
  replay("bank", [](const Bytes& bytes) { return fuzz_bank(bytes); });
}

TEST(FuzzReplay, Checkpoint) {
  replay("checkpoint", [](const Bytes& bytes) { return fuzz_checkpoint(bytes); });
}

TEST(FuzzReplay, TrainingCheckpoint) {
  replay("training_checkpoint", [](const Bytes& bytes) { return fuzz_training_checkpoint(bytes); });
}

TEST(FuzzReplay, Columns) {
  replay("columns", [](const Bytes& bytes) { return fuzz_columns(bytes); });
}

TEST(FuzzReplay, CompletionRequest) {
  replay("completion_request", [](const Bytes& bytes) { return fuzz_completion_request(bytes); });
}

TEST(FuzzReplay, RunLog) {
  replay("run_log", [](const Bytes& bytes) { return fuzz_run_log(bytes); });
}

TEST(FuzzReplay, CheckpointSettings) {
  replay("checkpoint_settings", [](const Bytes& bytes) { return fuzz_checkpoint_settings(bytes); });
}

TEST(FuzzReplay, RunMetrics) {
  replay("run_metrics", [](const Bytes& bytes) { return fuzz_run_metrics(bytes); });
}

TEST(FuzzReplay, StudyRecords) {
  replay("study_records", [](const Bytes& bytes) { return fuzz_study_records(bytes); });
}

TEST(FuzzReplay, ParityCase) {
  replay("parity_case", [](const Bytes& bytes) { return fuzz_parity_case(bytes); });
}

TEST(FuzzReplay, Tokenizer) {
  replay("tokenizer", [](const Bytes& bytes) { return fuzz_tokenizer(bytes); });
}

TEST(FuzzReplay, TokenizerText) {
  replay("tokenizer_text", [](const Bytes& bytes) { return fuzz_tokenizer_text(bytes); });
}

TEST(FuzzReplay, Gguf) {
  replay("gguf", [](const Bytes& bytes) { return fuzz_gguf(bytes); });
}

TEST(FuzzReplay, Llama2c) {
  replay("llama2c", [](const Bytes& bytes) { return fuzz_llama2c(bytes); });
}

TEST(FuzzReplay, HfConfig) {
  replay("hf_config", [](const Bytes& bytes) { return fuzz_hf_config(bytes); });
}

TEST(FuzzReplay, HfTokenizer) {
  replay("hf_tokenizer", [](const Bytes& bytes) { return fuzz_hf_tokenizer(bytes); });
}

TEST(FuzzReplay, SpmModel) {
  replay("spm_model", [](const Bytes& bytes) { return fuzz_spm_model(bytes); });
}

}  // namespace
}  // namespace semfuse
