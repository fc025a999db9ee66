#include "semfuse/readout.h"

#include <gtest/gtest.h>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

LanguageModel knob_model() {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {parse_knob("polarity: probability of polarity")};
  return random_model(options);
}

TEST(Readout, LogitsAreThoseOfTheModel) {
  for (const bool fusion : {false, true}) {
    const LanguageModel model = random_model(small_options(AttentionMask::causal, fusion));
    const Sentence sentence = some_sentences(1).front();
    const ReadoutRows rows = read_logits(model, model.encode(join_words(sentence)));
    EXPECT_EQ(rows.num_rows, sentence.size() + 1);
    EXPECT_EQ(rows.num_columns, model.vocabulary().size());
    EXPECT_EQ(rows.values, model.logits(sentence));
  }
}

TEST(Readout, HiddenStatesTimesTokenTableAreTheLogits) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, true));
  const std::vector<TokenId> ids = model.encode(join_words(some_sentences(1).front()));
  const ReadoutRows hidden = read_hidden(model, ids);
  const ReadoutRows logits = read_logits(model, ids);
  ASSERT_EQ(hidden.num_columns, model.options().width);
  const NamedParameter table = model.parameters().front();
  ASSERT_EQ(table.shape[0], model.vocabulary().size());
  for (std::size_t row = 0; row < hidden.num_rows; ++row) {
    for (std::size_t token = 0; token < logits.num_columns; ++token) {
      double sum = 0.0;
      for (std::size_t j = 0; j < hidden.num_columns; ++j) {
        sum += static_cast<double>(hidden.values[row * hidden.num_columns + j]) *
               table.values[token * hidden.num_columns + j];
      }
      ASSERT_NEAR(logits.values[row * logits.num_columns + token], sum, 1e-4);
    }
  }
}

TEST(Readout, SettingsAreRead) {
  const LanguageModel model = knob_model();
  const std::vector<TokenId> ids = model.encode("Alice reviews the paper");
  const std::vector<KnobSetting> asked = {{.knob = "polarity", .values = {0.9}}};
  EXPECT_NE(read_logits(model, ids).values, read_logits(model, ids, asked).values);
  EXPECT_NE(read_hidden(model, ids).values, read_hidden(model, ids, asked).values);
}

TEST(Readout, FeaturesAreThoseOfTheBank) {
  const LanguageModel model = random_model(small_options(AttentionMask::causal, false));
  const Sentence sentence = some_sentences(1).front();
  const ReadoutRows rows = read_features(model, model.encode(join_words(sentence)));
  EXPECT_EQ(rows.num_columns, model.feature_bank().size());
  EXPECT_EQ(rows.values, model.feature_bank().prefix_rows(sentence).values);
}

TEST(Readout, AnEmptyTextHasTheRowOfItsBeginning) {
  EXPECT_EQ(read_logits(knob_model(), {}).num_rows, 1u);
}

TEST(Readout, StrangeIdsAndSettingsAreRefused) {
  const LanguageModel model = knob_model();
  for (const TokenId id : {-1, static_cast<TokenId>(model.vocabulary().size())}) {
    const std::vector<TokenId> ids = {id};
    EXPECT_THROW(read_logits(model, ids), Error);
    EXPECT_THROW(read_features(model, ids), Error);
  }
  const std::vector<KnobSetting> wrong = {{.knob = "polarity", .values = {2.0}}};
  EXPECT_THROW(read_hidden(model, {}, wrong), Error);
}

}  // namespace
}  // namespace semfuse
