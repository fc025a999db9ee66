#include "steering/written_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "data/sentence_dataset.h"
#include "generation/logit_source.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"

namespace semfuse {

namespace {

constexpr std::array kStrengths = {1.0, 2.0, 4.0, 8.0};
constexpr std::size_t kMostPromptTokens = 6;
constexpr std::size_t kMostTokens = 64;
constexpr double kPrompted = 0.75;

// A source for the first tokens of a text; then the model goes on alone.
class BeginningSource : public LogitSource {
 public:
  BeginningSource(std::shared_ptr<const LogitSource> source, std::size_t tokens)
      : source_(std::move(source)), tokens_(tokens) {}

  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override {
    return std::make_unique<Beginning>(source_->open(model, request), tokens_);
  }

 private:
  class Beginning : public TextState {
   public:
    Beginning(std::unique_ptr<TextState> state, std::size_t tokens) : state_(std::move(state)), tokens_(tokens) {}

    void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                      std::vector<Reading>& readings) override {
      state_->add_readings(tokens, asked, readings);
    }
    void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
      if (place.tokens.size() < tokens_) state_->combine(place, readings);
    }

   private:
    std::unique_ptr<TextState> state_;
    std::size_t tokens_;
  };

  std::shared_ptr<const LogitSource> source_;
  std::size_t tokens_;
};

}  // namespace

WrittenTexts written_texts(const LanguageModel& model, const Dataset& dataset, std::span<const float> labels,
                           const SteeringHead* head, const TextJudge& judge, const OtherKnobs* others,
                           std::size_t count, std::uint64_t seed, std::size_t threads) {
  std::array<std::vector<std::size_t>, 2> texts_of;  // By label.
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isnan(labels[i])) texts_of[labels[i] > 0.5f ? 1 : 0].push_back(i);
  }
  std::array<std::array<std::shared_ptr<const LogitSource>, kStrengths.size()>, 2> sources;
  for (std::size_t side = 0; head != nullptr && side < 2; ++side) {
    for (std::size_t s = 0; s < kStrengths.size(); ++s) {
      sources[side][s] = steering_source(model, *head, static_cast<double>(side), kStrengths[s]);
    }
  }
  RandomStream random(seed, RandomPurpose::steering, (std::uint64_t{1} << 61));
  std::vector<GenerationRequest> requests(count);
  WrittenTexts result;
  for (std::size_t i = 0; i < count; ++i) {
    GenerationRequest& request = requests[i];
    const std::size_t side = i % 2;
    request.max_tokens = kMostTokens;
    request.seed = seed;
    request.index = i;
    request.calibrated = false;
    if (others != nullptr) request.knobs = others->visit(seed, i).asked;
    result.asked.push_back(request.knobs);
    if (head == nullptr) {
      result.silent.push_back(0);
      continue;
    }
    const std::vector<std::size_t>& opposite = texts_of[1 - side];
    std::size_t steered = 1 + random.next_below(dataset.ids(random.next_below(dataset.size())).size());
    if (random.next_uniform() < kPrompted && !opposite.empty()) {
      const std::span<const TokenId> ids = dataset.ids(opposite[random.next_below(opposite.size())]);
      if (ids.size() >= 4 && ids.front() == Vocabulary::kBos) {
        const std::size_t length = 1 + random.next_below(std::min(kMostPromptTokens, ids.size() - 3));
        request.prompt_ids.assign(ids.begin() + 1, ids.begin() + 1 + static_cast<std::ptrdiff_t>(length));
        steered += length;
      }
    }
    request.source = std::make_shared<BeginningSource>(sources[side][i / 2 % kStrengths.size()], steered);
    // After the last token that was steered, or of the prompt, the model goes on alone.
    result.silent.push_back(steered - std::min<std::size_t>(steered, 2));
  }
  const std::vector<Generation> generations = Generator(model, threads).generate(requests);
  std::vector<std::string> texts;
  std::vector<Sentence> sentences;  // By their tokens' names: what tokens stand for is not always one's alone.
  for (std::size_t i = 0; i < count; ++i) {
    if (generations[i].error) throw Error(*generations[i].error);
    texts.push_back(generations[i].text);
    Sentence& sentence = sentences.emplace_back();
    const auto add = [&](TokenId id) {
      if (id != Vocabulary::kEos) sentence.push_back(model.vocabulary().word(id));
    };
    for (const TokenId id : requests[i].prompt_ids) add(id);
    for (const GeneratedToken& token : generations[i].tokens) add(token.id);
  }
  const std::vector<double> found = judge(texts);
  if (found.size() != texts.size()) throw Error("steering: the judge does not say a number for each text");
  for (const double label : found) {
    if (!(label >= 0.0 && label <= 1.0)) throw Error("steering: the judge says a number that is no probability");
    result.labels.push_back(static_cast<float>(label));
  }
  const TokenFeatures* features = dataset.num_features() > 0 ? &ModelAccess::features(model) : nullptr;
  result.dataset = std::make_shared<SentenceDataset>(
      sentences, model.vocabulary(), SentenceDatasetOptions{.features = features, .max_length = kMostTokens + 2});
  return result;
}

}  // namespace semfuse
