// Hidden states of texts in a model that stays as it is: what heads are trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "generation/read_model.h"
#include "semfuse/dataset.h"
#include "semfuse/language_model.h"

namespace semfuse {

class FrozenStates {
 public:
  // All must outlive it. The texts must be encoded for the model.
  FrozenStates(const LanguageModel& model, const Dataset& dataset, ThreadPool& pool);

  struct States {
    Batch batch;         // Whose targets are the tokens that follow.
    ConstMatrix hidden;  // [num_tokens, width], valid until the next call.
  };
  // `requests` is a row for each text, as request_row() says; empty: nothing is asked.
  States of(std::span<const std::size_t> texts, std::span<const float> requests = {});

  const ReadModel& model() const { return model_; }

 private:
  // What a thread reads texts of a pretrained model with.
  struct Reader {
    std::unique_ptr<StreamPass> pass;
    TokenStream stream;
  };

  ConstMatrix own_states(const Batch& batch);
  ConstMatrix pretrained_states(const Batch& batch, std::span<const std::size_t> texts);
  // One text of the batch, `index` in the dataset.
  void read(Reader& reader, const Batch& batch, std::size_t text, std::size_t index, Matrix hidden) const;

  const Dataset& dataset_;
  ThreadPool& pool_;
  ReadModel model_;
  PositionTable positions_;
  Workspace workspace_;
  // Of a pretrained model, whose reading takes long: what was read of texts that ask for nothing, as long as there is
  // room.
  std::vector<std::vector<float>> kept_;
  std::size_t kept_bytes_ = 0;
  std::vector<Reader> readers_;
};

// The texts of a step: drawn with replacement from those that have a label.
std::vector<std::size_t> texts_of_step(std::span<const std::size_t> labelled, std::size_t batch, std::uint64_t seed,
                                       std::uint64_t step);

}  // namespace semfuse
