#include "generation/knob_cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "core/random.h"
#include "generation/sampler.h"
#include "semfuse/class_words.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

std::vector<double> cell_logits_of(const std::vector<double>& probabilities) {
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(p == 0.0 ? -INFINITY : std::log(p) - 2.0);
  return logits;
}

// By cell.
std::vector<double> masses(const std::vector<TokenProbability>& distribution, const TokenCells& cells) {
  std::vector<double> result(cells.group.size());
  for (const auto& [id, probability] : distribution) result[cells.cell[static_cast<std::size_t>(id)]] += probability;
  return result;
}

constexpr std::array<SamplingOptions, 7> kSamplers = {{{.temperature = 0.5},
                                                       {.temperature = 1.7},
                                                       {.top_k = 1},
                                                       {.top_k = 3},
                                                       {.top_p = 0.5},
                                                       {.top_p = 0.6, .nucleus = Nucleus::paper},
                                                       {.temperature = 0.7, .top_k = 5, .top_p = 0.8}}};

// Tokens 0 and 1 say nothing, 2 to 4 one thing, 5 and 6 another.
const TokenCells kTwoCells = {.cell = {0, 0, 1, 1, 1, 2, 2}, .group = {0, 0, 0}, .num_groups = 1};

TEST(ShareKeepingDistribution, CellsHaveTheSharesOfTheSoftmax) {
  const std::vector<double> logits = cell_logits_of({0.05, 0.01, 0.3, 0.2, 0.1, 0.3, 0.04});
  for (const SamplingOptions& options : kSamplers) {
    const auto found = share_keeping_distribution(logits, options, kTwoCells);
    const std::vector<double> mass = masses(found, kTwoCells);
    EXPECT_NEAR(mass[1] / (mass[1] + mass[2]), 0.6 / 0.94, 1e-12);
    EXPECT_NEAR(mass[0] + mass[1] + mass[2], 1.0, 1e-12);
    // How probable it is that anything is said is the sampler's affair.
    EXPECT_NEAR(mass[0], masses(sampling_distribution(logits, options), kTwoCells)[0], 1e-12);
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, &TokenProbability::id));
  }
}

TEST(ShareKeepingDistribution, TheSamplerActsInsideACell) {
  const std::vector<double> logits = cell_logits_of({0.0, 0.0, 0.4, 0.2, 0.1, 0.2, 0.1});
  const auto tempered = share_keeping_distribution(logits, {.temperature = 0.5}, kTwoCells);
  ASSERT_EQ(tempered.size(), 5u);
  EXPECT_NEAR(tempered[0].probability, 0.7 * 16.0 / 21.0, 1e-12);
  EXPECT_NEAR(tempered[3].probability, 0.3 * 4.0 / 5.0, 1e-12);
  const auto cut = share_keeping_distribution(logits, {.top_k = 1}, kTwoCells);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].id, 2);
  EXPECT_NEAR(cut[0].probability, 0.7, 1e-12);
  EXPECT_EQ(cut[1].id, 5);
}

TEST(ShareKeepingDistribution, WhatTheSamplerCutsOffStaysOff) {
  const auto found =
      share_keeping_distribution(cell_logits_of({0.6, 0.3, 0.04, 0.01, 0.01, 0.03, 0.01}), {.top_k = 2}, kTwoCells);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].probability, 2.0 / 3.0, 1e-12);
  // Words that speak of another knob are no reason to let words of this one stand here.
  const TokenCells groups = {.cell = {0, 0, 1, 2, 2, 3, 3}, .group = {0, 0, 0, 1}, .num_groups = 2};
  const auto other =
      share_keeping_distribution(cell_logits_of({0.02, 0.02, 0.5, 0.2, 0.2, 0.03, 0.03}), {.top_k = 3}, groups);
  const std::vector<double> mass = masses(other, groups);
  EXPECT_NEAR(mass[1], 5.0 / 9.0, 1e-12);
  EXPECT_NEAR(mass[2], 4.0 / 9.0, 1e-12);
  EXPECT_EQ(mass[3], 0.0);
}

TEST(ShareKeepingDistribution, NothingLeftIsEmpty) {
  EXPECT_TRUE(share_keeping_distribution(cell_logits_of({0, 0, 0, 0, 0, 0, 0}), {.top_k = 2}, kTwoCells).empty());
  const auto one = share_keeping_distribution(cell_logits_of({0, 0, 0, 0, 0, 1e-300, 0}), {.top_k = 2}, kTwoCells);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].probability, 1.0);
}

