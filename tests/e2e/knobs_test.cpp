// Knobs from the command line: a model that has them is asked, swept, resumed and given words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Knobs : public testing::Test {
 protected:
  // A tiny model with the three knobs of the default one.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ASSERT_EQ(semfuse_program(tiny_training(path("run"), {"--quiet"})).exit_code, 0);
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
  expect_refused({"sweep", run, "--knob", "polarty"}, "did you mean \"polarity\"");
  expect_refused({"sweep", run, "--levels", "1"}, "--levels");
  expect_refused({"sweep", run, "--all", "--knob", "polarity"}, "leave --knob out");
  expect_refused(tiny_training(path("bad"), {"--set", "model.knobs=[\"p: chance of polarity\"]"}), "kind must be");
  expect_refused(tiny_training(path("bad"), {"--set", "model.knobs=[\"warmth: probability of warmth\"]"}),
                 "no training sentence shows any warmth");
  const std::string plain = path("plain");
  ASSERT_EQ(semfuse_program(tiny_training(plain, {"--quiet", "--set", "model.knobs=[]"})).exit_code, 0);
  expect_refused({"generate", plain, "--knob", "polarity=1"}, "has no knobs");
  expect_refused({"sweep", plain}, "has no knobs");
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
  expect_refused({"generate", run, "--grammar", asked, "--guidance", "1e39"}, "guidance must be from -1000 to 1000");
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
