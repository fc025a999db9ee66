// evaluate, audit and words on models trained for milliseconds.
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

class OpenWords : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    for (const char* preset : {"semfuse", "paper-fusion", "causal-baseline", "causal-fusion"}) {
      ASSERT_EQ(semfuse_program(tiny_training(path(preset), {"--preset", preset, "--quiet"})).exit_code, 0);
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static nlohmann::json json_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(OpenWords, EvaluatePrintsThePerplexityWithItsFloor) {
  const nlohmann::json json = json_of({"evaluate", path("semfuse"), "--json"});
  const Checkpoint checkpoint = load_checkpoint(path("semfuse"));
  const SyntheticCorpusOptions options = synthetic_corpus_options(checkpoint.experiment);
  const Evaluation expected = evaluate(checkpoint.model, make_synthetic_corpus(options).val,
                                       {.held_out = options.held_out, .count_end = false});
  EXPECT_EQ(json["attention"], "causal");
  EXPECT_EQ(json["ppl"], expected.perplexity);
  EXPECT_EQ(json["seen_only_ppl"], expected.seen_only_perplexity);
  EXPECT_EQ(json["held_out_ce"], expected.held_out_cross_entropy);
  EXPECT_EQ(json["after_held_out_ce"], expected.after_held_out_cross_entropy);
  EXPECT_NEAR(json["floor_ppl"].get<double>(), 2.869, 1e-3);
  EXPECT_DOUBLE_EQ(json["ppl_over_floor"].get<double>(), expected.perplexity / json["floor_ppl"].get<double>());
  const nlohmann::json paper = json_of({"evaluate", path("paper-fusion"), "--json"});
  EXPECT_EQ(paper["attention"], "bidirectional");
  EXPECT_NEAR(paper["floor_ppl"].get<double>(), 2.672, 1e-3);
  EXPECT_NE(json_of({"evaluate", path("semfuse"), "--seed", "9", "--json"})["ppl"], json["ppl"]);
  EXPECT_EQ(json_of({"evaluate", path("semfuse"), "--sentences", "7", "--json"})["sentences"], 7);
  const ProcessResult text = semfuse_program({"evaluate", path("semfuse")});
  EXPECT_THAT(text.out, testing::ContainsRegex("perplexity +[0-9.]+ +2\\.869[0-9] +[0-9.]+\n"));
  expect_refused({"evaluate", path("nowhere")}, "nowhere");
  expect_refused({"evaluate", path("semfuse"), "--sentences", "0"}, "--sentences");
}

TEST_F(OpenWords, AuditProvesOrRefutesLookAhead) {
  for (const char* run : {"semfuse", "causal-baseline", "causal-fusion"}) {
    const nlohmann::json json = json_of({"audit", path(run), "--json"});
    EXPECT_EQ(json["max_logit_change"], 0.0) << run;
    EXPECT_TRUE(json["features_looking_ahead"].empty()) << run;
    EXPECT_THAT(semfuse_program({"audit", path(run)}).out, testing::StartsWith("This model reads only the past: "));
  }
  const nlohmann::json json = json_of({"audit", path("paper-fusion"), "--json"});
  EXPECT_GT(json["max_logit_change"].get<double>(), 0.0);
  EXPECT_EQ(json["features_looking_ahead"], nlohmann::json({"str_low", "str_med", "str_high"}));
  const ProcessResult text = semfuse_program({"audit", path("paper-fusion"), "--sentences", "3"});
  EXPECT_THAT(text.out, testing::StartsWith("This model looks ahead: "));
  EXPECT_THAT(text.out, testing::HasSubstr("its features str_low, str_med, str_high change with later text"));
}

TEST_F(OpenWords, AddsWordsWithoutTouchingTheWeights) {
  const std::string lexicon = file("new.tsv", "word\tclass\tpolarity\nsuperb\tadjective\t1\nFrank\tsubject\n");
  const ProcessResult result =
      semfuse_program({"words", "add", path("semfuse"), "--lexicon", lexicon, "--out", path("larger")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::StartsWith("2 words added, 43 in all; "));
  const Checkpoint before = load_checkpoint(path("semfuse")), after = load_checkpoint(path("larger"));
  EXPECT_EQ(*after.model.vocabulary().find("superb"), 41);
  for (std::size_t p = 0; p < before.model.parameters().size(); ++p) {
    const NamedParameter old = before.model.parameters()[p], now = after.model.parameters()[p];
    EXPECT_EQ(old.name, now.name);
    EXPECT_TRUE(std::equal(old.values.begin(), old.values.end(), now.values.begin())) << old.name;
    EXPECT_EQ(now.values.size() - old.values.size(), old.name == "tok.weight" ? 2 * 8 : 0) << old.name;
  }
  EXPECT_EQ(Process::text(path("larger") + "/config.toml"), Process::text(path("semfuse") + "/config.toml"));

  const nlohmann::json words = json_of({"words", "list", path("larger"), "--json"})["words"];
  ASSERT_EQ(words.size(), 40U);
  EXPECT_EQ(words[39]["word"], "Frank");
  EXPECT_EQ(words[39]["seen"], false);
  EXPECT_EQ(words[39]["features_alone"], true);
  for (const nlohmann::json& word : words) {
    if (word["word"] == "good") {
      EXPECT_EQ(word["seen"], true);
    }
    if (word["word"] == "great") {
      EXPECT_EQ(word["features_alone"], true);
    }
  }
  EXPECT_THAT(semfuse_program({"words", "list", path("larger")}).out,
              testing::ContainsRegex("41 +superb +adjective \\+1 +never +features alone"));
  // Once more on top, and the larger model can be measured.
  EXPECT_EQ(json_of({"audit", path("larger"), "--json"})["max_logit_change"], 0.0);
  EXPECT_TRUE(json_of({"evaluate", path("larger"), "--json"})["ppl"].is_number());
}

TEST_F(OpenWords, RefusesWordsThatCannotBeAdded) {
  const std::string good = file("good.tsv", "word\tclass\nFrank\tsubject\n");
  const auto add = [&](const std::string& run, const std::string& lexicon) {
    return Arguments{"words", "add", path(run), "--lexicon", lexicon, "--out", path("refused")};
  };
  expect_refused(add("semfuse", file("bad.tsv", "word\tclass\n\nFrank\tsubjekt\n")), "bad.tsv:3: unknown class");
  expect_refused(add("semfuse", file("known.tsv", "word\tclass\nBob\tsubject\n")), "knows \"Bob\" already");
  expect_refused(add("causal-fusion", good), "model.output_features=true");
  expect_refused(add("semfuse", path("absent.tsv")), "absent.tsv");
  expect_refused({"words", "add", path("semfuse"), "--lexicon", good, "--out", path("semfuse")}, "is already there");
  expect_refused({"words"}, "words --help");
  EXPECT_FALSE(fs::exists(path("refused")));
}

TEST_F(OpenWords, TrainsWithALexiconOfOnesOwn) {
  std::string text = Process::text(SEMFUSE_SOURCE_DIR "/lexicons/synthetic.tsv");
  const std::string poor = "poor\tadjective\t-1";
  ASSERT_NE(text.find(poor), text.npos);
  text.replace(text.find(poor), poor.size(), "poor\tadjective\t-0.5");
  const std::string lexicon = file("own.tsv", text);
  ASSERT_EQ(semfuse_program(tiny_training(path("own"), {"--lexicon", lexicon, "--held-out", "Bob,poor", "--quiet"}))
                .exit_code,
            0);
  const Checkpoint checkpoint = load_checkpoint(path("own"));
  EXPECT_EQ(checkpoint.model.feature_bank().lexicon().find("poor")->polarity, -0.5);
  EXPECT_THAT(checkpoint.experiment.corpus.held_out, testing::ElementsAre("Bob", "poor"));
  EXPECT_NE(semfuse_program({"features", "--lexicon", lexicon, "poor"}).out, semfuse_program({"features", "poor"}).out);
  expect_refused(tiny_training(path("never"), {"--lexicon", file("broken.tsv", "word\n")}), "broken.tsv:1: ");
  EXPECT_FALSE(fs::exists(path("never")));
}

TEST_F(OpenWords, AResumedRunKeepsItsLexicon) {
  const std::string lexicon = file("few.tsv", "word\tclass\tpolarity\ngood\tadjective\t0.25\n");
  const std::string run = path("resumed");
  const auto stop_after_a_while = [&](const Arguments& arguments, std::size_t from) {
    Process process(command_of("semfuse", arguments));
    EXPECT_TRUE(wait_until([&] { return Process::text(run + "/log.jsonl").size() > from; }));
    process.signal(SIGINT);
    EXPECT_EQ(process.result().exit_code, 128 + SIGINT);
  };
  stop_after_a_while(tiny_training(run, {"--lexicon", lexicon, "--quiet", "--set", "model.knobs=[]", "--set",
                                         "training.epochs=1000000"}),
                     0);
  stop_after_a_while({"train", "--resume", run, "--quiet"}, Process::text(run + "/log.jsonl").size());
  EXPECT_EQ(load_checkpoint(run).model.feature_bank().lexicon().entries().size(), 1U);
}

TEST_F(OpenWords, AblateWritesTableAndPlot) {
  Arguments arguments = {"ablate", "--out",   path("ablation"), "--seeds",        "2",
                         "--only", "semfuse", "--only",         "causal_baseline"};
  const Arguments tiny = tiny_training("");
  arguments.insert(arguments.end(), tiny.begin() + 3, tiny.end());
  const ProcessResult result = semfuse_program(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr(Process::text(path("ablation") + "/table.md")));
  const nlohmann::json json = nlohmann::json::parse(Process::text(path("ablation") + "/results.json"));
  ASSERT_EQ(json["variants"].size(), 2U);
  EXPECT_EQ(json["variants"][1]["runs"].size(), 2U);
  EXPECT_TRUE(json["variants"][0]["ppl_over_floor"]["ci95"].is_number());
  EXPECT_THAT(Process::text(path("ablation") + "/plot.svg"), testing::StartsWith("<svg"));
  expect_refused({"ablate", "--out", path("ablation")}, "is already there");
  expect_refused({"ablate", "--out", path("x"), "--only", "nothing"}, "variants are semfuse, ");
  expect_refused({"ablate", "--out", path("x"), "--seeds", "0"}, "--seeds");
}

}  // namespace
}  // namespace semfuse
