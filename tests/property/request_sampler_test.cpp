// Calibration by construction, without any model: of the sentences and settings that training sees, those that state x
// have the label with probability x.
#include "training/request_sampler.h"
#include "semfuse/synthetic_corpus.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "core/random.h"
#include "data/sentence_dataset.h"

namespace semfuse {
namespace {

constexpr std::size_t kDraws = 400'000;
constexpr std::size_t kBins = 20;
constexpr double kSigmas = 4.5;

// What was seen of a label among requests whose value lay in a bin.
struct Bin {
  double hits = 0.0;
  double labels = 0.0;
  double asked = 0.0;

  void add(double hit, double label, double x) {
    hits += hit;
    labels += label;
    asked += x * label;
  }
  // The bins of a calibrated knob differ from what was asked by sampling error alone.
  void expect_calibrated(const std::string& what) const {
    ASSERT_GT(labels, 100.0) << what;
    const double p = asked / labels;
    // Labels of one sentence share their x and so are not quite independent draws of a bin: a bin is narrow.
    const double deviation = std::sqrt(p * (1.0 - p) / labels) + 1e-9;
    EXPECT_NEAR(hits / labels, p, kSigmas * deviation) << what;
  }
};

std::size_t bin_of(double x) {
  return std::min(kBins - 1, static_cast<std::size_t>(x * kBins));
}

// Sentences of one to three adjectives that are positive with a probability that depends on the mark, marks being far
// from even: labels in proportions that nobody asked for, and dependent.
std::vector<Sentence> skewed_corpus() {
  std::vector<Sentence> sentences;
  for (std::size_t i = 0; i < 3000; ++i) {
    RandomStream random(7, RandomPurpose::corpus_train, i);
    const std::array<const char*, 3> marks = {".", "!", "?"};
    const double u = random.next_uniform();
    const std::size_t mark = u < 0.75 ? 0 : u < 0.95 ? 1 : 2;
    const double positive = std::array{0.3, 0.85, 0.5}[mark];
    Sentence sentence;
    const std::size_t count = 1 + random.next_below(3);
    for (std::size_t k = 0; k < count; ++k) sentence.emplace_back(random.next_uniform() < positive ? "good" : "bad");
    sentence.emplace_back(marks[mark]);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// A dataset of the sentences' labels.
SentenceDataset labelled(const std::vector<Sentence>& sentences, const std::vector<Knob>& knobs) {
  std::vector<std::string> words;
  for (const Sentence& sentence : sentences) words.insert(words.end(), sentence.begin(), sentence.end());
  const Lexicon lexicon = synthetic_lexicon();
  return {sentences, Vocabulary::from_words(words), {.knobs = knobs, .lexicon = &lexicon}};
}

std::vector<Knob> knobs() {
  return {parse_knob("polarity: probability of polarity"), parse_knob("mark: distribution of final_mark over . ! ?")};
}

void expect_calibrated(double ends, std::size_t draws) {
  const std::vector<Sentence> sentences = skewed_corpus();
  const SentenceDataset dataset = labelled(sentences, knobs());
  const Lexicon lexicon = synthetic_lexicon();
  const RequestSampler sampler(knobs(), dataset, {.stated = 0.5, .noise = 0.05, .ends = ends, .seed = 3});
  // By what else is stated: a knob must mean the same with and without the other.
  std::map<std::string, std::array<Bin, kBins>> polarity;
  std::map<std::string, std::array<Bin, kBins>> mark;
  for (std::size_t i = 0; i < draws; ++i) {
    std::size_t sentence = i % sentences.size();
    const std::vector<KnobSetting> settings = sampler.draw(i / sentences.size(), i % sentences.size(), sentence);
    const std::string with = settings.size() == 2 ? "both" : "alone";
    for (const KnobSetting& setting : settings) {
      const Knob knob = knobs()[setting.knob == "mark"];
      const KnobLabel label = read_label(knob, sentences[sentence], lexicon);
      if (setting.knob == "polarity") {
        const auto positive = static_cast<double>(label.positive);
        polarity[with][bin_of(setting.values[0])].add(positive, positive + static_cast<double>(label.negative),
                                                      setting.values[0]);
      } else {
        for (std::size_t m = 0; m < 3; ++m) {
          mark[with + knob.labels[m]][bin_of(setting.values[m])].add(label.label == m, 1.0, setting.values[m]);
        }
      }
    }
  }
  ASSERT_EQ(polarity.size(), 2u);
  ASSERT_EQ(mark.size(), 6u);
  for (const auto* knob : {&polarity, &mark}) {
    for (const auto& [with, bins] : *knob) {
      for (std::size_t b = 0; b < kBins; ++b) bins[b].expect_calibrated(with + " bin " + std::to_string(b));
    }
  }
}

TEST(RequestSampler, WhatIsStatedIsCalibrated) {
  expect_calibrated(/*ends=*/0.0, kDraws);
}

TEST(RequestSampler, WhatIsStatedIsCalibratedWithEndsToo) {
  expect_calibrated(/*ends=*/0.5, kDraws / 2);
}

TEST(RequestSampler, AShareOfTheRequestsIsExactlyWhatTheSentenceShows) {
  const std::vector<Sentence> sentences = skewed_corpus();
  const SentenceDataset dataset = labelled(sentences, knobs());
  const Lexicon lexicon = synthetic_lexicon();
  const RequestSampler sampler(knobs(), dataset, {.stated = 1.0, .noise = 0.05, .ends = 0.3, .seed = 3});
  std::array<std::size_t, 2> ends = {};
  std::array<std::size_t, 2> positive = {};  // Of the sentences that were asked for a polarity of 0 and 1.
  constexpr std::size_t kFew = 20'000;
  for (std::size_t i = 0; i < kFew; ++i) {
    std::size_t sentence = i % sentences.size();
    const std::vector<KnobSetting> settings = sampler.draw(i / sentences.size(), i % sentences.size(), sentence);
    const KnobLabel polarity = read_label(knobs()[0], sentences[sentence], lexicon);
    const KnobLabel mark = read_label(knobs()[1], sentences[sentence], lexicon);
    const double share =
        static_cast<double>(polarity.positive) / static_cast<double>(polarity.positive + polarity.negative);
    const double asked = settings[0].values[0];
    ends[0] += asked == share ? 1 : 0;
    if (asked == 0.0 || asked == 1.0) {
      EXPECT_EQ(share, asked);
      ++positive[asked == 1.0 ? 1 : 0];
    }
    for (std::size_t m = 0; m < 3; ++m) {
      if (settings[1].values[m] < 1.0) continue;
      EXPECT_EQ(mark.label, m);
      ++ends[1];
    }
  }
  for (const std::size_t count : ends) EXPECT_NEAR(static_cast<double>(count) / kFew, 0.3, 0.015);
  EXPECT_NEAR(static_cast<double>(positive[0]) / static_cast<double>(positive[1]), 1.0, 0.15);
}

TEST(RequestSampler, WithoutALabelThereIsNoEnd) {
  const std::vector<Sentence> sentences = {split_words("good ."), split_words("the")};
  const SentenceDataset dataset = labelled(sentences, knobs());
  const RequestSampler sampler(knobs(), dataset, {.stated = 1.0, .noise = 0.05, .ends = 1.0, .seed = 3});
  std::size_t without = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    std::size_t sentence = 1;
    for (const KnobSetting& setting : sampler.draw(i, 0, sentence)) {
      if (sentence != 1) continue;
      ++without;
      for (const double value : setting.values) EXPECT_TRUE(value > 0.0 && value < 1.0) << setting.knob;
    }
  }
  EXPECT_GT(without, 0u);
}

TEST(RequestSampler, WithNothingStatedTheCorpusIsAsItWas) {
  const std::vector<Sentence> sentences = skewed_corpus();
  const SentenceDataset dataset = labelled(sentences, knobs());
  const RequestSampler sampler(knobs(), dataset, {.stated = 0.5, .noise = 0.05, .seed = 3});
  std::size_t unstated = 0;
  for (std::size_t place = 0; place < sentences.size(); ++place) {
    std::size_t sentence = place;
    if (!sampler.draw(0, place, sentence).empty()) continue;
    EXPECT_EQ(sentence, place);
    ++unstated;
  }
  EXPECT_NEAR(static_cast<double>(unstated), 0.25 * static_cast<double>(sentences.size()), 110.0);
}

TEST(RequestSampler, TheNumberOfLabelsDoesNotDependOnWhatIsStated) {
  const std::vector<Sentence> sentences = skewed_corpus();
  const SentenceDataset dataset = labelled(sentences, knobs());
  const RequestSampler sampler(knobs(), dataset, {.stated = 1.0, .noise = 0.05, .seed = 3});
  std::map<std::size_t, double> in_corpus;
  std::map<std::size_t, double> drawn;
  for (const Sentence& sentence : sentences) in_corpus[sentence.size()] += 1.0 / static_cast<double>(sentences.size());
  constexpr std::size_t kFew = 60'000;
  for (std::size_t i = 0; i < kFew; ++i) {
    std::size_t sentence = i % sentences.size();
    sampler.draw(i / sentences.size(), i % sentences.size(), sentence);
    drawn[sentences[sentence].size()] += 1.0 / static_cast<double>(kFew);
  }
  for (const auto& [size, share] : in_corpus) EXPECT_NEAR(drawn[size], share, 0.01) << size;
}

// Texts whose column says positive of all of them, and a judge what it finds.
class SoftDataset : public Dataset {
 public:
  explicit SoftDataset(std::vector<float> soft) : soft_(std::move(soft)) {}
  std::size_t size() const override { return soft_.size(); }
  std::span<const TokenId> ids(std::size_t) const override { return {}; }
  std::size_t num_features() const override { return 0; }
  void copy_features(std::size_t, std::span<float>) const override {}
  KnobLabel label(std::size_t, std::size_t) const override { return {.positive = 1}; }
  std::span<const float> soft_label(std::size_t text, std::size_t) const override { return {&soft_[text], 1}; }
  std::uint64_t num_bytes() const override { return 0; }

 private:
  std::vector<float> soft_;
};

// Among texts that state x, P(positive | x) = x, positive being drawn with the text's own probability p. So p has the
// mean x E[p | positive] + (1 - x) E[p | negative].
TEST(RequestSampler, SoftLabelsAreDrawnAnewAndStayCalibrated) {
  std::vector<float> soft;
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < 2000; ++i) {
    soft.push_back(i % 4 == 0 ? 0.05f : i % 4 == 1 ? 0.5f : 0.95f);
    sum += static_cast<double>(soft.back());
    squares += static_cast<double>(soft.back()) * static_cast<double>(soft.back());
  }
  const double of_positive = squares / sum, of_negative = (sum - squares) / (2000.0 - sum);
  const SoftDataset dataset(soft);
  const RequestSampler sampler({parse_knob("p: probability of column p")}, dataset, {.stated = 1.0, .seed = 3});
  std::array<double, 10> count{}, asked{}, found{};
  for (std::size_t i = 0; i < 100'000; ++i) {
    std::size_t text = i % soft.size();
    const double x = sampler.draw(i / soft.size(), i % soft.size(), text)[0].values[0];
    const auto bin = std::min<std::size_t>(static_cast<std::size_t>(10.0 * x), 9);
    ++count[bin];
    asked[bin] += x;
    found[bin] += static_cast<double>(soft[text]);
  }
  for (std::size_t bin = 0; bin < 10; ++bin) {
    const double x = asked[bin] / count[bin];
    EXPECT_NEAR(count[bin], 10'000.0, 700.0) << bin;
    EXPECT_NEAR(found[bin] / count[bin], x * of_positive + (1.0 - x) * of_negative, 0.02) << bin;
  }
}

TEST(RequestSampler, AScalarIsNearTheSentences) {
  const std::vector<Sentence> sentences = {split_words("slightly good ."), split_words("extremely bad .")};
  const std::vector<Knob> strength = {parse_knob("strength: scalar of strength from 0.2 to 1")};
  const SentenceDataset dataset = labelled(sentences, strength);
  const RequestSampler sampler(strength, dataset, {.stated = 1.0, .noise = 0.05, .seed = 3});
  double sum = 0.0;
  constexpr std::size_t kFew = 20'000;
  for (std::size_t i = 0; i < kFew; ++i) {
    std::size_t sentence = i % 2;
    const double asked = sampler.draw(i / 2, i % 2, sentence).at(0).values.at(0);
    EXPECT_TRUE(asked >= 0.2 && asked <= 1.0);
    sum += std::abs(asked - (sentence == 0 ? 0.2 : 1.0));
  }
  // Half of the noise falls beyond the end of the range.
  EXPECT_NEAR(sum / kFew, 0.05 * 0.8 * std::sqrt(2.0 / std::numbers::pi) / 2.0, 0.001);
}

// Lengths of 2 to 9 words, of which the knob has 4 to 7; long ones are mostly bad.
std::vector<Sentence> sentences_of_many_lengths() {
  std::vector<Sentence> sentences;
  for (std::size_t i = 0; i < 4000; ++i) {
    RandomStream random(8, RandomPurpose::corpus_train, i);
    const std::size_t size = 2 + random.next_below(8);
    Sentence sentence(size - 1, "the");
    sentence.front() = random.next_uniform() < (size > 7 ? 0.1 : 0.6) ? "good" : "bad";
    sentence.emplace_back(".");
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

TEST(RequestSampler, AWholeNumberIsHardlyTakenForItsNeighbour) {
  const std::vector<Sentence> sentences = sentences_of_many_lengths();
  const std::vector<Knob> length = {parse_knob("length: scalar of length from 2 to 40")};
  const SentenceDataset dataset = labelled(sentences, length);
  const RequestSampler sampler(length, dataset, {.stated = 1.0, .noise = 0.05, .seed = 3});
  std::size_t nearest = 0;
  for (std::size_t place = 0; place < sentences.size(); ++place) {
    std::size_t sentence = place;
    const double asked = sampler.draw(0, place, sentence).at(0).values.at(0);
    nearest += std::abs(asked - static_cast<double>(sentences[sentence].size())) < 0.5 ? 1 : 0;
  }
  // 0.2 words; 0.05 of the range would be 1.9, and right one time in five.
  EXPECT_GT(nearest, sentences.size() * 97 / 100);
}

TEST(RequestSampler, WhatIsOutOfAScalarsRangeIsNotAskedForItsEnd) {
  const std::vector<Sentence> sentences = sentences_of_many_lengths();
  const std::vector<Knob> both = {parse_knob("length: scalar of length from 4 to 7"),
                                  parse_knob("polarity: probability of polarity")};
  const SentenceDataset dataset = labelled(sentences, both);
  const RequestSampler sampler(both, dataset, {.stated = 0.5, .noise = 0.05, .seed = 3});
  std::array<std::array<Bin, kBins>, 2> polarity;  // Alone, and with a length.
  std::size_t unstated = 0, beyond = 0;
  for (std::size_t i = 0; i < kDraws / 4; ++i) {
    std::size_t sentence = i % sentences.size();
    const std::vector<KnobSetting> settings = sampler.draw(i / sentences.size(), sentence, sentence);
    const bool has_length = !settings.empty() && settings.front().knob == "length";
    const std::size_t size = sentences[sentence].size();
    if (has_length) {
      ASSERT_TRUE(size >= 4 && size <= 7);
      EXPECT_NEAR(settings.front().values[0], static_cast<double>(size), 1.0);
    }
    if (settings.empty()) {
      ++unstated;
      beyond += size < 4 || size > 7 ? 1 : 0;
    } else if (settings.back().knob == "polarity") {
      const double x = settings.back().values[0];
      polarity[has_length ? 1 : 0][bin_of(x)].add(sentences[sentence].front() == "good" ? 1.0 : 0.0, 1.0, x);
    }
  }
  // With nothing stated they are there as ever; and what is left of them shifts no other knob.
  EXPECT_NEAR(static_cast<double>(beyond) / static_cast<double>(unstated), 0.5, 0.03);
  for (const auto& bins : polarity) {
    for (std::size_t b = 0; b < kBins; ++b) bins[b].expect_calibrated("bin " + std::to_string(b));
  }
}

TEST(RequestSampler, IsAFunctionOfSeedEpochAndPlace) {
  const std::vector<Sentence> sentences = skewed_corpus();
  const SentenceDataset dataset = labelled(sentences, knobs());
  const RequestSampler one(knobs(), dataset, {.stated = 0.5, .noise = 0.05, .seed = 3});
  const RequestSampler same(knobs(), dataset, {.stated = 0.5, .noise = 0.05, .seed = 3});
  const RequestSampler other(knobs(), dataset, {.stated = 0.5, .noise = 0.05, .seed = 4});
  std::size_t different = 0;
  for (std::size_t place = 100; place-- > 0;) {
    std::size_t a = place, b = place, c = place;
    const std::vector<KnobSetting> first = one.draw(2, place, a);
    EXPECT_EQ(same.draw(2, place, b), first);
    EXPECT_EQ(a, b);
    different += other.draw(2, place, c) == first ? 0 : 1;
  }
  EXPECT_GT(different, 50u);
}

}  // namespace
}  // namespace semfuse
