#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/feature_bank_access.h"
#include "features/word_vectors.h"
#include "model/model_access.h"
#include "model/model_spec.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"
#include "support/small_model.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

ModelOptions open_vector_options() {
  return {.width = 8,
          .layers = 1,
          .heads = 2,
          .feed_forward = 12,
          .attention = AttentionMask::causal,
          .feature_head = 4,
          .output_features = true,
          .open_vocabulary = true};
}

// A vector that the embedding finds by the token is what the same numbers would be as features of the batch.
TEST(WordVectorsOfANetwork, AreFeaturesThatTheTokenDecides) {
  constexpr std::size_t kVocabulary = 7, kFeatures = 2, kVectors = 3;
  std::vector<float> rows;
  RandomStream random(3, RandomPurpose::weights);
  for (std::size_t i = 0; i < kVocabulary * (kFeatures + kVectors); ++i)
    rows.push_back(static_cast<float>(random.next_uniform() - 0.5));
  const Network with_vectors(open_vector_options(), kVocabulary, kFeatures, rows, {}, kVectors);
  const Network with_features(open_vector_options(), kVocabulary, kFeatures + kVectors, rows);
  const Batch batch = random_batch({4, 3, 5}, kVocabulary, kFeatures, 11);
  Batch wide = batch;
  wide.num_features = kFeatures + kVectors;
  wide.features.clear();
  for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
    const float* features = batch.feature_rows().row(t);
    const float* vector = &rows[static_cast<std::size_t>(batch.inputs[t]) * (kFeatures + kVectors) + kFeatures];
    wide.features.insert(wide.features.end(), features, features + kFeatures);
    wide.features.insert(wide.features.end(), vector, vector + kVectors);
  }
  const ParameterBlock wide_weights = random_weights(with_features.layout(), 5);
  ParameterBlock weights(with_vectors.layout());
  for (const ParameterInfo& info : with_vectors.layout().entries()) {
    const ParameterInfo* same = with_features.layout().find(info.name);
    ASSERT_NE(same, nullptr);
    std::copy_n(wide_weights.vector(*same), info.size, weights.vector(info));
  }
  ThreadPool pool(2);
  const LossOptions losses = {.identity_dropout = 0.3};  // Nothing is read back, since there is less to read.
  TrainingStep step(with_vectors, losses, pool), wide_step(with_features, losses, pool);
  ParameterBlock gradients(with_vectors.layout()), wide_gradients(with_features.layout());
  const DropoutPlan dropout{.rate = 0.0, .seed = 1, .step = 2};
  EXPECT_EQ(step.run(batch, weights, dropout, gradients).tokens,
            wide_step.run(wide, wide_weights, dropout, wide_gradients).tokens);
  for (const ParameterInfo& info : with_vectors.layout().entries()) {
    if (info.name.starts_with("aux_head.2")) continue;
    const float* expected = wide_gradients.vector(*with_features.layout().find(info.name));
    EXPECT_EQ(std::vector<float>(gradients.vector(info), gradients.vector(info) + info.size),
              std::vector<float>(expected, expected + info.size))
        << info.name;
  }
}

class OpenTextModel : public testing::Test {
 protected:
  OpenTextModel() : model_(make()) {}

  static LanguageModel make(TokenizerKind kind = TokenizerKind::words) {
    TokenizerTrainer trainer;
    for (int i = 0; i < 3; ++i) trainer.add("the soup was good and the bread was bad");
    WordVectorTables tables{.width = 2, .words = {"good", "bad", "soup"}, .word_rows = {1, 0, 0, 1, -1, 0.5f}};
    tables.parts = word_parts("good");
    std::sort(tables.parts.begin(), tables.parts.end());
    tables.part_rows.assign(tables.parts.size() * 2, 0.5f);
    FeatureBank bank = FeatureBankAccess::with_vectors(FeatureBank(Lexicon({}), {.bank = FeatureSet::none}),
                                                       std::make_shared<const WordVectors>(tables));
    return LanguageModel(open_vector_options(), trainer.make(kind, 300), std::move(bank), 7);
  }
  static std::vector<float> row_of(const LanguageModel& model, const std::string& entry) {
    const ConstMatrix rows = ModelAccess::network(model).word_features();
    const auto id = static_cast<std::size_t>(*model.vocabulary().find(entry));
    return {rows.row(id), rows.row(id) + rows.cols()};
  }

