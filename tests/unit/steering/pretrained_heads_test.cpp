// Heads of a pretrained model, which is read as it stands in its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backbone/imported_language_model.h"
#include "data/sentence_dataset.h"
#include "generation/value_reader.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/steering.h"
#include "steering/frozen_states.h"
#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

constexpr double kSure = 4.0;  // The judge is, in log-odds, of every text.

// Words are ids of the file. Texts with 7 in them are those that are wanted.
class PretrainedHeads : public testing::Test {
 protected:
  PretrainedHeads() {
    const RandomStream random(1, RandomPurpose::corpus_train, 0);
    for (std::size_t text = 0; text < 60; ++text) {
      Sentence sentence;
      bool has_seven = false;
      for (std::size_t i = 0; i < 4 + text % 5; ++i) {
        const std::size_t word = 6 + random.below(10 * text + i, 24);
        has_seven = has_seven || word == 7;
        sentence.push_back(std::to_string(word));
      }
      labels_.push_back(has_seven ? 1.0f : 0.0f);
      sentences_.push_back(std::move(sentence));
    }
  }
  LanguageModel model(bool adds_bos = true, std::uint64_t seed = 3) {
    BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
    spec.bos = 5;
    spec.eos = {2};
    spec.adds_bos = adds_bos;
    spec.source_sha256 = std::string(64, static_cast<char>('0' + seed));
    plain_ = small_backbone(spec, seed);
    save_backbone(plain_, folder_ / "model.safetensors");
    return load_imported(folder_.path());
  }
  SentenceDataset dataset(const LanguageModel& model) const {
    return SentenceDataset(sentences_, model.vocabulary(),
                           SentenceDatasetOptions{.features = nullptr, .max_length = 20});
  }
  SteeringHead trained(const LanguageModel& model, SteeringMethod method, const SteeringTraining& training) const {
    return train_steering(model, dataset(model), labels_, method, "seven", training);
  }

  TemporaryFolder folder_;
  ReferenceBackbone<double> plain_;
  std::vector<Sentence> sentences_;
  std::vector<float> labels_;
};

// A state's product with a token's row is the token's logit, in texts as they begin and after a prompt.
TEST_F(PretrainedHeads, StatesAndRowsGiveThePlainModelsLogits) {
  for (const bool adds_bos : {true, false}) {
    const LanguageModel imported = model(adds_bos);
    const SentenceDataset texts = dataset(imported);
    ThreadPool pool(2);
    FrozenStates states(imported, texts, pool);
    const LogitRows rows = states.model().logit_rows();
    ASSERT_EQ(rows.size, 40U);
    const std::vector<std::size_t> chosen = {4, 7};
    const FrozenStates::States read = states.of(chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      std::vector<TokenId> tokens = {5};
      const std::span<const TokenId> ids = texts.ids(chosen[i]);
      for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
        if (t == 1 && !adds_bos && chosen[i] % 2 == 1) tokens.clear();
        if (t > 0) tokens.push_back(ids[t] - 3);
        const std::vector<double> expected = plain_.logits(tokens).back();
        for (std::size_t v = 0; v < expected.size(); ++v) {
          std::vector<float> row(rows.width);
          rows.read(v + 3, row.data());
          double logit = 0.0;
          for (std::size_t j = 0; j < row.size(); ++j) {
            logit += static_cast<double>(row[j]) * read.hidden(read.batch.first_token[i] + t, j);
          }
          ASSERT_NEAR(logit, expected[v], 1e-3) << adds_bos << ' ' << i << ' ' << t << ' ' << v;
        }
      }
    }
    std::vector<float> end(rows.width), first(rows.width), never(rows.width, 1.0f);
    rows.read(Vocabulary::kEos, end.data());
    rows.read(2 + 3, first.data());
    rows.read(Vocabulary::kPad, never.data());
    EXPECT_EQ(end, first);
    EXPECT_EQ(never, std::vector<float>(rows.width));
  }
}

