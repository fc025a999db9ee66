// Knobs from the command line: a model that has them is asked, swept, resumed and given words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Knobs : public testing::Test {
 protected:
  // A tiny model with the three knobs of the default one, trained until its sentences have what knobs ask for.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const Arguments longer = {"--quiet", "--set", "training.epochs=30", "--set", "training.learning_rate=0.02"};
    ASSERT_EQ(semfuse_program(tiny_training(path("run"), longer)).exit_code, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string trained() { return path("run"); }
  static std::string text_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Knobs, GenerateAsksTheModel) {
  const std::string run = trained();
  const std::string plain = text_of({"generate", run, "--n", "20"});
  const std::string asked =
      text_of({"generate", run, "--n", "20", "--knob", "polarity=1", "--knob", "mark=?:0.6,.:0.4"});
  EXPECT_NE(asked, plain);
  EXPECT_EQ(
      text_of({"generate", run, "--n", "20", "--knob", "mark=?:0.6,.:0.4", "--knob", "polarity=1", "--threads", "1"}),
      asked);
  EXPECT_EQ(text_of({"generate", run, "--n", "20", "--knob", "polarity=1", "--guidance", "0"}), plain);
  EXPECT_NE(text_of({"generate", run, "--n", "20", "--knob", "polarity=1", "--guidance", "3"}),
            text_of({"generate", run, "--n", "20", "--knob", "polarity=1"}));
  EXPECT_THAT(
      text_of({"generate", run, "--knob", "strength=0.5", "--grammar", "one-clause", "--prompt", "Carol starts"}),
      StartsWith("Carol starts the "));
}

TEST_F(Knobs, OneByOneAndManyAtOnceAreTheSame) {
  const std::string run = trained();
  for (const char* guidance : {"1", "2.5"}) {
    const Arguments knobs = {"--knob", "polarity=0.9", "--knob", "strength=0.3", "--guidance", guidance};
    Arguments many = {"generate", run, "--n", "70", "--threads", "2"};
    many.insert(many.end(), knobs.begin(), knobs.end());
    const std::string all = text_of(many);
    Arguments first = {"generate", run, "--n", "1", "--threads", "1"};
    first.insert(first.end(), knobs.begin(), knobs.end());
    EXPECT_THAT(all, StartsWith(text_of(first)));
  }
}

