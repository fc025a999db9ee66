// Heads: their training, their files, and generation that they steer.
#include "semfuse/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/sentence_dataset.h"
#include "io/tensor_archive.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "steering/frozen_states.h"
#include "steering/head_training.h"
#include "steering/other_knobs.h"
#include "support/small_language_model.h"
#include "support/steering_fixture.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

constexpr SteeringMethod kMethods[] = {SteeringMethod::value, SteeringMethod::fudge, SteeringMethod::lm_steer,
                                       SteeringMethod::pplm};

// Each gradient against the difference quotient of the loss.
TEST_F(Steering, GradientsAreThoseOfTheLoss) {
  ThreadPool pool(1);
  FrozenStates states(model_, *dataset_, pool);
  const std::vector<std::size_t> texts = {0, 1, 2, 3, 4, 5};
  const FrozenStates::States read = states.of(texts);
  const HeadBatch batch{.batch = read.batch, .hidden = read.hidden, .labels = std::span(labels_).first(6)};
  using Make = std::unique_ptr<HeadTraining> (*)(const ReadModel&);
  for (const Make make : {&value_training, &prefix_training, &steer_training}) {
    const std::unique_ptr<HeadTraining> head = make(states.model());
    ParameterBlock weights(head->layout());
    head->initialise(1, weights);
    for (const ParameterInfo& info : head->layout().entries()) {  // Away from 0, where some gradients are.
      for (std::size_t i = 0; i < info.size; ++i)
        weights.vector(info)[i] += 0.03f * std::sin(static_cast<float>(7 * i));
    }
    ParameterBlock gradients(head->layout());
    head->step(batch, weights, gradients);
    for (const ParameterInfo& info : head->layout().entries()) {
      // Along the gradient the loss rises by its squared norm.
      double squared = 0.0;
      for (std::size_t i = 0; i < info.size; ++i) squared += std::pow(gradients.vector(info)[i], 2);
      ASSERT_GT(squared, 0.0) << info.name;
      const double step = 1e-2 / std::sqrt(squared);
      const auto loss_at = [&](double along) {
        ParameterBlock moved = weights;
        for (std::size_t i = 0; i < info.size; ++i)
          moved.vector(info)[i] += static_cast<float>(along * gradients.vector(info)[i]);
        ParameterBlock ignored(head->layout());
        return head->step(batch, moved, ignored);
      };
      EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2.0 * step) / squared, 1.0, 0.02) << info.name;
    }
  }
}

TEST_F(Steering, TrainingLowersTheLossAndDoesNotTouchTheModel) {
  const std::vector<std::vector<float>> before = values_of(model_);
  for (const SteeringMethod method : kMethods) {
    std::vector<double> losses;
    train_steering(model_, *dataset_, labels_, method, "question",
                   {.steps = 40,
                    .batch = 32,
                    .learning_rate = 0.02,
                    .threads = 1,
                    .on_step = [&](std::uint64_t, std::uint64_t, double loss) {
                      losses.push_back(loss);
                      return true;
                    }});
    EXPECT_LT(losses.back(), 0.95 * losses.front()) << to_string(method);
  }
  EXPECT_EQ(values_of(model_), before);
}

// What the model writes under the head goes to the judge, beginnings of the other label too, and changes what is
// learned; heads of other methods do not ask.
TEST_F(Steering, AHeadLearnsFromWhatIsWrittenUnderIt) {
  std::size_t judged = 0;
  std::uint64_t announced = 0;
  SteeringTraining training{.steps = 6, .batch = 16, .learning_rate = 0.02, .threads = 1};
  training.written = 40;
  training.judge = [&](std::span<const std::string> texts) {
    judged += texts.size();
    std::vector<double> values;
    for (const std::string& text : texts) values.push_back(text.find('?') != std::string::npos ? 0.9 : 0.2);
    return values;
  };
  training.on_step = [&](std::uint64_t, std::uint64_t steps, double) {
    announced = steps;
    return true;
  };
  const SteeringHead one = train_steering(model_, *dataset_, labels_, SteeringMethod::value, "question", training);
  EXPECT_GT(judged, 0U);
  EXPECT_GT(announced, 6U) << "more steps than of texts of people alone";
  EXPECT_NE(one.tensors[0].values, trained(SteeringMethod::value, 6).tensors[0].values);
  training.threads = 3;
  const SteeringHead three = train_steering(model_, *dataset_, labels_, SteeringMethod::value, "question", training);
  for (std::size_t i = 0; i < one.tensors.size(); ++i) EXPECT_EQ(one.tensors[i].values, three.tensors[i].values);
  judged = 0;
  train_steering(model_, *dataset_, labels_, SteeringMethod::fudge, "question", training);
  EXPECT_EQ(judged, 0U);
  training.judge = [](std::span<const std::string>) { return std::vector<double>{}; };
  EXPECT_THROW(train_steering(model_, *dataset_, labels_, SteeringMethod::value, "question", training), Error);
  training.judge = [](std::span<const std::string> texts) { return std::vector<double>(texts.size(), 1.5); };
  EXPECT_THROW(train_steering(model_, *dataset_, labels_, SteeringMethod::value, "question", training), Error);
}

