#include "steering/written_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "data/sentence_dataset.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"

namespace semfuse {

namespace {

constexpr std::array kStrengths = {1.0, 2.0, 4.0, 8.0};
constexpr std::size_t kMostPromptTokens = 6;
constexpr std::size_t kMostTokens = 64;
constexpr double kPrompted = 0.75;

}  // namespace

WrittenTexts written_texts(const LanguageModel& model, const Dataset& dataset, std::span<const float> labels,
                           const SteeringHead& head, const TextJudge& judge, std::size_t count, std::uint64_t seed,
                           std::size_t threads) {
  std::array<std::vector<std::size_t>, 2> texts_of;  // By label.
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isnan(labels[i])) texts_of[labels[i] > 0.5f ? 1 : 0].push_back(i);
  }
  std::array<std::array<std::shared_ptr<const LogitSource>, kStrengths.size()>, 2> sources;
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t s = 0; s < kStrengths.size(); ++s) {
      sources[side][s] = steering_source(model, head, static_cast<double>(side), kStrengths[s]);
    }
  }
  RandomStream random(seed, RandomPurpose::steering, (std::uint64_t{1} << 61));
  std::vector<GenerationRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    GenerationRequest& request = requests[i];
    const std::size_t side = i % 2;
    request.source = sources[side][i / 2 % kStrengths.size()];
    request.max_tokens = kMostTokens;
    request.seed = seed;
    request.index = i;
    const std::vector<std::size_t>& opposite = texts_of[1 - side];
    if (random.next_uniform() >= kPrompted || opposite.empty()) continue;
    const std::span<const TokenId> ids = dataset.ids(opposite[random.next_below(opposite.size())]);
    if (ids.size() < 4 || ids.front() != Vocabulary::kBos) continue;
    const std::size_t length = 1 + random.next_below(std::min(kMostPromptTokens, ids.size() - 3));
    request.prompt = model.decode(ids.subspan(1, length));
  }
  const std::vector<Generation> generations = Generator(model, threads).generate(requests);
  std::vector<std::string> texts;
  std::vector<Sentence> sentences;
  for (const Generation& generation : generations) {
    if (generation.error) throw Error(*generation.error);
    texts.push_back(generation.text);
    sentences.push_back(generation.words);
  }
  const std::vector<double> found = judge(texts);
  if (found.size() != texts.size()) throw Error("steering: the judge does not say a number for each text");
  WrittenTexts result;
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
