#include "generation/read_model.h"

#include <fmt/format.h>

#include <utility>

#include "generation/beginning_shares.h"
#include "model/incremental_pass.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

ReadModel::ReadModel(const LanguageModel& model, std::size_t threads) : model_(model), threads_(threads) {
  prepare();
}

ReadModel::ReadModel(std::shared_ptr<const LanguageModel> model) : owned_(std::move(model)), model_(*owned_) {
  prepare();
}

void ReadModel::prepare() {
  if (ModelAccess::pretrained(model_) == nullptr) {
    ThreadPool pool(1);
    weights_.emplace(ModelAccess::network(model_), ModelAccess::weights(model_), pool);
  }
  for (const auto& [name, head] : model_.heads()) {
    try {
      knob_readers_.emplace(name, KnobReader{.reader = ValueReader(head, logit_rows()),
                                             .ends = ends_of(head, model_.vocabulary().size()),
                                             .share = head.share});
    } catch (const Error& error) {
      throw Error(fmt::format("knob {}: {}", name, error.what()));
    }
  }
  if (!knob_readers_.empty()) beginning_shares_ = std::make_unique<BeginningShares>(*this);
}

ReadModel::~ReadModel() = default;

double ReadModel::share(const std::string& knob, const std::vector<float>& request) const {
  const KnobReader& found = *knob_reader(knob);
  const PretrainedNetwork* network = ModelAccess::pretrained(model_);
  if (network != nullptr && !network->begins_texts()) return found.share;
  return beginning_shares_->of(knob, found.reader, request);
}

const KnobReader* ReadModel::knob_reader(std::string_view knob) const {
  const auto found = knob_readers_.find(knob);
  return found == knob_readers_.end() ? nullptr : &found->second;
}

LogitRows ReadModel::logit_rows() const {
  const PretrainedNetwork* network = ModelAccess::pretrained(model_);
  if (network == nullptr) return LogitRows::of(weights_->head.rows());
  return {.size = model_.vocabulary().size(),
          .width = model_.options().width,
          .read = [network](std::size_t id, float* row) { network->output_row(static_cast<TokenId>(id), row); }};
}

const InferenceWeights& ReadModel::weights() const {
  if (!weights_) {
    throw Error(
        "this method of steering reads the model's own layers, which an imported model does not show; use another");
  }
  return *weights_;
}

std::unique_ptr<StreamPass> ReadModel::open_pass(std::size_t prefix_bytes) const {
  if (const PretrainedNetwork* network = ModelAccess::pretrained(model_)) {
    return network->open_pass(threads_, ModelAccess::weights(model_));
  }
  return std::make_unique<IncrementalPass>(*weights_, prefix_bytes);
}

void require_same_tokens(const LanguageModel& model, const LanguageModel& other, std::string_view origin) {
  const bool same_tokenizer =
      (model.tokenizer() == nullptr) == (other.tokenizer() == nullptr) &&
      (model.tokenizer() == nullptr || model.tokenizer()->to_json() == other.tokenizer()->to_json());
  if (same_tokenizer && model.vocabulary().entries() == other.vocabulary().entries()) return;
  throw Error(
      fmt::format("{}: has other tokens than the model that it is to steer; train it with --init that model", origin));
}

}  // namespace semfuse