class KnobShares : public testing::Test {
 protected:
  static LanguageModel model_with_knobs() {
    ModelOptions options = small_options(AttentionMask::causal, true);
    options.knobs = {
        parse_knob("polarity: probability of polarity"), parse_knob("strength: scalar of strength from 0.2 to 1"),
        parse_knob("mark: distribution of final_mark over . ! ?"), parse_knob("size: scalar of length from 8 to 16")};
    return random_model(options);
  }
  KnobSetting setting(const std::string& text) const { return parse_setting(model_.options().knobs, text); }
  std::size_t cell(const TokenCells& cells, const std::string& word) const {
    return cells.cell[static_cast<std::size_t>(*model_.vocabulary().find(word))];
  }
  GenerationRequest request(const std::string& gbnf, const std::vector<std::string>& knobs) const {
    GenerationRequest request{.max_tokens = 30, .seed = 5};
    request.grammar = std::make_shared<CompiledGrammar>(
        Grammar::parse(gbnf, "g", words_of(model_.feature_bank().lexicon())), TokenSurfaces::of(model_.vocabulary()));
    for (const std::string& text : knobs) request.knobs.push_back(setting(text));
    return request;
  }
  // How often words with each label end the sentence.
  std::map<int, double> shares(GenerationRequest request, const SamplingOptions& options, const Knob& knob) const {
    constexpr std::size_t kSentences = 4000;
    request.sampling = options;
    std::vector<GenerationRequest> requests(kSentences, request);
    for (std::size_t i = 0; i < kSentences; ++i) requests[i].index = i;
    std::map<int, double> result;
    for (const Generation& generation : Generator(model_).generate(requests)) {
      const KnobLabel label = read_label(knob, {generation.words.back()}, model_.feature_bank().lexicon());
      const int what = label.label   ? static_cast<int>(*label.label)
                       : label.value ? static_cast<int>(std::lround(100.0 * *label.value))
                                     : 0;
      result[what] += 1.0 / kSentences;
    }
    return result;
  }
  void expect_kept(const GenerationRequest& request, const Knob& knob) const {
    const std::map<int, double> plain = shares(request, {}, knob);
    ASSERT_GT(plain.size(), 1u);
    for (const SamplingOptions& options : kSamplers) {
      std::map<int, double> found = shares(request, options, knob);
      for (const auto& [what, share] : plain) EXPECT_NEAR(found[what], share, 0.03) << knob.name << ' ' << what;
    }
  }

  LanguageModel model_ = model_with_knobs();
};

TEST_F(KnobShares, CellsAreWhatWordsSay) {
  const KnobCells all(model_);
  EXPECT_EQ(all.of({}), nullptr);
  const std::vector<KnobSetting> length = {setting("size=12")};
  EXPECT_EQ(all.of(length), nullptr);
  const std::vector<KnobSetting> polarity = {setting("polarity=0.3")};
  const TokenCells& signs = *all.of(polarity);
  EXPECT_EQ(all.of(polarity), &signs);
  EXPECT_EQ(cell(signs, "Carol"), TokenCells::kSilent);
  EXPECT_EQ(cell(signs, "very"), TokenCells::kSilent);
  EXPECT_EQ(cell(signs, "."), TokenCells::kSilent);
  EXPECT_EQ(cell(signs, "good"), cell(signs, "great"));
  EXPECT_NE(cell(signs, "good"), cell(signs, "bad"));
  const std::vector<KnobSetting> several = {setting("strength=0.3"), setting("mark=?:1"), setting("size=9")};
  const TokenCells& both = *all.of(several);
  EXPECT_EQ(cell(both, "good"), TokenCells::kSilent);
  EXPECT_NE(cell(both, "very"), cell(both, "extremely"));
  EXPECT_NE(cell(both, "."), cell(both, "?"));
  EXPECT_EQ(both.group[cell(both, "very")], both.group[cell(both, "extremely")]);
  EXPECT_NE(both.group[cell(both, "very")], both.group[cell(both, ".")]);
}

TEST_F(KnobShares, AShareHoldsWhateverTheSampler) {
  expect_kept(request("root ::= \"Carol \" @adjective", {"polarity=0.7"}), model_.options().knobs[0]);
  expect_kept(request("root ::= \"Carol \" @intensifier", {"strength=0.35", "polarity=0.1"}),
              model_.options().knobs[1]);
  expect_kept(request("root ::= \"good\" mark[mark=?:0.6,.:0.4]\nmark ::= [.!?]", {}), model_.options().knobs[2]);
}

TEST_F(KnobShares, WhatIsNotSetIsSampledAsUsual) {
  const GenerationRequest asked = request("root ::= @subject \" \" @intensifier", {"polarity=0.1"});
  EXPECT_EQ(shares(asked, {.top_k = 1}, model_.options().knobs[1]).size(), 1u);
}

TEST_F(KnobShares, ExplanationsSpeakOfWhatIsDrawnFrom) {
  GenerationRequest asked = request("root ::= @adjective", {"polarity=0.7"});
  asked.sampling = {.top_k = 1};
  const double plain = Generator(model_).generate(asked).tokens[0].log_probability;
  asked.explain = true;
  const GeneratedToken token = Generator(model_).generate(asked).tokens[0];
  EXPECT_EQ(token.log_probability, plain);
  EXPECT_DOUBLE_EQ(std::log(token.explanation->sampler), plain);
  ASSERT_EQ(token.explanation->final_choices.size(), 2u);  // One positive and one negative adjective.
  EXPECT_GE(token.explanation->final_choices[0].probability, token.explanation->final_choices[1].probability);
}

}  // namespace
}  // namespace semfuse
