#include "backbone/imported_language_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluation/text_score.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/readout.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

// Without a tokenizer words are ids of the file.
class ImportedModelTest : public testing::Test {
 protected:
  void save(BackboneSpec spec) {
    plain_ = small_backbone(spec, 3);
    save_backbone(plain_, folder_ / "model.safetensors");
  }
  static std::vector<TokenId> ids_of(const std::vector<std::string>& words) {
    std::vector<TokenId> ids;
    for (const std::string& word : words) ids.push_back(std::stoi(word));
    return ids;
  }
  // What the plain model says most probably follows.
  TokenId likeliest(const std::vector<TokenId>& tokens) const {
    const std::vector<double> logits = plain_.logits(tokens).back();
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  }

  TemporaryFolder folder_;
  ReferenceBackbone<double> plain_;
};

TEST_F(ImportedModelTest, WritesWhatThePlainModelFindsMostProbable) {
  for (const BackboneFamily family : {BackboneFamily::llama, BackboneFamily::gpt2}) {
    BackboneSpec spec = small_backbone_spec(family);
    spec.bos = 5;
    spec.adds_bos = family == BackboneFamily::llama;
    save(spec);
    const Checkpoint checkpoint = load_checkpoint(folder_.path());
    const Generator generator(checkpoint.model, 2);
    const Generation written =
        generator.generate({.prompt = "7 3 7", .sampling = {.temperature = 0.0}, .max_tokens = 20});
    ASSERT_EQ(written.words.size(), 20U);
    std::vector<TokenId> tokens = ids_of(written.words);
    if (spec.adds_bos) tokens.insert(tokens.begin(), 5);
    for (std::size_t t = tokens.size() - 17; t < tokens.size(); ++t) {
      EXPECT_EQ(tokens[t], likeliest({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(t)}));
    }
  }
}

TEST_F(ImportedModelTest, IsReadOutAsGenerationReadsIt) {
  const std::vector<TokenId> ids = {10, 6, 10, 15};  // Those of the file are lower by 3.
  for (const bool adds_bos : {true, false}) {
    BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
    spec.bos = 5;
    spec.adds_bos = adds_bos;
    save(spec);
    const LanguageModel model = load_imported(folder_.path());
    const ReadoutRows logits = read_logits(model, ids);
    ASSERT_EQ(logits.num_rows, ids.size() + 1);
    ASSERT_EQ(logits.num_columns, model.vocabulary().size());
    std::vector<TokenId> tokens = {5};
    for (std::size_t row = 0; row <= ids.size(); ++row) {
      const std::vector<double> expected = plain_.logits(tokens).back();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(logits.values[row * logits.num_columns + i + 3], expected[i], 1e-3) << row << ' ' << i;
      }
      if (row == 0 && !adds_bos) tokens.clear();
      if (row < ids.size()) tokens.push_back(ids[row] - 3);
    }
    const ReadoutRows hidden = read_hidden(model, ids);
    EXPECT_EQ(hidden.num_rows, ids.size() + 1);
    EXPECT_EQ(hidden.num_columns, spec.model_width);
    EXPECT_THROW(read_features(model, ids), Error);
    const std::vector<TokenId> foreign = {static_cast<TokenId>(model.vocabulary().size())};
    EXPECT_THROW(read_logits(model, foreign), Error);
  }
}

TEST_F(ImportedModelTest, WithoutABeginningTheFirstRowSaysNothing) {
  save(small_backbone_spec(BackboneFamily::llama));
  const LanguageModel model = load_imported(folder_.path());
  const ReadoutRows logits = read_logits(model, std::vector<TokenId>{10});
  ASSERT_EQ(logits.num_rows, 2U);
  for (std::size_t i = 0; i < logits.num_columns; ++i) {
    EXPECT_TRUE(std::isnan(logits.values[i]));
    EXPECT_FALSE(std::isnan(logits.values[logits.num_columns + i]));
  }
  EXPECT_THROW(read_logits(model, {}), Error);
}

TEST_F(ImportedModelTest, EndsWhereItsEndTokensAreMostProbable) {
  BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  save(spec);
  const TokenId end = likeliest({7, 3});
  spec.eos = {end};
  save_backbone({.spec = spec, .tensors = plain_.tensors}, folder_ / "model.safetensors");
  const LanguageModel model = load_imported(folder_.path());
  const Generation written = Generator(model).generate({.prompt = "7 3", .sampling = {.temperature = 0.0}});
  EXPECT_EQ(written.finish, Generation::Finish::ended);
  EXPECT_EQ(written.text, "7 3");
}

