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
  const SyntheticCorpusOptions options = synthetic_corpus_options(checkpoint.experiment());
  const Evaluation expected = evaluate(checkpoint.model, make_synthetic_corpus(options).val,
                                       {.held_out = options.held_out, .count_end = false});
  EXPECT_EQ(json["attention"], "causal");
  EXPECT_EQ(json["ppl"], expected.perplexity);
  EXPECT_EQ(json["seen_only_ppl"], expected.seen_only_perplexity);
  EXPECT_EQ(json["held_out_ce"], expected.held_out_cross_entropy);
  EXPECT_EQ(json["after_held_out_ce"], expected.after_held_out_cross_entropy);
  EXPECT_NEAR(json["floor_ppl"].get<double>(), 2.869, 1e-3);
  EXPECT_NEAR(json["ppl_over_floor"].get<double>(), expected.perplexity / json["sample_floor_ppl"].get<double>(), 1e-9);
  EXPECT_LT(json["ppl_over_floor_low"], json["ppl_over_floor"]);
  EXPECT_GT(json["ppl_over_floor_high"], json["ppl_over_floor"]);
  const nlohmann::json paper = json_of({"evaluate", path("paper-fusion"), "--json"});
  EXPECT_EQ(paper["attention"], "bidirectional");
  EXPECT_NEAR(paper["floor_ppl"].get<double>(), 2.672, 1e-3);
  EXPECT_NE(json_of({"evaluate", path("semfuse"), "--seed", "9", "--json"})["ppl"], json["ppl"]);
  EXPECT_EQ(json_of({"evaluate", path("semfuse"), "--sentences", "7", "--json"})["sentences"], 7);
  const ProcessResult text = semfuse_program({"evaluate", path("semfuse")});
  EXPECT_THAT(text.out, testing::ContainsRegex("perplexity +[0-9.]+ +[0-9.]+ +2\\.869[0-9]\n"));
  EXPECT_THAT(text.out,
              testing::ContainsRegex("times the floor's on the same sentences \\(95 %: [0-9.]+ to [0-9.]+\\)"));
  const nlohmann::json ngram = json_of({"evaluate", path("semfuse"), "--against", "ngram", "--json"})["ngram"];
  EXPECT_EQ(ngram["order"], 5);
  EXPECT_GE(ngram["perplexity"].get<double>(), json["floor_ppl"].get<double>() * 0.9);
  EXPECT_TRUE(ngram["bits_per_byte"].is_number());
  EXPECT_THAT(semfuse_program({"evaluate", path("semfuse"), "--against", "ngram"}).out,
              testing::HasSubstr("A 5-gram has a perplexity of"));
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

TEST_F(OpenWords, ClassesMayBeTheUsersOwn) {
  const std::string days = file("days.tsv", "word\tclass\tpolarity\nMonday\tweekday\t-0.5\n");
  const ProcessResult added =
      semfuse_program({"words", "add", path("semfuse"), "--lexicon", days, "--out", path("with_days")});
  EXPECT_EQ(added.exit_code, 0);
  EXPECT_THAT(added.err, testing::HasSubstr("features do not know the class weekday"));
  const std::string grammar = file("days.gbnf", "root ::= @weekday \",\" \" \" @adjective \".\"");
  const nlohmann::json sentence =
      json_of({"generate", path("with_days"), "--n", "1", "--grammar", grammar, "--explain", "--json"});
  EXPECT_THAT(sentence["text"].get<std::string>(), testing::StartsWith("Monday, "));
}

TEST_F(OpenWords, WarnsOfWordsThatTrainingSaysLittleOf) {
  const auto add = [&](const std::string& run, const std::string& lines, const std::string& out) {
    const std::string lexicon = file(out + ".tsv", "word\tclass\tpolarity\tstrength\n" + lines);
    const ProcessResult result = semfuse_program({"words", "add", path(run), "--lexicon", lexicon, "--out", path(out)});
    EXPECT_EQ(result.exit_code, 0);
    return result.err;
  };
  EXPECT_EQ(add("semfuse", "decent\tadjective\t0.5\nodd\tadjective\nquite\tintensifier\t\t0.6\n", "familiar"), "");
  const std::string warned =
      add("semfuse", "or\tother\nfairly\tintensifier\t\t0.1\ndecent\tadjective\t0.5\n", "strange");
  EXPECT_THAT(warned, testing::HasSubstr("\"or\" (other) has no feature"));
  EXPECT_THAT(warned, testing::HasSubstr("\"fairly\" has strength 0.1, and training showed 0.2 to 1"));
  EXPECT_THAT(warned, testing::Not(testing::HasSubstr("decent")));
  std::string many;
  for (int i = 0; i < 30; ++i) many += "w" + std::to_string(i) + "\tother\n";
  EXPECT_THAT(add("semfuse", many, "many"), testing::HasSubstr("and 20 more like these"));
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
  // A limit on file sizes stands for a full disk.
  const ProcessResult full = run_process({"/bin/sh", "-c",
                                          "ulimit -f 20; exec " SEMFUSE_BIN_DIR "/semfuse words add " +
                                              path("semfuse") + " --lexicon " + good + " --out " + path("full/deep")});
  EXPECT_EQ(full.exit_code, 2);
  expect_one_error_line(full, "cannot write: File too large");
  EXPECT_FALSE(std::filesystem::exists(path("full"))) << "it would be in the way of another attempt";
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
  EXPECT_THAT(checkpoint.experiment().corpus.held_out, testing::ElementsAre("Bob", "poor"));
  EXPECT_NE(semfuse_program({"features", "--lexicon", lexicon, "poor"}).out, semfuse_program({"features", "poor"}).out);
  // The folder repeats the run when the file is gone.
  fs::remove(lexicon);
  ASSERT_EQ(
      semfuse_program({"train", "--config", path("own/config.toml"), "--out", path("again"), "--quiet"}).exit_code, 0);
  EXPECT_EQ(Process::text(path("again/model.safetensors")), Process::text(path("own/model.safetensors")));
  const ProcessResult few = semfuse_program(
      tiny_training(path("few"), {"--lexicon", file("few.tsv", "word\tclass\tpolarity\ngood\tadjective\t1\n"), "--set",
                                  "model.knobs=[]", "--quiet"}));
  EXPECT_EQ(few.exit_code, 0);
  expect_one_error_line(few, "few.tsv: lacks 37 of the 38 words of the corpus");
  expect_refused(tiny_training(path("never"), {"--lexicon", file("broken.tsv", "word\n")}), "broken.tsv:1: ");
  EXPECT_FALSE(fs::exists(path("never")));
}

