// reproduce, compare and evaluate on models trained for milliseconds.
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Arguments tiny_reproduction(const std::string& out, const Arguments& more) {
  Arguments arguments = {"reproduce", "--out", out};
  const Arguments tiny = tiny_training("");
  arguments.insert(arguments.end(), tiny.begin() + 3, tiny.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json json_of(const Arguments& arguments) {
  const ProcessResult result = semfuse_program(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

class ReproduceCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    first_ = std::make_unique<ProcessResult>(semfuse_program(tiny_reproduction(out(), {"--quick"})));
  }
  static void TearDownTestSuite() {
    folder_.reset();
    first_.reset();
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string out() { return path("paper"); }
  static json results() { return json::parse(Process::text(out() + "/results.json")); }
  static const ProcessResult& first() { return *first_; }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
  static inline std::unique_ptr<ProcessResult> first_;
};

TEST_F(ReproduceCommand, WritesResultsReportAndRuns) {
  ASSERT_EQ(first().exit_code, 0) << first().err;
  EXPECT_THAT(first().out, HasSubstr("seen-only perplexity"));
  EXPECT_THAT(first().out, HasSubstr("fusion lowers perplexity"));
  EXPECT_THAT(first().out, HasSubstr("report.html"));
  EXPECT_THAT(first().out, Not(HasSubstr("+nan")));
  EXPECT_THAT(first().err, HasSubstr("baseline, seed 111: perplexity "));
  EXPECT_THAT(first().err, HasSubstr("fusion, seed 111: perplexity "));

  const json found = results();
  EXPECT_EQ(found["attention"], "bidirectional");
  EXPECT_EQ(found["seeds"], json::array({111}));
  EXPECT_EQ(found["held_out"], "paper");
  EXPECT_NEAR(found["entropy_floor_ppl"].get<double>(), 2.672, 1e-3);
  EXPECT_TRUE(found["sample_floor"]["ppl"][0].is_number());
  EXPECT_LT(found["sample_floor"]["fusion"]["ci95"][0], found["sample_floor"]["fusion"]["mean"]);
  EXPECT_GT(found["sample_floor"]["fusion"]["ci95"][1], found["sample_floor"]["fusion"]["mean"]);
  EXPECT_THAT(first().out, testing::ContainsRegex("times[ \n]the[ \n]latter"));
  EXPECT_GT(found["seconds"].get<double>(), 0.0);
  for (const char* model : {"baseline", "fusion"}) {
    for (const char* metric : {"ppl", "seen_only_ppl", "feature_mse", "adjective_control", "punctuation_control",
                               "held_out_pos", "held_out_neg"}) {
      ASSERT_TRUE(found["table1"][model].contains(metric)) << metric;
      const json& value = found["table1"][model][metric];
      if (value.is_null()) continue;
      EXPECT_EQ(value.size(), 4U);
      EXPECT_EQ(value["values"].size(), 1U);
      EXPECT_TRUE(value["mean"].is_number()) << metric;
      EXPECT_EQ(value["ci95"], json::array({nullptr, nullptr}));
    }
    EXPECT_EQ(found["figure1"][model][0].size(), 1U) << "one epoch";
    EXPECT_EQ(found["figure1"][model][0][0], found["table1"][model]["ppl"]["mean"]);
  }
  EXPECT_TRUE(found["table1"]["baseline"]["adjective_control"].is_null());
  EXPECT_EQ(found["table1"]["fusion"]["adjective_control"]["mean"], 1.0);
  EXPECT_EQ(found["table1"]["fusion"]["punctuation_control"]["mean"], 1.0);
  EXPECT_EQ(found["focus"].size(), 8U);

  const std::string page = Process::text(out() + "/report.html");
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, testing::EndsWith("</html>\n"));
  for (const auto& [name, bytes] : tree_of(out())) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
  for (const char* run : {"baseline-111", "fusion-111"}) {
    for (const char* file : {"model.safetensors", "config.toml", "metrics.json"})
      EXPECT_TRUE(fs::exists(out() + "/runs/" + run + "/" + file)) << run << ' ' << file;
  }
}

TEST_F(ReproduceCommand, GoesOnWithoutTrainingAgain) {
  const auto before = tree_of(out());
  const ProcessResult again = semfuse_program(tiny_reproduction(out(), {"--quick"}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err, "2 of 2 runs were done before; going on\n");
  EXPECT_EQ(again.out, first().out);
  EXPECT_EQ(tree_of(out()), before);
  EXPECT_EQ(json_of(tiny_reproduction(out(), {"--quick", "--json"})), results());
}

TEST_F(ReproduceCommand, MoreSeedsKeepThoseThatAreThere) {
  const std::string more = path("more");
  fs::copy(out(), more, fs::copy_options::recursive);
  const ProcessResult result =
      semfuse_program(tiny_reproduction(more, {"--seeds", "2", "--threads", "1", "--markdown", path("results.md")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 of 4 runs were done before"));
  EXPECT_THAT(result.err, Not(HasSubstr("seed 111: ")));
  const json found = json::parse(Process::text(more + "/results.json"));
  EXPECT_EQ(found["seeds"], json::array({111, 112}));
  EXPECT_EQ(found["table1"]["fusion"]["ppl"]["values"][0], results()["table1"]["fusion"]["ppl"]["values"][0]);
  EXPECT_TRUE(found["table1"]["fusion"]["ppl"]["ci95"][0].is_number());
  EXPECT_THAT(Process::text(path("results.md")), HasSubstr("## Table 1\n"));
}

TEST_F(ReproduceCommand, OnlyItsOwnMarkdownIsOverwritten) {
  const Arguments mine = tiny_reproduction(out(), {"--quick", "--markdown", path("mine.md")});
  EXPECT_EQ(semfuse_program(mine).exit_code, 0);
  EXPECT_EQ(semfuse_program(mine).exit_code, 0);
  std::ofstream(path("mine.md")) << "# Notes\n";
  const ProcessResult result = semfuse_program(mine);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("mine.md: is already there"));
  EXPECT_EQ(Process::text(path("mine.md")), "# Notes\n");
  EXPECT_THAT(semfuse_program(tiny_reproduction(out(), {"--quick", "--markdown", path("none/it.md")})).err,
              HasSubstr("there is no folder"));
}

TEST_F(ReproduceCommand, OtherSettingsInTheSameFolderAreRefused) {
  const auto before = tree_of(out());
  expect_refused(tiny_reproduction(out(), {"--quick", "--set", "training.epochs=2"}), "with other settings");
  expect_refused(tiny_reproduction(out(), {"--quick", "--held-out", "random"}), "with other settings");
  const std::string metrics = Process::text(out() + "/runs/fusion-111/metrics.json");
  EXPECT_EQ(tree_of(out()), before);

  const std::string damaged = path("damaged");
  fs::copy(out(), damaged, fs::copy_options::recursive);
  std::ofstream(damaged + "/runs/fusion-111/metrics.json") << metrics.substr(0, metrics.size() / 2);
  expect_refused(tiny_reproduction(damaged, {"--quick"}), "fusion-111/metrics.json");
}

TEST_F(ReproduceCommand, Refusals) {
  const std::string none = path("none");
  for (const char* seeds : {"0", "many", "1001", "2.5"})
    expect_refused(tiny_reproduction(none, {"--seeds", seeds}), "--seeds");
  expect_refused(tiny_reproduction(none, {"--quick", "--seeds", "2"}), "--seeds");
  expect_refused(tiny_reproduction(none, {"--held-out", "all"}), "--held-out");
  expect_refused(tiny_reproduction(none, {"--set", "training.epochs=0"}), "training.epochs");
  expect_refused(tiny_reproduction(none, {"--set", "seed=5"}), "--seeds");
  expect_refused(tiny_reproduction(none, {"--set", "corpus.held_out=good"}), "--held-out");
  expect_refused(tiny_reproduction(none, {"--threads", "0"}), "--threads");
  expect_refused(tiny_reproduction("", {}), "--out is empty");
  expect_refused({"reproduce"}, "--out");
  EXPECT_FALSE(fs::exists(none));
  std::ofstream(path("file")) << "x";
  expect_refused(tiny_reproduction(path("file") + "/below", {"--quick"}), "cannot create the folder");
}

TEST_F(ReproduceCommand, StopsAndGoesOn) {
  const std::string stopped = path("stopped");
  const Arguments arguments = tiny_reproduction(stopped, {"--seeds", "5", "--held-out", "random"});
  Process process(command_of("semfuse", arguments));
  ASSERT_TRUE(wait_until([&] { return fs::exists(stopped + "/runs/baseline-111/metrics.json"); }));
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::EndsWith("stopped; the same command goes on from the finished runs\n"));
  EXPECT_FALSE(fs::exists(stopped + "/results.json"));

  const ProcessResult rest = semfuse_program(arguments);
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, testing::ContainsRegex("^[1-9] of 10 runs were done before; going on\n"));
  EXPECT_THAT(rest.err, Not(HasSubstr("baseline, seed 111: ")));
  const json found = json::parse(Process::text(stopped + "/results.json"));
  EXPECT_EQ(found["held_out"], "random");
  EXPECT_EQ(found["seeds"].size(), 5U);
  EXPECT_EQ(found["table1"]["fusion"]["ppl"]["values"].size(), 5U);
  EXPECT_TRUE(found["authors_code"].empty());
}

TEST_F(ReproduceCommand, EvaluateGivesTheSameNumbers) {
  const std::string run = out() + "/runs/fusion-111";
  const json metrics = json::parse(Process::text(run + "/metrics.json"));
  const json found = json_of({"evaluate", run, "--json"});
  for (const char* key :
       {"ppl", "seen_only_ppl", "feature_mse", "attention", "seed", "focus", "controls", "samples", "parameters"})
    EXPECT_EQ(found[key], metrics[key]) << key;
  // What evaluate said before stays.
  for (const char* key : {"sentences", "positions", "floor_ppl", "ppl_over_floor", "seen_only_floor_ppl", "held_out_ce",
                          "held_out_floor_ce", "after_held_out_ce", "after_held_out_floor_ce"})
    EXPECT_TRUE(found[key].is_number()) << key;
  EXPECT_EQ(found["controls"]["hard_positive"]["positive"], 200);
  EXPECT_TRUE(json_of({"evaluate", out() + "/runs/baseline-111", "--json"})["controls"].is_null());

  const ProcessResult text = semfuse_program({"evaluate", run});
  EXPECT_THAT(text.out, testing::ContainsRegex("perplexity +[0-9.]+ +2\\.[0-9]+ +2\\.67[0-9]+\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("mean squared error of 0\\.[0-9]+\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("terrible +[0-9]+ +[0-9.-]+\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("positive, strong +200 +200 +0 +0 +200 +0 +[0-9]+\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("negative, question +200 +0 +200 +0 +0 +200 +[0-9]+\n"));
  const ProcessResult plain = semfuse_program({"evaluate", out() + "/runs/baseline-111"});
  EXPECT_THAT(plain.out, Not(HasSubstr("squared error")));
  EXPECT_THAT(plain.out, Not(HasSubstr("negative, question")));
  EXPECT_THAT(text.out + plain.out, Not(HasSubstr("nan")));
}

TEST_F(ReproduceCommand, EvaluateTakesALexiconThatMakesNoSentence) {
  std::ofstream(path("few.tsv")) << "word\tclass\tpolarity\ngood\tadjective\t0.25\n";
  ASSERT_EQ(
      semfuse_program(tiny_training(path("few"), {"--lexicon", path("few.tsv"), "--set", "model.knobs=[]", "--quiet"}))
          .exit_code,
      0);
  const json found = json_of({"evaluate", path("few"), "--json"});
  EXPECT_TRUE(found["ppl"].is_number());
  EXPECT_TRUE(found["controls"].is_null());
  EXPECT_TRUE(found["samples"].empty());
  EXPECT_EQ(semfuse_program({"evaluate", path("few")}).exit_code, 0);
}

TEST_F(ReproduceCommand, CompareLaysRunsSideBySide) {
  ASSERT_EQ(semfuse_program(tiny_training(path("causal"), {"--preset", "semfuse", "--quiet"})).exit_code, 0);
  const std::string baseline = out() + "/runs/baseline-111", fusion = out() + "/runs/fusion-111";
  const ProcessResult text = semfuse_program({"compare", baseline, fusion + "/", path("causal")});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::ContainsRegex("^ +baseline-111 +fusion-111 +causal\n"
                                               "attention +bidirectional +bidirectional +causal\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nperplexity +[0-9.]+ +[0-9.]+ +[0-9.]+\n"
                                               "floor [a-z ]+ +2\\.67[0-9]+ +2\\.67[0-9]+ +2\\.869[0-9]\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nfeature MSE +- +0\\.[0-9]+ +0\\.[0-9]+\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nhard control: positive +- +200 / 200 +200 / 200\n"));
  EXPECT_THAT(text.out, HasSubstr("does not compare with a causal one"));
  EXPECT_THAT(text.out, Not(HasSubstr("nan")));

  const json runs = json_of({"compare", baseline, path("causal"), "--json"})["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["run"], baseline);
  EXPECT_EQ(runs[0]["ppl"], results()["table1"]["baseline"]["ppl"]["mean"]);
  EXPECT_TRUE(runs[0]["controls"].is_null());
  EXPECT_EQ(runs[1]["attention"], "causal");
  EXPECT_NEAR(runs[1]["floor_ppl"].get<double>(), 2.869, 1e-3);
  EXPECT_EQ(runs[1]["controls"]["hard_negative"]["question"], 200);
  EXPECT_EQ(runs[1]["focus"].size(), 8U);

  // The same name twice: the whole paths tell them apart.
  const ProcessResult files =
      semfuse_program({"compare", baseline + "/model.safetensors", fusion + "/model.safetensors"});
  EXPECT_THAT(files.out, HasSubstr(baseline + "/model.safetensors"));
  expect_refused({"compare"}, "RUN");
  expect_refused({"compare", baseline, path("nowhere")}, "nowhere");
  expect_refused({"compare", baseline, "--threads", "none"}, "--threads");
}

}  // namespace
}  // namespace semfuse
