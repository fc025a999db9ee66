#include "generation/draft_batch.h"

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse {

DraftBatch::DraftBatch(GeneratorParts& parts, OnEnd on_end)
    : parts_(parts),
      on_end_(std::move(on_end)),
      worker_(parts.take_worker()),
      workers_([worker = worker_.get()](const ReadModel& model) -> ModelWorker& { return worker->of(model); }) {}

void DraftBatch::fail(Slot& slot, const std::string& error) {
  Generation generation;
  if (slot.draft) generation = slot.draft->take();
  slot.draft.reset();
  generation.finish = Generation::Finish::failed;
  generation.error = error;
  on_end_(slot.key, std::move(generation));
}

Draft* DraftBatch::add(std::size_t key, const GenerationRequest& request, std::span<const KnobSetting> rules,
                       OnToken on_token) {
  Slot slot{.key = key, .draft = nullptr, .on_token = std::move(on_token)};
  try {
    parts_.check_vocabulary(request);
    slot.draft = std::make_unique<Draft>(parts_.read_model, parts_.classes, parts_.cells, request, rules, workers_);
  } catch (const Error& error) {
    fail(slot, error.what());
    return nullptr;
  }
  slots_.push_back(std::move(slot));
  return slots_.back().draft.get();
}

void DraftBatch::step() {
  std::erase_if(slots_, [&](Slot& slot) {
    try {
      if (slot.draft->prepare(slot.on_token)) return false;
    } catch (const Error& error) {
      fail(slot, error.what());
      return true;
    }
    Generation generation = slot.draft->take();
    slot.draft.reset();
    on_end_(slot.key, std::move(generation));
    return true;
  });
  if (slots_.empty()) return;
  // A pass of one stream waits for the weights to arrive: a few more tokens cost it little.
  LogitMemory* const memory = slots_.size() == 1 && parts_.may_guess ? &worker_->memory : nullptr;
  if (memory != nullptr) slots_.front().draft->guess(*memory);
  run_passes();
  for (Slot& slot : slots_) {
    const std::span<const ReadRows> rows = take_rows(slot.draft->waiting());
    try {
      slot.draft->choose(rows, memory, slot.on_token);
    } catch (const Error& error) {
      fail(slot, error.what());
    }
  }
  std::erase_if(slots_, [](const Slot& slot) { return slot.draft == nullptr; });
}

void DraftBatch::run_passes() {
  passes_.clear();
  for (const Slot& slot : slots_) {
    for (const Draft::Waiting& each : slot.draft->waiting()) pass_of(each.worker).streams.push_back(each.stream);
  }
  for (Pass& pass : passes_) pass.logits = pass.worker->pass.run(pass.streams);
}

std::span<const ReadRows> DraftBatch::take_rows(std::span<const Draft::Waiting> waiting) {
  rows_.clear();
  for (const Draft::Waiting& each : waiting) {
    Pass& pass = pass_of(each.worker);
    const std::size_t num_rows = each.stream->num_guesses + 1;
    rows_.push_back({.logits = pass.logits.row_range(pass.first_row, num_rows),
                     .hidden = pass.worker->pass.hidden().row_range(pass.first_row, num_rows),
                     .stream = each.stream});
    pass.first_row += num_rows;
  }
  return rows_;
}

DraftBatch::Pass& DraftBatch::pass_of(ModelWorker* worker) {
  const auto found = std::ranges::find(passes_, worker, &Pass::worker);
  if (found != passes_.end()) return *found;
  passes_.push_back({.worker = worker, .streams = {}, .logits = {}});
  return passes_.back();
}

}  // namespace semfuse
