// A model as generation reads texts with it.
#pragma once

#include <memory>

#include "model/inference_weights.h"
#include "semfuse/language_model.h"

namespace semfuse {

// A model with its weights as inference reads them: computed once, then read from any number of threads.
class ReadModel {
 public:
  // `model` must outlive it and keep its weights.
  explicit ReadModel(const LanguageModel& model);
  explicit ReadModel(std::shared_ptr<const LanguageModel> model);
  ReadModel(const ReadModel&) = delete;
  ReadModel& operator=(const ReadModel&) = delete;

  const LanguageModel& model() const { return model_; }
  const InferenceWeights& weights() const { return weights_; }

 private:
  std::shared_ptr<const LanguageModel> owned_;
  const LanguageModel& model_;
  InferenceWeights weights_;
};

// Throws Error that says who it is (`origin`) if the two do not have the same tokens, so that what they say of the next
// one cannot be combined.
void require_same_tokens(const LanguageModel& model, const LanguageModel& other, std::string_view origin);

}  // namespace semfuse