TEST_F(Steering, AnyNumberOfThreadsTrainsTheSameHead) {
  for (const SteeringMethod method : kMethods) {
    const SteeringHead one = trained(method, 3, 1);
    const SteeringHead three = trained(method, 3, 3);
    for (std::size_t i = 0; i < one.tensors.size(); ++i) EXPECT_EQ(one.tensors[i].values, three.tensors[i].values);
  }
}

TEST_F(Steering, ASavedHeadComesBack) {
  const TemporaryFolder folder;
  const SteeringHead head = trained(SteeringMethod::value);
  save_steering(folder.path() / "head", head);
  const SteeringHead loaded = load_steering(folder.path() / "head");
  EXPECT_EQ(loaded.method, head.method);
  EXPECT_EQ(loaded.knob, "question");
  EXPECT_EQ(loaded.share, head.share);
  EXPECT_EQ(loaded.model, head.model);
  ASSERT_EQ(loaded.tensors.size(), head.tensors.size());
  for (std::size_t i = 0; i < head.tensors.size(); ++i) EXPECT_EQ(loaded.tensors[i].values, head.tensors[i].values);
}

// Positions before `silent` count for nothing: their labels may as well be others.
TEST_F(Steering, SilentTokensTeachNothing) {
  ThreadPool pool(1);
  FrozenStates states(model_, *dataset_, pool);
  const std::vector<std::size_t> texts = {0, 1, 2};
  const FrozenStates::States read = states.of(texts);
  const std::unique_ptr<HeadTraining> head = value_training(states.model());
  ParameterBlock weights(head->layout());
  head->initialise(1, weights);
  const auto gradients_of = [&](std::vector<float> labels, std::vector<std::size_t> silent) {
    ParameterBlock gradients(head->layout());
    head->step({.batch = read.batch, .hidden = read.hidden, .labels = labels, .silent = silent}, weights, gradients);
    return std::vector<float>(gradients.data(), gradients.data() + gradients.size());
  };
  EXPECT_EQ(gradients_of({0.0f, 1.0f, 0.0f}, {0, 1000, 2}), gradients_of({0.0f, 0.0f, 0.0f}, {0, 1000, 2}));
  EXPECT_NE(gradients_of({0.0f, 1.0f, 0.0f}, {0, 1, 2}), gradients_of({0.0f, 0.0f, 0.0f}, {0, 1, 2}));
  EXPECT_EQ(gradients_of({0.0f, 1.0f, 0.0f}, {0, 0, 0}), gradients_of({0.0f, 1.0f, 0.0f}, {}));
}

// Half of the visits begin with a label of another knob, each as often, and are asked for it.
TEST_F(Steering, RareLabelsOfOtherKnobsAreVisitedToo) {
  const SentenceDataset dataset(sentences_, model_.vocabulary(),
                                SentenceDatasetOptions{.features = &ModelAccess::features(model_),
                                                       .max_length = 28,
                                                       .knobs = model_.options().knobs,
                                                       .lexicon = &model_.feature_bank().lexicon()});
  std::vector<float> labels = labels_;
  std::vector<std::size_t> count(3);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::optional<std::size_t> mark = dataset.label(i, 1).label;
    if (mark == 2U && count[2] > 0) labels[i] = NAN;  // One question is left.
    if (mark && !std::isnan(labels[i])) ++count[*mark];
  }
  ASSERT_EQ(count[2], 1U);
  const OtherKnobs others(model_.options().knobs, "polarity", dataset, labels);
  std::size_t questions = 0, asked = 0;
  for (std::uint64_t draw = 0; draw < 1200; ++draw) {
    const OtherKnobs::Visit visit = others.visit(1, draw);
    ASSERT_FALSE(std::isnan(labels[visit.text]));
    for (const KnobSetting& setting : visit.asked) {
      EXPECT_EQ(setting.knob, "mark");
      EXPECT_EQ(setting.values[*dataset.label(visit.text, 1).label], 1.0);
    }
    questions += dataset.label(visit.text, 1).label == 2U ? 1 : 0;
    asked += visit.asked.empty() ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(questions) / 1200.0, 1.0 / 6.0 + 0.5 / 80.0, 0.05);
  EXPECT_NEAR(static_cast<double>(asked) / 1200.0, 0.75, 0.05);
}

