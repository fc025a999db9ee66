#include "run/exported_model.h"

#include <fmt/format.h>

#include "config/keys.h"
#include "config/value_json.h"
#include "features/feature_bank_access.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "model/network.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

std::string config_json(const Checkpoint& checkpoint) {
  const LanguageModel& model = checkpoint.model;
  Json config = {{"format", "semfuse-export-1"}};
  Experiment described;
  described.model = model.options();
  for (const Key& key : experiment_keys()) {
    if (key.section == "model") config[key.name] = to_json(key.get(described));
  }
  config["vocab_size"] = model.vocabulary().size();
  config["features"] = model.options().fusion ? model.feature_bank().names() : std::vector<std::string>();
  config["request_columns"] = request_columns(model.options().knobs);
  // Tokens' vectors are the last columns of their rows; the network fuses them as it does features.
  const std::size_t vector_columns = FeatureBankAccess::num_vector_columns(model.feature_bank());
  if (vector_columns > 0) config["vector_columns"] = vector_columns;
  if (model.options().output_features || vector_columns > 0) {
    const FeatureMatrix rows = FeatureBankAccess::token_rows(model.feature_bank(), model.vocabulary());
    Json words = Json::array();
    for (std::size_t id = 0; id < rows.num_rows; ++id) {
      words.push_back(std::vector<float>(rows.row(id), rows.row(id) + rows.num_features));
    }
    config["word_features"] = std::move(words);
    if (model.options().share_class_mass) config["logit_offsets"] = ModelAccess::network(model).logit_offsets();
  }
  config["pad"] = Vocabulary::kPad;
  config["bos"] = Vocabulary::kBos;
  config["eos"] = Vocabulary::kEos;
  return config.dump(2) + '\n';
}

std::string vocabulary_lines(const Vocabulary& vocabulary) {
  std::string lines;
  for (const std::string& entry : vocabulary.entries()) {
    if (entry.find_first_of("\n\r") != entry.npos) {
      throw Error(fmt::format("vocab.txt cannot hold {}, which has a line break; take it out of the vocabulary",
                              quoted_text(entry)));
    }
    lines += entry + '\n';
  }
  return lines;
}

}  // namespace

void export_model(const fs::path& folder, const Checkpoint& checkpoint) {
  const std::string config = config_json(checkpoint);
  const Tokenizer* tokenizer = checkpoint.model.tokenizer();
  const char* words_file = tokenizer != nullptr ? "tokenizer.json" : "vocab.txt";
  const std::string words =
      tokenizer != nullptr ? tokenizer->to_json() : vocabulary_lines(checkpoint.model.vocabulary());
  std::error_code code;
  for (const char* name : {"model.safetensors", "config.json", words_file}) {
    if (fs::exists(folder / name, code)) {
      throw Error(fmt::format("{}: is already there; choose another folder", (folder / name).string()));
    }
  }
  fs::create_directories(folder, code);
  std::error_code ignored;
  if (code && !fs::is_directory(folder, ignored)) {
    throw Error(fmt::format("{}: cannot create the folder: {}; choose another", folder.string(), code.message()));
  }
  save_checkpoint(folder / "model.safetensors", checkpoint.model, checkpoint.config);
  write_atomically(folder / "config.json", config);
  write_atomically(folder / words_file, words);
}

}  // namespace semfuse
