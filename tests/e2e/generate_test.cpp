#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/semfuse_program.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class GenerateCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ASSERT_EQ(semfuse_program(tiny_training(run(), {"--preset", "paper-fusion"})).exit_code, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string run() { return *folder_ / "run"; }

  static ProcessResult generate(const Arguments& more) {
    Arguments arguments = {"generate", run()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return semfuse_program(arguments);
  }
  static void expect_generate_refused(const Arguments& more, const std::string& part) {
    Arguments arguments = {"generate", run()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, part);
  }
  static std::string grammar_file(const std::string& text) {
    const std::string path = *folder_ / "grammar.gbnf";
    std::ofstream(path) << text;
    return path;
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(GenerateCommand, PrintsOneSentenceALine) {
  const ProcessResult result = generate({"--n", "5", "--seed", "1", "--grammar", "one-clause"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto lines = text_lines(result.out);
  ASSERT_EQ(lines.size(), 5u);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, testing::MatchesRegex("[A-Z][a-z]+ [a-z]+ the [a-z]+, [a-z]+ [a-z]+[.!?]"));
  }
}

TEST_F(GenerateCommand, TheSameForAnyNumberOfThreads) {
  const std::string one = generate({"--n", "40", "--seed", "3", "--max-tokens", "12", "--threads", "1"}).out;
  EXPECT_EQ(text_lines(one).size(), 40u);
  EXPECT_EQ(one, generate({"--n", "40", "--seed", "3", "--max-tokens", "12", "--threads", "3"}).out);
  EXPECT_NE(one, generate({"--n", "40", "--seed", "4", "--max-tokens", "12"}).out);
}

TEST_F(GenerateCommand, ThePromptIsPartOfTheSentence) {
  const ProcessResult result = generate({"--n", "3", "--grammar", "two-clause", "--prompt", "Carol starts the model,"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& line : text_lines(result.out))
    EXPECT_THAT(line, testing::StartsWith("Carol starts the model, "));
}

TEST_F(GenerateCommand, JsonHoldsTextTokensAndLogProbabilities) {
  const ProcessResult result = generate({"--n", "2", "--json", "--preset", "paper-positive", "--explain"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& line : text_lines(result.out)) {
    const nlohmann::json json = nlohmann::json::parse(line);
    EXPECT_EQ(json["tokens"].size(), 9u);
    EXPECT_EQ(json["tokens"].back(), "<eos>");
    EXPECT_EQ(json["tokens"][7], "!");
    EXPECT_EQ(json["log_probabilities"].size(), 9u);
    EXPECT_EQ(json["grammar_state"], "complete");
    EXPECT_EQ(json["finish"], "end");
    for (const nlohmann::json& token : json["explanation"]) {
      EXPECT_NEAR(token["grammar"].get<double>(),
                  token["model"].get<double>() / (1.0 - token["removed_by_grammar"].get<double>()), 1e-6);
    }
  }
}

TEST_F(GenerateCommand, ExplainPrintsATable) {
  const ProcessResult result =
      generate({"--grammar", "one-clause", "--control", "neg_high=0.95,is_question=1", "--explain"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the model alone"));
  EXPECT_THAT(result.out, HasSubstr("adjective"));
  EXPECT_THAT(result.out, HasSubstr("?"));
}

TEST_F(GenerateCommand, ABudgetThatEndsFirstIsSaid) {
  const ProcessResult result = generate({"--grammar", "one-clause", "--max-tokens", "3", "--n", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 of 2 sentences are not in the language: --max-tokens 3"));
  const auto json = nlohmann::json::parse(generate({"--grammar", "one-clause", "--max-tokens", "3", "--json"}).out);
  EXPECT_EQ(json["finish"], "max_tokens");
  EXPECT_EQ(json["grammar_state"], "incomplete");
  EXPECT_FALSE(json["expected"].empty());
}

TEST_F(GenerateCommand, ASentenceIsClosedBeforeTheBudgetEnds) {
  const std::string path = grammar_file("root ::= \"Eve\" (\" and Eve\")* \".\"\n");
  const ProcessResult result = generate({"--grammar", path, "--max-tokens", "5", "--n", "20"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& line : text_lines(result.out)) EXPECT_THAT(line, testing::EndsWith("Eve."));
}

TEST_F(GenerateCommand, ReadsAGrammarFile) {
  const std::string path = grammar_file(
      "root ::= \"Eve\" rest\nrest ::= \" \" (\"reviews\" | \"trains\") \" the paper\" (\",\" rest | \".\")\n");
  const ProcessResult result = generate({"--n", "4", "--grammar", path, "--max-tokens", "60"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& line : text_lines(result.out)) EXPECT_THAT(line, testing::StartsWith("Eve "));
}

// The paper's models read both ways: what they say freely is "Carol Carol Carol ...".
TEST_F(GenerateCommand, SaysThatAModelWhichReadsBothWaysCannotGenerateFreely) {
  const ProcessResult result = generate({"--n", "1", "--max-tokens", "4"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("this model reads both ways and was not trained to generate; use --grammar"));
  EXPECT_THAT(generate({"--n", "1", "--grammar", "one-clause"}).err, testing::Not(HasSubstr("both ways")));
}

// A recursive grammar that counts far: too much to search for all ends.
TEST_F(GenerateCommand, SaysOnceWhereNoEndIsPromised) {
  const std::string path = grammar_file(
      "root ::= \"Eve\" tail\ntail ::= \" and\" tail \" and\" | (\" Eve\" | \" and Eve\"){0,65536} \".\"\n");
  const std::string warning = "one may come to where no token goes on\n";
  const ProcessResult result = generate({"--grammar", path, "--n", "3"});
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), result.exit_code == 0 ? 1 : 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr(warning));
  EXPECT_EQ(result.err.find(warning), result.err.rfind(warning));
  EXPECT_THAT(generate({"--n", "1", "--grammar", "one-clause"}).err, testing::Not(HasSubstr(warning)));
}

TEST_F(GenerateCommand, RefusesBadInput) {
  expect_generate_refused({"--prompt", "Carol flies"}, "word 2 \"flies\"");
  expect_generate_refused({"--prompt", "starts", "--grammar", "one-clause"}, "word 1 \"starts\"");
  expect_generate_refused({"--control", "pos_high=0.9"}, "--grammar");
  expect_generate_refused({"--control", "pos_hihg=0.9", "--grammar", "one-clause"}, "did you mean \"pos_high\"");
  expect_generate_refused({"--control", "pos_high=2", "--grammar", "one-clause"}, "from 0 to 1");
  expect_generate_refused({"--preset", "paper-postive"}, "paper-positive");
  expect_generate_refused({"--grammar", "one-claus"}, "one-clause");
  expect_generate_refused({"--grammar", "/nowhere/x.gbnf"}, "/nowhere/x.gbnf");
  expect_generate_refused({"--temperature", "-1"}, "temperature");
  expect_generate_refused({"--temperature", "nan"}, "temperature");
  expect_generate_refused({"--top-p", "0"}, "top-p");
  expect_generate_refused({"--top-k", "-3"}, "--top-k");
  expect_generate_refused({"--max-tokens", "0"}, "max-tokens");
  expect_generate_refused({"--max-tokens", "99999999999"}, "max-tokens");
  expect_generate_refused({"--n", "-1"}, "--n");
  expect_generate_refused({"--tempreature", "1"}, "--temperature");
  expect_generate_refused({"--grammar", grammar_file("root ::= \"Zoe\"\n")}, "vocabulary");
  expect_generate_refused({"--grammar", grammar_file("root ::= (\"a\"\n")}, "grammar.gbnf:");
  expect_generate_refused({"--grammar", grammar_file("")}, "root");
  expect_refused({"generate", "/nowhere"}, "/nowhere");
  expect_refused({"generate"}, "RUN");
}

TEST_F(GenerateCommand, RefusesOptionsThatWouldBeIgnored) {
  expect_generate_refused({"--greedy", "--temperature", "0.5"}, "--greedy is --temperature 0");
  expect_generate_refused({"--greedy", "--top-p", "0.5"}, "--top-p");
  expect_generate_refused({"--temperature", "0", "--top-k", "5"}, "--top-k");
  expect_generate_refused({"--last-k", "5"}, "--repetition-penalty");
  expect_generate_refused({"--nucleus", "paper"}, "--top-p");
  const Arguments controlled = {"--grammar", "one-clause", "--control"};
  const auto with_control = [&](const Arguments& more) {
    Arguments arguments = controlled;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_generate_refused({"--grammar", "one-clause", "--soft-only"}, "--control");
  expect_generate_refused({"--grammar", "one-clause", "--alpha", "0.5"}, "hard request");
  expect_generate_refused(with_control({"pos_high=0.5", "--mixture-top-p", "0.5"}), "hard request");
  expect_generate_refused(with_control({"pos_high=0.9", "--soft-only", "--alpha", "0.5"}), "hard request");
  expect_generate_refused(with_control({"pos_high=0.9,pos_high=0.2"}), "pos_high is set twice");
  expect_generate_refused(with_control({"pos_high=0.9", "--control", "pos_high=0.2"}), "pos_high is set twice");
  expect_generate_refused(with_control({"pos_high=0.9,neg_high=0.2"}), "set one of them, here pos_high=0.7");
  expect_generate_refused(with_control({"str_high=0.9,str_med=0.2"}), "set one of them");
  const ProcessResult good = generate(with_control({"pos_high=0.9", "--alpha", "0.5", "--greedy"}));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(generate({"--preset", "paper-negative", "--nucleus", "usual", "--last-k", "2"}).exit_code, 0);
}

TEST_F(GenerateCommand, NoSentencesAreNoLines) {
  const ProcessResult result = generate({"--n", "0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
}

TEST_F(GenerateCommand, GrammarCheckSaysWhereASentenceLeaves) {
  const ProcessResult good =
      semfuse_program({"grammar", "check", "two-clause", "--run", run(),
                       "Alice reviews the paper, very good and she trains the model, slightly bad."});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("in the language"));
  const ProcessResult bad = semfuse_program({"grammar", "check", "one-clause", "Alice reviews the paper very good!"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("not in the language"));
  EXPECT_THAT(bad.out, HasSubstr("after \"Alice reviews the paper\" (byte 23)"));
  EXPECT_THAT(bad.out, HasSubstr("\",\""));
  const ProcessResult several = semfuse_program({"grammar", "check", "one-clause", "--json", "Alice", "Eve", "Bob"});
  EXPECT_EQ(nlohmann::json::parse(several.out)["sentences"].size(), 3u);
  expect_refused({"grammar", "check", grammar_file("root ::= x\n")}, "grammar.gbnf:1:10");
  const ProcessResult bracketed = semfuse_program({"grammar", "check", "json", "--json", "[1,2]", "[]", "[[3], 4]"});
  EXPECT_EQ(bracketed.exit_code, 0) << bracketed.out;
  EXPECT_EQ(nlohmann::json::parse(bracketed.out)["sentences"][0]["text"], "[1,2]");
  EXPECT_EQ(nlohmann::json::parse(bracketed.out)["sentences"].size(), 3u);
  expect_refused({"grammar", "[check]", "one-clause"}, "[check] not in {check,from-schema,from-regex}");
  expect_refused({"inspect", "run", "[a,b]"}, "unexpected argument \"[a,b]\"");
  expect_refused({"grammar", "chekc", "one-clause"}, "check");
  expect_refused({"grammar", "check"}, "FILE");
}

TEST_F(GenerateCommand, GrammarsAreMadeOfSchemasAndExpressions) {
  const ProcessResult regex = semfuse_program({"grammar", "from-regex", "[A-Z][a-z]+ [0-9]{1,3}"});
  ASSERT_EQ(regex.exit_code, 0) << regex.err;
  EXPECT_EQ(semfuse_program({"grammar", "check", grammar_file(regex.out), "Abc 12"}).exit_code, 0);
  EXPECT_EQ(semfuse_program({"grammar", "check", "regex:[A-Z][a-z]+", "Abc"}).exit_code, 0);
  EXPECT_EQ(semfuse_program({"grammar", "check", "regex:[A-Z][a-z]+", "abc"}).exit_code, 1);
  expect_refused({"grammar", "from-regex", "(a"}, "regex:1:1");
  const std::string path = run() + "-person.json";
  std::ofstream(path) << R"({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})";
  EXPECT_EQ(semfuse_program({"grammar", "check", path, "{\"age\": 7}"}).exit_code, 0);
  EXPECT_EQ(semfuse_program({"grammar", "check", path, "{\"age\": \"7\"}"}).exit_code, 1);
  const ProcessResult schema = semfuse_program({"grammar", "from-schema", path, "--whitespace", "none", "--any-order"});
  ASSERT_EQ(schema.exit_code, 0) << schema.err;
  EXPECT_EQ(semfuse_program({"grammar", "check", grammar_file(schema.out), "{\"age\":7}"}).exit_code, 0);
  EXPECT_EQ(semfuse_program({"grammar", "check", grammar_file(schema.out), "{\"age\": 7}"}).exit_code, 1);
  std::ofstream(path) << R"({"properties": {"age": {"not": {}}}})";
  expect_refused({"grammar", "from-schema", path}, "person.json#/properties/age/not");
}

TEST_F(GenerateCommand, GrammarCheckSaysErrorsInJsonToo) {
  const ProcessResult result = semfuse_program({"grammar", "check", "--json", grammar_file("root ::= x\n"), "x"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("grammar.gbnf:1:10"));
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["well_formed"], false);
  EXPECT_THAT(json["error"].get<std::string>(), HasSubstr("grammar.gbnf:1:10"));
}

TEST_F(GenerateCommand, AnExplanationOfNothingIsEmpty) {
  const ProcessResult result = generate({"--prompt", "Alice", "--max-tokens", "1", "--explain", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["explanation"], nlohmann::json::array());
}

}  // namespace
}  // namespace semfuse