TEST_F(ImportedModelTest, ManySentencesAreThoseOneByOne) {
  BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  spec.eos = {2, 11};
  save(spec);
  const LanguageModel model = load_imported(folder_.path());
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 9; ++i) {
    requests.push_back({.prompt = i % 2 == 0 ? "7 3 7 12 30" : "4", .max_tokens = 30 + i, .seed = 4, .index = i});
  }
  const Generator together(model, 3);
  const std::vector<Generation> all = together.generate(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Generation alone = Generator(model, 1).generate(requests[i]);
    EXPECT_EQ(all[i].text, alone.text);
    ASSERT_FALSE(alone.tokens.empty());
    EXPECT_EQ(all[i].tokens.back().log_probability, alone.tokens.back().log_probability);
  }
}

TEST_F(ImportedModelTest, StopsAtTheEndOfItsContext) {
  const BackboneSpec spec = small_backbone_spec(BackboneFamily::gpt2);
  save(spec);
  const LanguageModel model = load_imported(folder_.path());
  const Generation written = Generator(model).generate({.prompt = "1 2", .max_tokens = 1000});
  EXPECT_EQ(written.finish, Generation::Finish::out_of_tokens);
  EXPECT_EQ(written.words.size(), spec.context);
  std::string longer = "1";
  for (std::size_t i = 0; i < spec.context; ++i) longer += " 1";
  EXPECT_THROW(Generator(model).generate({.prompt = longer, .max_tokens = 1000}), Error);
}

TEST_F(ImportedModelTest, NeedsAPromptIfNothingBeginsATextOrTakesItsOwnBeginning) {
  BackboneSpec spec = small_backbone_spec(BackboneFamily::gpt2);
  save(spec);
  {
    const LanguageModel without = load_imported(folder_.path());
    EXPECT_THROW(Generator(without).generate(GenerationRequest{}), Error);
  }
  spec.bos = 9;
  save(spec);
  const LanguageModel model = load_imported(folder_.path());
  const Generation written = Generator(model).generate({.sampling = {.temperature = 0.0}, .max_tokens = 4});
  std::vector<TokenId> tokens = ids_of(written.words);
  tokens.insert(tokens.begin(), 9);
  ASSERT_EQ(tokens.size(), 5U);
  for (std::size_t t = 1; t < 5; ++t) {
    EXPECT_EQ(tokens[t], likeliest({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(t)}));
  }
}

TEST_F(ImportedModelTest, WhatOnlyOwnModelsCanDoIsRefused) {
  save(small_backbone_spec(BackboneFamily::llama));
  const LanguageModel model = load_imported(folder_.path());
  EXPECT_THROW(model.logits({}), Error);
  EXPECT_THROW(model.parameters(), Error);
  EXPECT_GT(model.parameter_count(), 1000U);
}

TEST_F(ImportedModelTest, ScoresAreThoseOfThePlainModel) {
  BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  spec.context = 1000;
  save(spec);
  const Backbone backbone(folder_.path());
  std::vector<TokenId> ids;
  for (TokenId i = 0; i < 150; ++i) ids.push_back(i * i % 37);
  const auto nll_of = [](const std::vector<double>& logits, TokenId next) {
    double sum = 0.0;
    for (const double z : logits) sum += std::exp(z);
    return std::log(sum) - logits[static_cast<std::size_t>(next)];
  };
  const TextScore whole = score_ids(backbone, ids, 0, 2);
  const auto logits = plain_.logits(ids);
  ASSERT_EQ(whole.nll.size(), 149U);
  for (std::size_t t = 0; t < 149; ++t) EXPECT_NEAR(whole.nll[t], nll_of(logits[t], ids[t + 1]), 1e-5);
  for (std::size_t j = 0; j < 37; ++j) EXPECT_NEAR(whole.last_logits[j], logits.back()[j], 2e-5);

  const TextScore cut = score_ids(backbone, ids, 100, 1);  // 99 tokens, then those from the 100th on.
  ASSERT_EQ(cut.nll.size(), 149U);
  const auto rest = plain_.logits({ids.begin() + 99, ids.end()});
  EXPECT_EQ(cut.nll[98], whole.nll[98]);
  EXPECT_NEAR(cut.nll[99], nll_of(rest[0], ids[100]), 1e-5);
  EXPECT_NEAR(cut.nll[148], nll_of(rest[49], ids[149]), 1e-5);
  EXPECT_THROW(score_ids(backbone, std::vector<TokenId>{37}, 0, 1), Error);
  EXPECT_THROW(score_ids(backbone, {}, 0, 1), Error);
  EXPECT_THROW(score_text(backbone, "no tokenizer", 0, 1), Error);
}

}  // namespace
}  // namespace semfuse