// A head of the model turns its knob as it would as a method, guidance is its strength, and the row says nothing of it.
TEST_F(Steering, AHeadOfTheModelTurnsItsKnob) {
  const SteeringHead head = train_steering(model_, *dataset_, labels_, SteeringMethod::value, "polarity",
                                           {.steps = 60, .batch = 16, .learning_rate = 0.02, .threads = 1});
  LanguageModel with_head = model();
  with_head.set_heads({{"polarity", head}});
  const auto texts = [](const LanguageModel& of, std::vector<GenerationRequest> all, std::size_t threads = 1) {
    std::vector<std::string> found;
    for (const Generation& each : Generator(of, threads).generate(all)) found.push_back(each.error.value_or(each.text));
    return found;
  };
  const auto asked = [&](double target, double guidance, const std::vector<KnobSetting>& more = {}) {
    std::vector<GenerationRequest> all = requests(20, nullptr);
    for (GenerationRequest& request : all) {
      request.knobs = more;
      request.knobs.push_back({"polarity", {target}});
      request.guidance = guidance;
    }
    return all;
  };
  EXPECT_EQ(texts(with_head, asked(1.0, 1.0)), texts(model_, requests(20, steering_source(model_, head, 1.0, 1.0))));
  EXPECT_EQ(texts(with_head, asked(0.0, 4.0)), texts(model_, requests(20, steering_source(model_, head, 0.0, 4.0))));
  EXPECT_NE(texts(with_head, asked(1.0, 1.0)), texts(model_, asked(1.0, 1.0)));
  EXPECT_EQ(texts(with_head, asked(1.0, 0.0)), texts(model_, requests(20, nullptr)));
  std::vector<GenerationRequest> by_row = asked(1.0, 2.0);
  for (GenerationRequest& request : by_row) request.heads = false;
  EXPECT_EQ(texts(with_head, by_row), texts(model_, asked(1.0, 2.0)));

  // Its map is of target and strength, and is not that of a request.
  with_head.set_calibration({{"polarity", {.values = {{{0.0, 0.25, 1.0}, {1.0, 0.25, 3.0}}}, .judge = "j", .n = 1}}});
  EXPECT_EQ(texts(with_head, asked(1.0, 1.0)), texts(model_, requests(20, steering_source(model_, head, 0.25, 3.0))));
  EXPECT_EQ(texts(with_head, by_row), texts(model_, asked(1.0, 2.0)));

  // Beside another knob, alone and in any company.
  const std::vector<GenerationRequest> both = asked(1.0, 1.0, {{"mark", {0.0, 0.0, 1.0}}});
  const std::vector<std::string> batch = texts(with_head, both, 3);
  EXPECT_NE(batch, texts(with_head, asked(1.0, 1.0)));
  EXPECT_NE(batch, texts(model_, both));
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(texts(with_head, {both[i]})[0], batch[i]) << i;
}

