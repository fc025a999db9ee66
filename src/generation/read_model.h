// A model as generation reads texts with it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generation/value_reader.h"
#include "model/inference_weights.h"
#include "model/stream_pass.h"
#include "semfuse/language_model.h"

namespace semfuse {

// A head of the model's own, ready to turn its knob.
struct KnobReader {
  ValueReader reader;
  std::vector<std::size_t> ends;
  double share = 0.5;
};

class BeginningShares;

// A model with its weights as inference reads them: computed once, then read from any number of threads.
class ReadModel {
 public:
  // `model` must outlive it and keep its weights. A pass of a pretrained model uses so many threads.
  explicit ReadModel(const LanguageModel& model, std::size_t threads = 1);
  explicit ReadModel(std::shared_ptr<const LanguageModel> model);
  ~ReadModel();
  ReadModel(const ReadModel&) = delete;
  ReadModel& operator=(const ReadModel&) = delete;

  const LanguageModel& model() const { return model_; }
  // Of a model of our own. Throws Error for a pretrained one.
  const InferenceWeights& weights() const;
  // As long as it lives, and the model.
  LogitRows logit_rows() const;
  // What turns a knob of the model instead of a request; null if nothing does.
  const KnobReader* knob_reader(std::string_view knob) const;
  // How probable the label of such a knob is where this row is asked for, before the text begins; of a model that can
  // begin none, on the whole.
  double share(const std::string& knob, const std::vector<float>& request) const;
  // What texts are read with; keeps their beginnings in up to `prefix_bytes`. The model must outlive it.
  std::unique_ptr<StreamPass> open_pass(std::size_t prefix_bytes) const;

 private:
  void prepare();

  std::shared_ptr<const LanguageModel> owned_;
  const LanguageModel& model_;
  std::size_t threads_ = 1;
  std::optional<InferenceWeights> weights_;  // None of a pretrained model.
  std::map<std::string, KnobReader, std::less<>> knob_readers_;
  std::unique_ptr<BeginningShares> beginning_shares_;
};

// Throws Error that says who it is (`origin`) if the two do not have the same tokens, so that what they say of the next
// one cannot be combined.
void require_same_tokens(const LanguageModel& model, const LanguageModel& other, std::string_view origin);

}  // namespace semfuse