TEST_F(Knobs, ThePapersNamesAreAcceptedWithANote) {
  const ProcessResult result = semfuse_program({"generate", trained(), "--knob", "neg_high=0.75"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("neg_high=0.75 is read as polarity=0.25"));
}

TEST_F(Knobs, RefusesWhatIsNotAllowed) {
  const std::string run = trained();
  expect_refused({"generate", run, "--knob", "polarity=1.5"}, "from 0 to 1");
  expect_refused({"generate", run, "--knob", "strength=0.1"}, "from 0.2 to 1");
  expect_refused({"generate", run, "--knob", "warmth=1"}, "knobs of this model are polarity, strength, mark");
  expect_refused({"generate", run, "--knob", "mark=.:0.9"}, "sum to 0.9");
  expect_refused({"generate", run, "--knob", "polarity=1", "--knob", "polarity=0"}, "set twice");
  expect_refused({"generate", run, "--guidance", "2"}, "add --knob");
  expect_refused({"generate", run, "--knob", "polarity=1", "--guidance", "inf"}, "--guidance");
  expect_refused({"generate", run, "--knob", "polarity=1", "--guidance", "-1"}, "guidance must be from 0 to 20");
  expect_refused({"generate", run, "--knob", "polarity=1", "--guidance", "21"}, "guidance must be from 0 to 20");
  expect_refused({"sweep", run, "--guidance", "-1"}, "guidance must be from 0 to 20");
  expect_refused({"sweep", run, "--knob", "polarty"}, "did you mean \"polarity\"");
  expect_refused({"sweep", run, "--levels", "1"}, "--levels");
  expect_refused({"sweep", run, "--all", "--knob", "polarity"}, "leave --knob out");
  expect_refused(tiny_training(path("bad"), {"--set", "model.knobs=[\"p: chance of polarity\"]"}), "kind must be");
  expect_refused(tiny_training(path("bad"), {"--set", "model.knobs=[\"warmth: probability of warmth\"]"}),
                 "no training sentence shows any warmth; give words that attribute in the lexicon");
  expect_refused(tiny_training(path("bad"), {"--set", "model.knobs=[\"m: distribution of final_mark over ; :\"]"}),
                 "take sentences that end in one of its marks, or name others, or leave it out of model.knobs");
  const std::string plain = path("plain");
  ASSERT_EQ(semfuse_program(tiny_training(plain, {"--quiet", "--set", "model.knobs=[]"})).exit_code, 0);
  expect_refused({"generate", plain, "--knob", "polarity=1"}, "has no knobs");
  expect_refused({"sweep", plain}, "has no knobs");
}

TEST_F(Knobs, GenerateSaysWhereASettingDoesNotHold) {
  const auto notes = [](Arguments arguments) {
    arguments.insert(arguments.begin(), {"generate", trained()});
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(notes({"--knob", "polarity=0.7", "--temperature", "0.5", "--top-p", "0.9", "--top-k", "5"}),
              Not(HasSubstr("hold exactly")));
  EXPECT_THAT(notes({"--greedy"}), Not(HasSubstr("hold exactly")));
  EXPECT_THAT(notes({"--knob", "polarity=0.7", "--greedy"}), HasSubstr("semfuse: polarity will not hold exactly"));
}

// Sentences have 8 or 16 words: no request in between has ever been answered.
TEST_F(Knobs, AGapOfTheCorpusIsNamed) {
  const std::string run = path("lengths");
  const ProcessResult training =
      semfuse_program(tiny_training(run, {"--set", "model.knobs=[\"size: scalar of length from 8 to 16\"]"}));
  ASSERT_EQ(training.exit_code, 0) << training.err;
  EXPECT_THAT(training.err,
              HasSubstr("semfuse: knob size: no training sentence has a size between 8 and 16, so nothing "
                        "there can be asked for\n"));
  const ProcessResult asked = semfuse_program({"generate", run, "--knob", "size=12"});
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_THAT(asked.err,
              HasSubstr("semfuse: no training sentence has a size between 8 and 16, so size=12 cannot be asked for\n"));
  EXPECT_THAT(semfuse_program({"generate", run, "--knob", "size=16"}).err, Not(HasSubstr("asked for")));
  const std::string gap = "no training sentence has a size between 8 and 16: 12 cannot be asked for";
  const std::string out = path("lengths-sweep");
  EXPECT_THAT(text_of({"sweep", run, "--levels", "3", "--n", "20", "--out", out}),
              AllOf(HasSubstr("no Spearman"), HasSubstr(gap)));
  std::ifstream file(out + "/results.json");
  const json result = json::parse(file)["knobs"]["size"];
  EXPECT_TRUE(result["spearman"].is_null());
  EXPECT_EQ(result["gaps"], json({gap}));
}

TEST_F(Knobs, ASweepMayBeSharper) {
  const json result = json::parse(text_of({"sweep", trained(), "--knob", "polarity", "--levels", "2", "--n", "20",
                                           "--temperature", "0.5", "--top-k", "5", "--top-p", "0.9", "--json"}));
  EXPECT_EQ(result["temperature"], 0.5);
  EXPECT_EQ(result["top_k"], 5);
  EXPECT_EQ(result["top_p"], 0.9);
  expect_refused({"sweep", trained(), "--temperature", "-1"}, "temperature must be 0 or above");
  const auto sweep_at = [&](const char* temperature) {
    return semfuse_program(
        {"sweep", trained(), "--knob", "polarity", "--levels", "2", "--n", "4", "--temperature", temperature});
  };
  EXPECT_THAT(sweep_at("0").err, HasSubstr("semfuse: polarity will not hold exactly: the most probable word"));
  EXPECT_THAT(sweep_at("0.5").err, Not(HasSubstr("will not hold")));
}

TEST_F(Knobs, RulesOfAGrammarCarrySettings) {
  const std::string run = trained();
  const auto write = [&](const std::string& name, const std::string& gbnf) {
    std::ofstream(path(name)) << gbnf;
    return path(name);
  };
  const std::string clause = "root ::= @subject \" \" @verb \" the \" @object \", \" @intensifier \" \" ";
  const std::string plain = write("plain.gbnf", clause + "@adjective [.!?]\n");
  const std::string asked = write("asked.gbnf", clause + "@adjective[polarity=0.9] [.!?]\n");
  EXPECT_NE(text_of({"generate", run, "--n", "50", "--grammar", plain}),
            text_of({"generate", run, "--n", "50", "--grammar", asked}));
  // What is set for a rule goes before what is set for the sentence, and needs no --knob for guidance.
  EXPECT_NE(text_of({"generate", run, "--n", "50", "--grammar", asked, "--guidance", "3"}),
            text_of({"generate", run, "--n", "50", "--grammar", asked}));
  const json explained = json::parse(text_of({"generate", run, "--grammar", asked, "--knob", "polarity=0.1", "--prompt",
                                              "Carol starts", "--explain", "--json"}));
  EXPECT_EQ(explained["explanation"][4]["settings"], json({"polarity=0.9"}));
  EXPECT_EQ(explained["explanation"][0]["settings"], json::array());
  EXPECT_THAT(text_of({"generate", run, "--grammar", asked, "--explain"}),
              AllOf(HasSubstr("  setting\n"), HasSubstr("  polarity=0.9\n")));
  EXPECT_THAT(text_of({"grammar", "check", asked, "--run", run}), HasSubstr("the model can be asked for its settings"));
  EXPECT_EQ(json::parse(text_of({"grammar", "check", asked, "--json"}))["settings"], json({"polarity=0.9"}));
  expect_refused({"generate", run, "--grammar", asked, "--guidance", "1e39"}, "guidance must be from 0 to 20");
  const std::string bad = write("bad.gbnf", clause + "@adjective[polarity=7] [.!?]\n");
  expect_refused({"generate", run, "--grammar", bad}, ":1:78: knob polarity: 7 is out of range");
  expect_refused({"grammar", "check", bad, "--run", run}, ":1:78: knob polarity: 7 is out of range");
  EXPECT_THAT(text_of({"grammar", "check", bad}), HasSubstr("well formed"));
}

TEST_F(Knobs, SweepWritesWhatItPrints) {
  const std::string run = trained();
  const std::string out = path("sweep");
  const json printed =
      json::parse(text_of({"sweep", run, "--all", "--levels", "3", "--n", "40", "--out", out, "--json"}));
  EXPECT_EQ(printed, json::parse(Process::text(out + "/results.json")));
  const json& polarity = printed["knobs"]["polarity"];
  ASSERT_EQ(polarity["levels"].size(), 3U);
  EXPECT_EQ(polarity["levels"][1]["requested"], 0.5);
  EXPECT_TRUE(polarity["levels"][1]["realised"].is_number());
  EXPECT_EQ(polarity["levels"][1]["ci95"].size(), 2U);
  EXPECT_TRUE(polarity["mae"].is_number());
  EXPECT_TRUE(polarity["spearman"].is_number());
  EXPECT_EQ(printed["knobs"]["strength"]["levels"][0]["requested"], 0.2);
  EXPECT_EQ(printed["knobs"]["mark"]["levels"].size(), 12U);
  EXPECT_EQ(printed["combinations"].size(), 4U);  // Three pairs and the triple.
  EXPECT_THAT(Process::text(out + "/polarity.svg"), StartsWith("<svg"));
  EXPECT_THAT(Process::text(out + "/report.html"), AllOf(HasSubstr("polarity + strength + mark"), HasSubstr("<svg")));
  EXPECT_THAT(Process::text(out + "/table.md"), HasSubstr("### mark"));
  expect_refused({"sweep", run, "--out", out}, "is already there");
  // The same for any number of threads.
  EXPECT_EQ(text_of({"sweep", run, "--knob", "polarity", "--levels", "3", "--n", "40", "--threads", "1", "--json"}),
            text_of({"sweep", run, "--knob", "polarity", "--levels", "3", "--n", "40", "--threads", "3", "--json"}));
}

TEST_F(Knobs, SweepStopsWithinALevelAndGoesOn) {
  const std::string out = path("interrupted");
  const auto sweep = [&](const char* n) {
    return Arguments{"sweep", trained(), "--knob", "polarity", "--levels", "2", "--n", n, "--out", out, "--json"};
  };
  {
    Process process(command_of("semfuse", sweep("10000000")));  // Its first level alone takes hours.
    EXPECT_TRUE(wait_until([&] { return !Process::text(out + "/sweep.lock").empty(); }));
    expect_refused(sweep("40"), "is sweeping into it; wait until it ends");
    process.signal(SIGINT);
    const ProcessResult stopped = process.result();
    EXPECT_EQ(stopped.exit_code, 128 + SIGINT);
    EXPECT_THAT(stopped.err, HasSubstr("the same command goes on from the finished levels\n"));
  }
  const std::string whole = text_of(sweep("40"));
  // As if it had been stopped before its last level.
  const std::string levels = Process::text(out + "/levels.jsonl");
  std::ofstream(out + "/levels.jsonl") << levels.substr(0, levels.rfind('\n', levels.size() - 2) + 1);
  const ProcessResult again = semfuse_program(sweep("40"));
  EXPECT_THAT(again.err, HasSubstr("2 levels measured before; going on\n"));
  EXPECT_EQ(again.out, whole);
  expect_refused(sweep("41"), "is already there");
}

TEST_F(Knobs, AUserAddsOneByDeclaringIt) {
  std::ofstream(path("warm.tsv")) << "word\tclass\tpolarity\tstrength\twarmth\n"
                                     "good\tadjective\t1\t\t1\nbad\tadjective\t-1\t\t-1\nvery\tintensifier\t\t0.8\n";
  const std::string run = path("warm");
  ASSERT_EQ(
      semfuse_program(tiny_training(run, {"--quiet", "--lexicon", path("warm.tsv"), "--set",
                                          "model.knobs=[\"warmth: probability of warmth\", \"size: scalar of length "
                                          "from 8 to 16\"]"}))
          .exit_code,
      0);
  EXPECT_THAT(text_of({"inspect", run}), HasSubstr("warmth: probability of warmth"));
  EXPECT_NE(text_of({"generate", run, "--n", "20", "--knob", "size=16", "--knob", "warmth=1"}),
            text_of({"generate", run, "--n", "20"}));
}

}  // namespace
}  // namespace semfuse