TEST_F(PretrainedHeads, StatesThatWereKeptAreThoseThatWereRead) {
  const LanguageModel imported = model();
  const SentenceDataset texts = dataset(imported);
  ThreadPool pool(3);
  FrozenStates states(imported, texts, pool);
  const std::vector<std::size_t> chosen = {5, 5, 8, 2};
  const auto numbers = [&] {
    const FrozenStates::States read = states.of(chosen);
    std::vector<float> found;
    for (std::size_t t = 0; t < read.hidden.rows(); ++t) {
      found.insert(found.end(), read.hidden.row(t), read.hidden.row(t) + read.hidden.cols());
    }
    return found;
  };
  const std::vector<float> first = numbers();
  EXPECT_EQ(numbers(), first);
}

TEST_F(PretrainedHeads, AHeadSteersAndIsTheSameForAnyNumberOfThreads) {
  const LanguageModel imported = model();
  for (const SteeringMethod method : {SteeringMethod::value, SteeringMethod::fudge}) {
    SteeringTraining training{.steps = 120, .batch = 16, .learning_rate = 0.05, .threads = 1, .written = 60};
    training.judge = [](std::span<const std::string> texts) {
      std::vector<double> values;
      for (const std::string& text : texts) {
        const double sure = (" " + text + " ").find(" 7 ") != std::string::npos ? kSure : -kSure;
        values.push_back(1.0 / (1.0 + std::exp(-sure)));
      }
      return values;
    };
    const SteeringHead head = trained(imported, method, training);
    training.threads = 2;
    const SteeringHead again = trained(imported, method, training);
    for (std::size_t i = 0; i < head.tensors.size(); ++i) EXPECT_EQ(head.tensors[i].values, again.tensors[i].values);
    const auto with_seven = [&](const std::shared_ptr<const LogitSource>& source, std::size_t max_tokens) {
      std::vector<GenerationRequest> requests(60);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i].source = source;
        requests[i].index = i;
        requests[i].max_tokens = max_tokens;
      }
      std::size_t count = 0;
      for (const Generation& text : Generator(imported, 2).generate(requests)) {
        EXPECT_FALSE(text.error) << *text.error;
        count += std::ranges::find(text.words, "7") != text.words.end() ? 1 : 0;
      }
      return count;
    };
    const auto steered = [&](double target) { return with_seven(steering_source(imported, head, target, 3.0), 8); };
    EXPECT_GT(steered(1.0), steered(0.0) + 15) << to_string(method);
    if (method != SteeringMethod::value) continue;
    // The model has not learned from these texts: the share is that of what it writes alone, tempered as the labels
    // are.
    const double own = static_cast<double>(with_seven(nullptr, 64)) / 60.0;
    const double yes = 1.0 / (1.0 + std::exp(-0.5));
    EXPECT_NEAR(sureness_of(head), kSure, 1e-3);
    EXPECT_NEAR(head.share, own * yes + (1.0 - own) * (1.0 - yes), 0.12 * (2.0 * yes - 1.0));
    EXPECT_GT(head.share, std::accumulate(labels_.begin(), labels_.end(), 0.0) / 60.0 + 0.1);
  }
}

TEST_F(PretrainedHeads, RefusesWhatReadsLayersAndHeadsOfOtherModels) {
  const LanguageModel imported = model();
  const SteeringTraining training{.steps = 2, .batch = 8, .threads = 1};
  const auto refusal = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  for (const SteeringMethod method : {SteeringMethod::lm_steer, SteeringMethod::pplm}) {
    EXPECT_THAT(refusal([&] { trained(imported, method, training); }), HasSubstr("imported model does not show"));
  }
  const SteeringHead head = trained(imported, SteeringMethod::value, training);
  EXPECT_EQ(refusal([&] { steering_source(imported, head, 1.0, 1.0); }), "accepted");
  const LanguageModel other = model(true, 4);
  EXPECT_THAT(refusal([&] { steering_source(other, head, 1.0, 1.0); }), HasSubstr("another model"));
}

}  // namespace
}  // namespace semfuse