TEST_F(Steering, AHeadIsOfItsModelAlone) {
  const SteeringHead head = train_steering(model_, *dataset_, labels_, SteeringMethod::value, "polarity",
                                           {.steps = 3, .batch = 16, .threads = 1});
  LanguageModel other = model();
  const auto refusal = [&](const std::string& knob, const SteeringHead& one) {
    try {
      other.set_heads({{knob, one}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("polarity", head), "accepted");
  EXPECT_EQ(other.heads().size(), 1U);
  SteeringHead changed = head;
  changed.method = SteeringMethod::fudge;
  EXPECT_THAT(refusal("polarity", changed), HasSubstr("no value head"));
  EXPECT_THAT(refusal("mark", head), HasSubstr("no probability knob"));
  EXPECT_THAT(refusal("nothing", head), HasSubstr("no probability knob"));
  changed = head;
  changed.tensors[0].shape = {1, 1};
  EXPECT_EQ(refusal("polarity", changed), "accepted");  // Until it is to be used:
  EXPECT_THROW(Generator{other}, Error);
  ASSERT_EQ(refusal("polarity", head), "accepted");
  const NamedParameter first = other.parameters().front();
  std::vector<float> values(first.values.begin(), first.values.end());
  values[0] += 1.0f;
  other.set_parameter(std::string(first.name), values);
  EXPECT_TRUE(other.heads().empty()) << "it was trained on other weights";
  EXPECT_THAT(refusal("polarity", head), HasSubstr("another model"));
}

// Of words that no text had the head knows what their rows say, and the model still writes.
TEST_F(Steering, AHeadKeepsUpWithAddedWords) {
  ModelOptions options = model_.options();
  options.output_features = true;
  LanguageModel open(options, model_.vocabulary(), model_.feature_bank(), 5);
  const SentenceDataset dataset(sentences_, open.vocabulary(),
                                SentenceDatasetOptions{.features = &ModelAccess::features(open), .max_length = 28});
  open.set_heads({{"polarity", train_steering(open, dataset, labels_, SteeringMethod::value, "polarity",
                                              {.steps = 3, .batch = 16, .threads = 1})}});
  const LanguageModel larger =
      open.with_words({{.word = "superb", .word_class = WordClass::kAdjective, .polarity = 1.0}});
  ASSERT_TRUE(larger.heads().contains("polarity"));
  EXPECT_EQ(larger.heads().at("polarity").tensor("words").values.size(), larger.vocabulary().size());
  EXPECT_NO_THROW(Generator(larger).generate({.knobs = {{"polarity", {1.0}}}, .max_tokens = 6}));
}

TEST_F(Steering, AModelFileHasItsHeads) {
  const TemporaryFolder folder;
  LanguageModel with_head = model();
  with_head.set_heads({{"polarity", train_steering(model_, *dataset_, labels_, SteeringMethod::value, "polarity",
                                                   {.steps = 3, .batch = 16, .threads = 1})}});
  save_checkpoint(folder.path() / "model.safetensors", with_head, "");
  const LanguageModel loaded = load_checkpoint(folder.path() / "model.safetensors").model;
  ASSERT_TRUE(loaded.heads().contains("polarity"));
  const SteeringHead& found = loaded.heads().at("polarity");
  const SteeringHead& kept = with_head.heads().at("polarity");
  EXPECT_EQ(found.share, kept.share);
  ASSERT_EQ(found.tensors.size(), kept.tensors.size());
  for (std::size_t i = 0; i < kept.tensors.size(); ++i) EXPECT_EQ(found.tensors[i].values, kept.tensors[i].values);
}

TEST_F(Steering, HeadsSteerBothWays) {
  const Generator generator(model_);
  for (const SteeringMethod method : {SteeringMethod::value, SteeringMethod::fudge}) {
    const SteeringHead head = trained(method, 150);
    const auto share = [&](double target) {
      return questions(generator.generate(requests(60, steering_source(model_, head, target, 4.0))));
    };
    EXPECT_GT(share(1.0), share(0.0) + 0.1) << to_string(method);
  }
}

// Alone, in a batch, by any number of threads; and strength 0 is the model.
TEST_F(Steering, TheSameTextInAnyCompany) {
  const auto copy = std::make_shared<const LanguageModel>(model());
  const auto other = std::make_shared<const LanguageModel>(random_model(model_.options(), 9));
  std::vector<std::shared_ptr<const LogitSource>> sources;
  for (const SteeringMethod method : kMethods) sources.push_back(steering_source(model_, trained(method), 1.0, 3.0));
  sources.push_back(posterior_source(nullptr, model_, "polarity", 1.0, 10.0));
  sources.push_back(posterior_source(copy, model_, "polarity", 0.0, 10.0));
  sources.push_back(experts_source(model_, other, copy, 0.7));
  const Generator alone(model_, 1);
  const Generator several(model_, 3);
  std::vector<std::string> plain;
  for (const Generation& each : alone.generate(requests(20, nullptr))) plain.push_back(each.text);
  std::size_t changed = 0;
  for (const auto& source : sources) {
    const std::vector<GenerationRequest> all = requests(20, source);
    const std::vector<Generation> batch = several.generate(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_FALSE(batch[i].error) << *batch[i].error;
      EXPECT_EQ(batch[i].text, alone.generate(all[i]).text);
      changed += batch[i].text != plain[i] ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 20u);
  const std::vector<Generation> weak =
      alone.generate(requests(20, steering_source(model_, trained(kMethods[0]), 1.0, 0.0)));
  for (std::size_t i = 0; i < weak.size(); ++i) EXPECT_EQ(weak[i].text, plain[i]);
}

// What gedi adds up token by token is what one look at the whole text says: a prompt is read as if it had been drawn.
TEST_F(Steering, ThePosteriorKnowsThePrompt) {
  const Generator generator(model_);
  GenerationRequest request{.max_tokens = 8, .seed = 4};
  request.source = posterior_source(nullptr, model_, "polarity", 1.0, 10.0);
  const Generation whole = generator.generate(request);
  ASSERT_GT(whole.words.size(), 3u);
  GenerationRequest later = request;
  later.prompt = whole.words[0] + " " + whole.words[1] + " " + whole.words[2];
  const Generation rest = generator.generate(later);
  EXPECT_EQ(rest.words, whole.words);
  EXPECT_NEAR(rest.tokens.front().log_probability, whole.tokens[3].log_probability, 1e-4);
}

// The mean that pplm moves is that of the whole text, however it came there; where nothing is past, nothing moves.
TEST_F(Steering, PplmKnowsThePrompt) {
  const Generator generator(model_);
  GenerationRequest request{.max_tokens = 8, .seed = 4};
  const double unsteered = generator.generate(request).tokens.front().log_probability;
  request.source = steering_source(model_, trained(SteeringMethod::pplm, 50), 1.0, 2.0);
  const Generation whole = generator.generate(request);
  ASSERT_GT(whole.words.size(), 3u);
  EXPECT_EQ(whole.tokens.front().log_probability, unsteered);
  GenerationRequest later = request;
  later.prompt = whole.words[0] + " " + whole.words[1] + " " + whole.words[2];
  const Generation rest = generator.generate(later);
  EXPECT_EQ(rest.words, whole.words);
  EXPECT_EQ(rest.tokens.front().log_probability, whole.tokens[3].log_probability);
}

TEST_F(Steering, TheBestOfSomeIsWhatTheJudgeLikes) {
  const Generator generator(model_);
  const TextJudge judge = [](std::span<const std::string> texts) {
    std::vector<double> scores;
    for (const std::string& text : texts) scores.push_back(static_cast<double>(text.size()));
    return scores;
  };
  const std::vector<GenerationRequest> all = requests(4, nullptr);
  const std::vector<Generation> best = best_of(generator, all, 5, judge);
  ASSERT_EQ(best.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      GenerationRequest one = all[i];
      one.index = all[i].index * 5 + j;
      EXPECT_GE(best[i].text.size(), generator.generate(one).text.size());
    }
  }
  EXPECT_THROW(best_of(generator, all, 2, [](std::span<const std::string>) { return std::vector<double>(1); }), Error);
}

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(Steering, Refuses) {
  const SteeringHead head = trained(SteeringMethod::value);
  const LanguageModel other = random_model(model_.options(), 9);
  EXPECT_THAT(error_of([&] { steering_source(other, head, 1.0, 1.0); }), HasSubstr("another model"));
  EXPECT_THAT(error_of([&] { steering_source(model_, head, 2.0, 1.0); }), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_of([&] { steering_source(model_, head, 1.0, -1.0); }), HasSubstr("strength"));
  SteeringHead damaged = head;
  damaged.tensors[0].shape = {1, 1};
  EXPECT_THAT(error_of([&] { steering_source(model_, damaged, 1.0, 1.0); }), HasSubstr("another size"));
  damaged.tensors.clear();
  EXPECT_THAT(error_of([&] { steering_source(model_, damaged, 1.0, 1.0); }), HasSubstr("no tensor"));
  EXPECT_THAT(error_of([&] { posterior_source(nullptr, model_, "nothing", 1.0, 1.0); }), HasSubstr("nothing"));
  EXPECT_THAT(error_of([&] {
                train_steering(model_, *dataset_, std::vector<float>(labels_.size(), 1.0f), SteeringMethod::value, "x");
              }),
              HasSubstr("both sides"));
  EXPECT_THAT(error_of([&] { head_judge(model_, head, 1.0); }), HasSubstr("fudge"));
  const auto small = std::make_shared<const LanguageModel>(
      LanguageModel(model_.options(), Vocabulary::from_words({"a", "b"}), FeatureBank(synthetic_lexicon()), 1));
  EXPECT_THAT(error_of([&] { experts_source(model_, small, small, 1.0); }), HasSubstr("other tokens"));
  GenerationRequest both{.guidance = 2.0, .source = steering_source(model_, head, 1.0, 1.0)};
  EXPECT_THAT(error_of([&] { Generator(model_).generate(both); }), HasSubstr("guidance"));
}

}  // namespace
}  // namespace semfuse
