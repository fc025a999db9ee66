#include "generation/read_model.h"

#include <fmt/format.h>

#include <utility>

#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

InferenceWeights inference_weights(const LanguageModel& model) {
  ThreadPool pool(1);
  return {ModelAccess::network(model), ModelAccess::weights(model), pool};
}

}  // namespace

ReadModel::ReadModel(const LanguageModel& model) : model_(model), weights_(inference_weights(model)) {}

ReadModel::ReadModel(std::shared_ptr<const LanguageModel> model)
    : owned_(std::move(model)), model_(*owned_), weights_(inference_weights(model_)) {}

void require_same_tokens(const LanguageModel& model, const LanguageModel& other, std::string_view origin) {
  const bool same_tokenizer =
      (model.tokenizer() == nullptr) == (other.tokenizer() == nullptr) &&
      (model.tokenizer() == nullptr || model.tokenizer()->to_json() == other.tokenizer()->to_json());
  if (same_tokenizer && model.vocabulary().entries() == other.vocabulary().entries()) return;
  throw Error(
      fmt::format("{}: has other tokens than the model that it is to steer; train it with --init that model", origin));
}

}  // namespace semfuse
