#include "generation/draft_batch.h"

#include <algorithm>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {

namespace {

// Tokens of prompts that a step reads: as many as there may be texts, so that it takes at most about twice the time.
constexpr std::size_t kMostRead = DraftBatch::kMostTexts;
constexpr std::size_t kMostReadAlone = 256;  // While no text waits for its next token.
constexpr std::size_t kFew = 8;              // So many of a text are read whatever the others have.

}  // namespace

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
    if (slot.reads) continue;
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
  read_prompts();
  for (const Slot& slot : slots_) {
    if (slot.reads) continue;
    for (const Draft::Waiting& each : slot.draft->waiting()) pass_of(each.worker).streams.push_back(each.stream);
  }
  for (const Cut& cut : cuts_) pass_of(cut.worker).streams.push_back(cut.stream);  // Nobody takes their rows.
  for (Pass& pass : passes_) pass.logits = pass.worker->pass.run(pass.streams);
  for (const Cut& cut : cuts_) {
    cut.stream->tokens.insert(cut.stream->tokens.end(), cut.tokens.begin(), cut.tokens.end());
    cut.stream->features.insert(cut.stream->features.end(), cut.features.begin(), cut.features.end());
    cut.stream->num_guesses = cut.num_guesses;
  }
}

void DraftBatch::read_prompts() {
  struct Prompt {
    Slot* slot;
    Draft::Waiting waiting;
    std::size_t known;
    std::size_t rest;  // Tokens before those whose logits are wanted.
    std::size_t share = 0;
  };
  std::vector<Prompt> prompts;
  cuts_.clear();
  bool any_waits = false;
  for (Slot& slot : slots_) {
    slot.reads = false;
    const std::size_t first = prompts.size();
    for (const Draft::Waiting& each : slot.draft->waiting()) {
      const std::size_t before = each.stream->tokens.size() - 1 - each.stream->num_guesses;
      if (before <= each.stream->cache.length() + kFew) continue;
      const std::size_t known = each.worker->pass.num_known(*each.stream).value_or(before);
      if (known + kFew >= before) continue;
      prompts.push_back({.slot = &slot, .waiting = each, .known = known, .rest = before - known});
    }
    any_waits = any_waits || prompts.size() == first;
  }
  if (prompts.empty()) return;
  // Each has the same share; what short ones leave of theirs is for the others.
  std::ranges::stable_sort(prompts, {}, &Prompt::rest);
  std::size_t left = any_waits ? kMostRead : kMostReadAlone;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Prompt& prompt = prompts[i];
    prompt.share = std::min(prompt.rest, std::max(kFew, left / (prompts.size() - i)));
    left -= std::min(left, prompt.share);
    if (prompt.share < prompt.rest) prompt.slot->reads = true;
  }
  for (const Prompt& prompt : prompts) {
    if (prompt.slot->reads) cut(prompt.waiting, prompt.known + prompt.share);
  }
}

void DraftBatch::cut(const Draft::Waiting& waiting, std::size_t num_tokens) {
  TokenStream& stream = *waiting.stream;
  const std::size_t num_features = stream.features.size() / stream.tokens.size() * num_tokens;
  const auto token = stream.tokens.begin() + static_cast<std::ptrdiff_t>(num_tokens);
  const auto feature = stream.features.begin() + static_cast<std::ptrdiff_t>(num_features);
  cuts_.push_back({.worker = waiting.worker,
                   .stream = &stream,
                   .tokens = {token, stream.tokens.end()},
                   .features = {feature, stream.features.end()},
                   .num_guesses = std::exchange(stream.num_guesses, 0)});
  stream.tokens.resize(num_tokens);
  stream.features.resize(num_features);
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
