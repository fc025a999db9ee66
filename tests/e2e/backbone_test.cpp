// Real models that others trained, imported and run: what they say is what an independent program says they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;

struct RealModel {
  const char* name;
  const char* file;       // Below the model's folder.
  const char* tokenizer;  // The same, or empty.
};

void PrintTo(const RealModel& model, std::ostream* out) {
  *out << model.name << " " << model.file;
}

class RealModelTest : public testing::TestWithParam<RealModel> {
 protected:
  void SetUp() override {
    const std::filesystem::path folder =
        std::filesystem::path(SEMFUSE_SOURCE_DIR) / "../shared/data/models" / GetParam().name;
    if (!std::filesystem::exists(folder / GetParam().file)) GTEST_SKIP() << "there is no " << folder / GetParam().file;
    Arguments arguments = {"import", (folder / GetParam().file).string(), "--out", folder_ / "model", "--quiet"};
    if (*GetParam().tokenizer != '\0') {
      arguments.insert(arguments.end(), {"--tokenizer", (folder / GetParam().tokenizer).string()});
    }
    const ProcessResult imported = semfuse_program(arguments);
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    std::ifstream golden(folder / "golden.json");
    cases_ = json::parse(golden)["cases"];
    ASSERT_FALSE(cases_.empty());
  }

  std::string model() const { return folder_ / "model"; }
  static std::string joined(const json& ids) {
    std::string text;
    for (const json& id : ids) text += (text.empty() ? "" : ",") + std::to_string(id.get<int>());
    return text;
  }
  json score(const Arguments& what) const {
    Arguments arguments = {"score", model(), "--json"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }

  TemporaryFolder folder_;
  json cases_;
};

TEST_P(RealModelTest, ScoresAsTheReferenceDoes) {
  for (const json& golden : cases_) {
    const json result = score({"--ids", joined(golden["prompt_ids"])});
    EXPECT_EQ(result["ids"], golden["prompt_ids"]);
    ASSERT_EQ(result["nll"].size(), golden["prompt_nll"].size());
    for (std::size_t i = 0; i < result["nll"].size(); ++i) {
      EXPECT_NEAR(result["nll"][i].get<double>(), golden["prompt_nll"][i].get<double>(), 1e-4);
    }
    const json& logits = golden["last_logits_first16"];
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(result["last_logits"][i].get<double>(), logits[i].get<double>(), 1e-4);
    }
  }
}

TEST_P(RealModelTest, WritesGreedilyWhatTheReferenceWrites) {
  for (std::size_t c = 0; c < std::min<std::size_t>(2, cases_.size()); ++c) {
    const json& golden = cases_[c];
    // Each greedy token is the most probable one after those before it.
    json ids = golden["prompt_ids"];
    const json& greedy = golden["greedy_ids"];
    for (const std::size_t step : {std::size_t{0}, greedy.size() / 2, greedy.size() - 1}) {
      json text = ids;
      for (std::size_t i = 0; i < step; ++i) text.push_back(greedy[i]);
      if (text.size() > golden["context"].get<std::size_t>()) continue;
      const std::vector<double> logits = score({"--ids", joined(text)})["last_logits"];
      EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), greedy[step].get<std::ptrdiff_t>());
    }
    if (*GetParam().tokenizer == '\0' || !golden.contains("prompt")) continue;
    const auto prompt = golden["prompt"].get<std::string>();
    EXPECT_EQ(score({"--text", prompt})["ids"], golden["prompt_ids"]) << prompt;
    const std::size_t most = golden["prompt_ids"].size() - 1 + greedy.size();
    const ProcessResult result = semfuse_program({"generate", model(), "--prompt", prompt, "--temperature", "0",
                                                  "--max-tokens", std::to_string(most), "--json", "--threads", "2"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto written = json::parse(result.out.substr(0, result.out.find('\n')))["text"].get<std::string>();
    for (const json& id : greedy) ids.push_back(id);
    if (written.ends_with(' ')) ids.erase(ids.size() - 1);  // SentencePiece may leave out a blank at the end.
    EXPECT_EQ(score({"--text", written})["ids"], ids) << written;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RealModelTest,
                         testing::Values(RealModel{"stories260K", "stories260K.bin", "tok512.bin"},
                                         RealModel{"stories260K", "stories260K.v1.bin", "tok512.model"},
                                         RealModel{"stories260K", "hf", ""},
                                         RealModel{"stories3M-q80", "stories3M-q80.bin", "tok4096.bin"},
                                         RealModel{"babyllama-tok105", "model5000.bin", "tok105.model"},
                                         RealModel{"gpt-nano-sort", "hf", ""}, RealModel{"tiny-sql-gpt", "hf", ""}));

}  // namespace
}  // namespace semfuse