TEST_F(OpenWords, VerifyTakesTheFolderOfALargerModel) {
  const std::string lexicon = file("mine.tsv", Process::text(SEMFUSE_SOURCE_DIR "/lexicons/synthetic.tsv"));
  ASSERT_EQ(semfuse_program(tiny_training(path("mine"), {"--lexicon", lexicon, "--quiet"})).exit_code, 0);
  const auto add = [&](const std::string& run, const std::string& out) {
    const std::string words = file("frank.tsv", "word\tclass\nFrank\tsubject\n");
    EXPECT_EQ(semfuse_program({"words", "add", run, "--lexicon", words, "--out", path(out)}).exit_code, 0);
    return semfuse_program({"verify", path(out)});
  };
  // The lexicon that its configuration names comes along.
  const ProcessResult whole = add(path("mine"), "mine2");
  EXPECT_EQ(whole.exit_code, 0) << whole.out;
  EXPECT_EQ(Process::text(path("mine2") + "/lexicon.tsv"), Process::text(path("mine") + "/lexicon.tsv"));
  EXPECT_THAT(whole.out, testing::ContainsRegex("lexicon.tsv +39 words"));
  fs::remove(path("mine2") + "/lexicon.tsv");
  EXPECT_EQ(semfuse_program({"verify", path("mine2")}).exit_code, 2);
  // Of a model that was taken out of its folder, and of one that does not say what trained it, the model is all.
  fs::copy(path("mine") + "/model.safetensors", path("alone.safetensors"));
  save_checkpoint(path("bare.safetensors"), load_checkpoint(path("mine")).model, "");
  for (const std::string name : {"alone", "bare"}) {
    const ProcessResult result = add(path(name + ".safetensors"), name);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, testing::HasSubstr("a model: structure, checksum and"));
    EXPECT_FALSE(fs::exists(path(name) + "/config.toml"));
  }
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
  EXPECT_THAT(result.err, testing::ContainsRegex("of the floor \\(95 %: [0-9.]+ to [0-9.]+\\)"));
  EXPECT_THAT(result.err, testing::HasSubstr("4 models to train: 2 variants on 2 seeds\n1 of 4  semfuse, seed 1: "));
  // The same command goes on: here there is nothing left to do.
  const ProcessResult again = semfuse_program(arguments);
  EXPECT_EQ(again.err, "4 of 4 runs were done before; going on\n");
  EXPECT_EQ(again.out, result.out);
  expect_refused({"ablate", "--out", path("ablation")}, "with other settings");
  expect_refused({"ablate", "--out", path("semfuse")}, "is already there");
  expect_refused({"ablate", "--out", path("x"), "--only", "nothing"}, "variants are semfuse, ");
  expect_refused({"ablate", "--out", path("x"), "--seeds", "0"}, "--seeds");
}

TEST_F(OpenWords, AblateStopsAndGoesOn) {
  Arguments arguments = {"ablate", "--out", path("stopped"), "--seeds", "2", "--only", "causal_baseline"};
  const Arguments tiny = tiny_training("");
  arguments.insert(arguments.end(), tiny.begin() + 3, tiny.end());
  Arguments whole = arguments;
  whole[2] = path("whole");
  ASSERT_EQ(semfuse_program(whole).exit_code, 0);
  // As if the second training had been stopped.
  fs::create_directory(path("stopped"));
  fs::copy(path("whole") + "/runs", path("stopped") + "/runs", fs::copy_options::recursive);
  fs::remove(path("stopped") + "/runs/causal_baseline-2/metrics.json");
  const ProcessResult result = semfuse_program(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, testing::StartsWith("1 of 2 runs were done before; going on\n2 of 2  "));
  for (const char* file : {"/results.json", "/table.md", "/plot.svg"})
    EXPECT_EQ(Process::text(path("stopped") + file), Process::text(path("whole") + file)) << file;

  Arguments longer = arguments;
  longer[2] = path("longer");
  longer.insert(longer.end(), {"--set", "training.epochs=1000000"});
  Process process(command_of("semfuse", longer));
  EXPECT_TRUE(wait_until([&] { return fs::exists(path("longer") + "/runs/study"); }));
  process.signal(SIGTERM);
  const ProcessResult stopped = process.result();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM);
  EXPECT_THAT(stopped.err, testing::HasSubstr("the same command goes on from the finished runs\n"));
}

}  // namespace
}  // namespace semfuse
