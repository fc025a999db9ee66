#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

ProcessResult export_check(const std::string& exported, const std::string& expected) {
  return run_process({"/usr/bin/python3", SEMFUSE_SOURCE_DIR "/tests/long/export_check.py",
                      SEMFUSE_SOURCE_DIR "/docs/file_formats.md", exported, expected});
}

// The documented Python rebuilds the model in PyTorch and gives our logits.
TEST(Export, PyTorchGivesTheSameLogits) {
  if (run_process({"/usr/bin/python3", "-c", "import torch"}).exit_code != 0) GTEST_SKIP() << "there is no PyTorch";
  for (const Arguments& choice : {Arguments{"paper-fusion"},
                                  {"paper-baseline"},
                                  {"semfuse"},
                                  {"paper-baseline", "--set", "model.norm=pre"},
                                  {"semfuse", "--set", "features.learn_kernel=true"},
                                  {"semfuse", "--set", "model.norm=pre", "--set", "model.scaled_embedding=true"},
                                  {"causal-fusion", "--set", "model.distance_bias=true"}}) {
    for (const char* attention : {"model.attention=causal", "model.attention=bidirectional"}) {
      if (choice.back() == "model.distance_bias=true" && std::string_view(attention).ends_with("bidirectional"))
        continue;
      SCOPED_TRACE(testing::PrintToString(choice) + ' ' + attention);
      const TemporaryFolder folder;
      Arguments training = {"train",         "--out", folder / "run",      "--set",
                            attention,       "--set", "corpus.train=640",  "--set",
                            "corpus.val=20", "--set", "training.epochs=2", "--preset"};
      training.insert(training.end(), choice.begin(), choice.end());
      ASSERT_EQ(semfuse_program(training).exit_code, 0);
      ASSERT_EQ(semfuse_program({"export", folder / "run", "--to", folder / "exported"}).exit_code, 0);
      const LanguageModel model = load_checkpoint(folder / "run").model;
      nlohmann::json cases = nlohmann::json::array();
      for (const char* text :
           {"Alice reviews the paper, very good!", "", "Bob", "Bob reviews the paper, very awful?"}) {
        const Sentence sentence = split_words(text);
        std::vector<TokenId> ids = model.vocabulary().encode(sentence);
        ids.pop_back();  // <eos> is not read.
        nlohmann::json one = {{"ids", ids}, {"features", nlohmann::json::array()}, {"logits", nlohmann::json::array()}};
        const std::vector<float> logits = model.logits(sentence);
        const FeatureMatrix features = model.feature_bank().prefix_rows(sentence);
        for (std::size_t t = 0; t < ids.size(); ++t) {
          one["words"].push_back(model.vocabulary().entries()[static_cast<std::size_t>(ids[t])]);
          const auto* row = logits.data() + t * model.vocabulary().size();
          one["logits"].push_back(std::vector<float>(row, row + model.vocabulary().size()));
          if (model.options().fusion)
            one["features"].push_back(std::vector<float>(features.row(t), features.row(t) + features.num_features));
        }
        cases.push_back(std::move(one));
      }
      std::ofstream(folder / "expected.json") << cases.dump();
      const ProcessResult result = export_check(folder / "exported", folder / "expected.json");
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_THAT(result.out, testing::HasSubstr("largest difference"));

      cases[0]["logits"][3][5] = cases[0]["logits"][3][5].get<float>() + 0.01f;
      std::ofstream(folder / "altered.json") << cases.dump();
      EXPECT_EQ(export_check(folder / "exported", folder / "altered.json").exit_code, 1) << "the check can fail";
    }
  }
}

}  // namespace
}  // namespace semfuse
