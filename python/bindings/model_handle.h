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

  // With a thread for each processor, and with one for streams, of which each has its own. Made when they are first
  // asked for.
  const Generator& generator() const { return many_.get(*this, 0); }
  const Generator& stream_generator() const { return one_.get(*this, 1); }

 private:
  struct Lazy {
    std::once_flag once;
    std::unique_ptr<Generator> generator;
    const Generator& get(const ModelHandle& handle, std::size_t threads) {
      handle.guard_.check();
      std::call_once(once, [&] { generator = std::make_unique<Generator>(handle.checkpoint_.model, threads); });
      return *generator;
    }
  };

  ForkGuard guard_;
  Checkpoint checkpoint_;
  mutable Lazy many_;
  mutable Lazy one_;
};

}  // namespace semfuse::python
