#include "judge/linear_judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "judge/judge_training.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

const char* const kWords[] = {"fine", "good", "great", "bad", "awful", "poor"};

// "number 12 was not good", with the label that follows from its words: "not" turns it round.
LabelledTexts labelled(const std::string& knob_text, std::size_t count, std::size_t first = 0) {
  const Knob knob = parse_knob(knob_text);
  LabelledTexts texts(knob, {.bits = 14, .order = 2});
  for (std::size_t i = first; i < first + count; ++i) {
    const std::size_t word = i % 6;
    const bool negated = i % 4 == 0;
    const bool positive = (word < 3) != negated;
    KnobLabel label;
    if (knob.kind == KnobKind::probability) ++(positive ? label.positive : label.negative);
    if (knob.kind == KnobKind::distribution) label.label = word % 3;
    if (knob.kind == KnobKind::scalar) label.value = 1.0 + static_cast<double>(word % 5);
    texts.add(fmt::format("number {} was {}{}", i, negated ? "not " : "", kWords[word]), label);
  }
  return texts;
}

TEST(LinearJudge, LearnsYesAndNoLabelsAndNumbers) {
  const TrainedJudge binary = train_judge(labelled("p: probability of column p", 600));
  EXPECT_GT(quality_of(binary.judge, labelled("p: probability of column p", 200, 1000)).accuracy, 0.97);
  EXPECT_GT(binary.quality.accuracy, 0.95);
  EXPECT_GT(binary.judge.judge(std::vector<std::string>{"it was great"})[0], 0.8);
  EXPECT_LT(binary.judge.judge(std::vector<std::string>{"it was not great"})[0], 0.3);

  const TrainedJudge several = train_judge(labelled("t: distribution of column t over a b c", 600));
  EXPECT_GT(quality_of(several.judge, labelled("t: distribution of column t over a b c", 200, 1000)).accuracy, 0.97);
  const std::vector<double> shares = several.judge.judge(std::vector<std::string>{"it was bad"});
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1.0, 1e-9);
  EXPECT_EQ(decided(several.judge.knob(), shares).label, 0u);

  const TrainedJudge number = train_judge(labelled("s: scalar of column s from 1 to 5", 600));
  EXPECT_GT(quality_of(number.judge, labelled("s: scalar of column s from 1 to 5", 200, 1000)).correlation, 0.97);
  EXPECT_NEAR(number.judge.judge(std::vector<std::string>{"it was awful"})[0], 5.0, 0.5);
}

TEST(LinearJudge, SaysNoMoreThanItKnows) {
  // The label has nothing to do with the text, and is 1 in three cases of ten.
  LabelledTexts texts(parse_knob("p: probability of column p"), {.bits = 14, .order = 2});
  for (std::size_t i = 0; i < 2000; ++i) {
    KnobLabel label;
    ++((i * 7919) % 10 < 3 ? label.positive : label.negative);
    texts.add(fmt::format("a {} b {} c {}", i % 7, i % 11, i), label);
  }
  const TrainedJudge trained = train_judge(texts);
  EXPECT_LT(trained.quality.calibration_error, 0.08);
  EXPECT_LT(trained.quality.log_loss, 0.66);
}

TEST(LinearJudge, IsAFunctionOfItsSeedAndSurvivesItsFile) {
  const LabelledTexts texts = labelled("p: probability of column p", 300);
  const LinearJudge judge = train_judge(texts).judge;
  EXPECT_EQ(train_judge(texts).judge.bytes(), judge.bytes());
  double done = 0.0;
  EXPECT_EQ(train_judge(texts, {.on_progress = [&](double share) { done = share; }}).judge.bytes(), judge.bytes());
  EXPECT_EQ(done, 1.0);
  EXPECT_NE(train_judge(texts, {.seed = 2}).judge.bytes(), judge.bytes());
  TemporaryFolder folder;
  std::ofstream(folder / "j.safetensors", std::ios::binary) << judge.bytes();
  const LinearJudge loaded = LinearJudge::load(folder / "j.safetensors");
  EXPECT_EQ(loaded.bytes(), judge.bytes());
  EXPECT_EQ(loaded.fingerprint(), judge.fingerprint());
  EXPECT_EQ(loaded.knob(), judge.knob());
  const std::vector<std::string> said = {"number 3 was good", "", "strange words only"};
  EXPECT_EQ(loaded.judge(said), judge.judge(said));
}

