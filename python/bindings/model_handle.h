// A model as Python holds it: loaded once, shared by whatever was made from it.
#pragma once

#include <memory>
#include <mutex>

#include "fork_guard.h"
#include "semfuse/checkpoint.h"
#include "semfuse/generator.h"

namespace semfuse::python {

// Shared: a generator, a view of a weight or a tokenizer keeps it alive. Its functions may be called from several
// threads at once.
class ModelHandle {
 public:
  explicit ModelHandle(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  const LanguageModel& model() const {
    guard_.check();
    return checkpoint_.model;
  }
  const Checkpoint& checkpoint() const { return checkpoint_; }

  // Made when it is first asked for.
  const Generator& generator() const {
    guard_.check();
    std::call_once(once_, [&] { generator_ = std::make_unique<Generator>(checkpoint_.model, 0); });
    return *generator_;
  }

 private:
  ForkGuard guard_;
  Checkpoint checkpoint_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<Generator> generator_;
};

}  // namespace semfuse::python
