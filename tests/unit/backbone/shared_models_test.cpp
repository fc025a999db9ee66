// Real models of others, if they lie beside the checkout: what they are, and the ids of their prompts.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backbone/foreign_model.h"
#include "backbone/imported_model.h"
#include "backbone/model_import.h"
#include "io/file.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

struct RealModel {
  const char* folder;
  const char* file;  // In the folder.
  const char* kind;
  std::size_t num_parameters;
  bool has_tokenizer;
};

class SharedModels : public testing::TestWithParam<RealModel> {};

TEST_P(SharedModels, AreReadWhole) {
  const fs::path folder = fs::path(SEMFUSE_SOURCE_DIR) / "../shared/data/models" / GetParam().folder;
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  const TemporaryFolder out;
  const ForeignModel model = open_foreign_model(folder / GetParam().file);
  EXPECT_EQ(model.kind, GetParam().kind);
  EXPECT_EQ(import_model(model, out.path()).num_parameters, GetParam().num_parameters);
  const ImportedModel imported(out.path());
  ASSERT_EQ(imported.tokenizer() != nullptr, GetParam().has_tokenizer);
  if (!GetParam().has_tokenizer) return;
  const auto golden = nlohmann::json::parse(read_text(folder / "golden.json"));
  EXPECT_TRUE(imported.spec().adds_bos);
  for (const auto& one : golden["cases"]) {
    std::vector<TokenId> ids = {*imported.spec().bos};
    const std::string prompt = one["prompt"];
    for (const Token& token : imported.tokenizer()->encode(prompt)) ids.push_back(token.id);
    EXPECT_EQ(ids, one["prompt_ids"].get<std::vector<TokenId>>()) << prompt;
    EXPECT_EQ(imported.tokenizer()->decode(ids), prompt);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedModels,
    testing::Values(RealModel{"stories260K", "stories260K.bin", "llama2.c version 0", 260032, true},
                    RealModel{"stories260K", "stories260K.v1.bin", "llama2.c version 1", 260032, true},
                    RealModel{"stories260K", "hf", "Hugging Face folder", 260032, false},
                    RealModel{"stories3M-q80", "stories3M-q80.bin", "llama2.c version 2", 3148224, true},
                    RealModel{"babyllama-tok105", "model5000.bin", "llama2.c version 0", 936448, true},
                    RealModel{"gpt-nano-sort", "hf", "Hugging Face folder", 85728, false},
                    RealModel{"tiny-sql-gpt", "hf", "Hugging Face folder", 841216, false}));

}  // namespace
}  // namespace semfuse
