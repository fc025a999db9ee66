#include "semfuse/corpus.h"

#include "e2e/semfuse_program.h"
#include "semfuse/experiment.h"

namespace semfuse {
namespace {

std::string lines(const std::vector<Sentence>& sentences) {
  std::string text;
  for (const Sentence& sentence : sentences) text += join_words(sentence) + "\n";
  return text;
}

TEST(CorpusCommand, WritesTheSentencesThatTrainingUses) {
  const TemporaryFolder folder;
  const ProcessResult result =
      semfuse_program({"corpus", "--seed", "7", "--train", "300", "--val", "40", "--out", folder / "new/corpus"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("train.txt: 300 sentences"));
  Experiment experiment;
  experiment.seed = 7;
  experiment.corpus.train = 300;
  experiment.corpus.val = 40;
  const Corpus expected = make_synthetic_corpus(synthetic_corpus_options(experiment));
  EXPECT_EQ(Process::text(folder / "new/corpus/train.txt"), lines(expected.train));
  EXPECT_EQ(Process::text(folder / "new/corpus/val.txt"), lines(expected.val));
}

TEST(CorpusCommand, HeldOutWordsAndClauses) {
  const TemporaryFolder folder;
  const auto words_of = [&](const std::string& name, const std::string& held_out) {
    EXPECT_EQ(semfuse_program(
                  {"corpus", "--train", "400", "--second-clause", "0", "--held-out", held_out, "--out", folder / name})
                  .exit_code,
              0);
    return Process::text((folder / name) + "/train.txt");
  };
  EXPECT_THAT(words_of("none", "none"), testing::AllOf(testing::HasSubstr("great"), testing::HasSubstr("awful")));
  EXPECT_THAT(words_of("two", "great,awful"),
              testing::AllOf(testing::Not(testing::HasSubstr("great")), testing::Not(testing::HasSubstr("awful")),
                             testing::HasSubstr("excellent")));
  EXPECT_THAT(words_of("random", "random"), testing::Not(testing::HasSubstr(" and ")));
}

TEST(CorpusCommand, RefusesToOverwrite) {
  const TemporaryFolder folder;
  std::ofstream(folder / "val.txt") << "mine";
  expect_refused({"corpus", "--train", "2", "--val", "2", "--out", folder.path().string()},
                 "val.txt: is already there");
  EXPECT_EQ(Process::text(folder / "val.txt"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder / "train.txt"));
}

TEST(CorpusCommand, RefusesImpossibleNumbers) {
  const TemporaryFolder folder;
  const std::string out = folder / "corpus";
  expect_refused({"corpus", "--train", "99999999999", "--out", out}, "--train: corpus.train is 99999999999");
  expect_refused({"corpus", "--train", "999999999999999999999999", "--out", out},
                 "--train: corpus.train wants a whole number");
  expect_refused({"corpus", "--train", "-1", "--out", out}, "--train");
  expect_refused({"corpus", "--val", "nan", "--out", out}, "--val");
  expect_refused({"corpus", "--seed", "", "--out", out}, "--seed");
  expect_refused({"corpus", "--second-clause", "1.5", "--out", out}, "--second-clause");
  expect_refused({"corpus", "--held-out", "grate", "--out", out}, "grate");
  expect_refused({"corpus", "--out", ""}, "--out is empty");
  expect_refused({"corpus", "--out", "/proc/nowhere"}, "/proc/nowhere");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace semfuse