  LanguageModel model_;
};

TEST_F(OpenTextModel, BytesAndSpecialEntriesHaveNoVector) {
  EXPECT_THAT(row_of(model_, "<bos>"), Each(0.0f));
  EXPECT_THAT(row_of(model_, "a"), Each(0.0f));
  EXPECT_EQ(row_of(model_, " good").size(), 4U);
  EXPECT_NE(row_of(model_, " good"), row_of(model_, " bad"));
}

TEST_F(OpenTextModel, GetsWordsByTheirSpellingOrByWhatTheyAreLike) {
  const LanguageModel larger = model_.with_words({{.word = "goodish", .word_class = WordClass::kAdjective},
                                                  {.word = "qqq", .word_class = WordClass::kAdjective, .like = {"bad"}},
                                                  {.word = "zzz"}});
  EXPECT_EQ(larger.vocabulary().size(), model_.vocabulary().size() + 6);
  const std::vector<TokenId> ids = larger.encode("goodish qqq");
  ASSERT_THAT(ids, SizeIs(2));
  EXPECT_EQ(larger.decode(ids), "goodish qqq");
  EXPECT_FALSE(larger.seen()[static_cast<std::size_t>(ids[0])]);
  EXPECT_EQ(row_of(larger, " qqq"), row_of(larger, " bad"));
  EXPECT_NE(row_of(larger, " goodish"), row_of(larger, " zzz"));
  // What was there stays as it was.
  for (const NamedParameter& parameter : model_.parameters()) {
    for (const NamedParameter& now : larger.parameters()) {
      if (now.name != parameter.name) continue;
      EXPECT_TRUE(std::equal(parameter.values.begin(), parameter.values.end(), now.values.begin())) << now.name;
    }
  }
  const std::vector<std::string> doubts = unfamiliar_words(model_, {{.word = "zzz"}, {.word = "goodish"}}, false);
  ASSERT_THAT(doubts, SizeIs(1));
  EXPECT_THAT(doubts[0], HasSubstr("\"zzz\""));
}

TEST_F(OpenTextModel, RefusesWordsThatItCannotAdd) {
  const auto refuses = [](const LanguageModel& model, const LexiconEntry& word, const char* part) {
    EXPECT_THAT([&] { model.with_words({word}); }, ThrowsMessage<Error>(HasSubstr(part)));
  };
  refuses(model_, {.word = "soup"}, "knows \"soup\" already");
  refuses(model_, {.word = "ice-cream"}, "not one word");
  refuses(model_, {.word = "nice", .like = {"zzz"}}, "know nothing of");
  refuses(make(TokenizerKind::pieces), {.word = "nice"}, "text.tokenizer=words");
}

TEST_F(OpenTextModel, IsStoredWithItsVectors) {
  const LanguageModel larger = model_.with_words({{.word = "qqq", .like = {"bad"}}});
  const ModelSpec spec = parse_model_spec(to_metadata(spec_of(larger)), "here");
  ASSERT_NE(spec.vectors, nullptr);
  EXPECT_EQ(spec.vectors->bytes(), FeatureBankAccess::vectors(larger.feature_bank())->bytes());
  Metadata damaged = to_metadata(spec_of(larger));
  damaged["vectors"] = "AAAA";
  EXPECT_THAT([&] { parse_model_spec(damaged, "here"); }, ThrowsMessage<Error>(HasSubstr("here: metadata vectors")));
}

}  // namespace
}  // namespace semfuse