TEST(LinearJudge, LeavesOutWhatDoesNotTakePart) {
  const LabelledTexts texts = labelled("p: probability of column p", 600);
  // Those that take part are labelled the other way round: had any other been learned from, it would show.
  LabelledTexts mixed(texts.knob(), {.bits = 14, .order = 2});
  for (std::size_t i = 0; i < 1200; ++i) {
    KnobLabel label;
    const bool is_good = i % 2 == 0;
    ++(is_good == (i < 600) ? label.positive : label.negative);
    mixed.add(fmt::format("number {} was {}", i, is_good ? "good" : "bad"), label);
  }
  const LinearJudge judge = train_judge(mixed, {}, [](std::size_t text) { return text >= 600; }).judge;
  EXPECT_LT(judge.judge(std::vector<std::string>{"it was good"})[0], 0.2);
}

TEST(LinearJudge, RefusesTooFewTextsAndOneLabel) {
  const auto error = [](const LabelledTexts& texts) {
    try {
      train_judge(texts);
    } catch (const Error& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  EXPECT_THAT(error(labelled("p: probability of column p", 5)), HasSubstr("label more"));
  LabelledTexts same(parse_knob("p: probability of column p"), {.bits = 14, .order = 2});
  for (int i = 0; i < 100; ++i) same.add(fmt::format("text {}", i), {.positive = 1});
  EXPECT_THAT(error(same), HasSubstr("the same label"));
}

TEST(LinearJudge, RefusesFilesOfOtherThings) {
  const auto error = [](const auto& change) {
    TensorArchiveWriter writer;
    std::vector<std::int32_t> slots = {3, 7};
    std::vector<float> weights = {0.5f, -1.0f}, bias = {0.0f};
    std::map<std::string, std::string> metadata = {
        {"format", "semfuse-judge-1"}, {"knob", "p: probability of column p"}, {"bits", "10"}, {"order", "2"}};
    change(metadata, slots, weights);
    for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
    writer.add("slots", {slots.size()}, std::span<const std::int32_t>(slots));
    writer.add("weights", {weights.size(), 1}, std::span<const float>(weights));
    writer.add("bias", {1}, std::span<const float>(bias));
    const std::string bytes = writer.encode();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    try {
      LinearJudge::parse(TensorArchive::parse({begin, begin + bytes.size()}, "j"), "j");
    } catch (const Error& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  using Meta = std::map<std::string, std::string>;
  using Slots = std::vector<std::int32_t>;
  using Weights = std::vector<float>;
  EXPECT_EQ(error([](Meta&, Slots&, Weights&) {}), "");
  EXPECT_THAT(error([](Meta& meta, Slots&, Weights&) { meta["format"] = "other"; }), HasSubstr("format"));
  EXPECT_THAT(error([](Meta& meta, Slots&, Weights&) { meta["knob"] = "p"; }), HasSubstr("metadata knob"));
  EXPECT_THAT(error([](Meta& meta, Slots&, Weights&) { meta["bits"] = "99"; }), HasSubstr("metadata bits"));
  EXPECT_THAT(error([](Meta& meta, Slots&, Weights&) { meta["order"] = "x"; }), HasSubstr("metadata order"));
  EXPECT_THAT(error([](Meta&, Slots& slots, Weights&) { slots = {7, 3}; }), HasSubstr("ascending"));
  EXPECT_THAT(error([](Meta&, Slots& slots, Weights&) { slots = {3, 1024}; }), HasSubstr("ascending"));
  EXPECT_THAT(error([](Meta&, Slots&, Weights& weights) { weights.push_back(1.0f); }), HasSubstr("weights"));
  EXPECT_THAT(error([](Meta&, Slots&, Weights& weights) { weights[0] = INFINITY; }), HasSubstr("not finite"));
}

}  // namespace
}  // namespace semfuse
