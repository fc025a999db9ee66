#include "evaluation/context_pass.h"

#include <algorithm>
#include <vector>

#include "core/thread_pool.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kBatchTokens = 1024;  // Windows go together as long as they have no more tokens.

// Cuts texts, one after the other, into windows.
class WindowCutter {
 public:
  WindowCutter(const Dataset& dataset, bool count_end, bool causal)
      : dataset_(dataset), count_end_(count_end), causal_(causal) {}

  // Calls add(entries, features, window) for each window of the next text: one entry more than it has positions.
  template <typename Add>
  void cut(std::size_t text, const Add& add) {
    const std::span<const TokenId> ids = dataset_.ids(text);
    const bool goes_on =
        causal_ && !entries_.empty() && ids.front() != Vocabulary::kBos && ids.front() == entries_.back();
    const std::size_t width = dataset_.num_features();
    // What is kept is the piece before, without its last entry, which this one begins with.
    const std::size_t before = goes_on ? entries_.size() - 1 - first_ : 0;
    entries_.erase(entries_.begin(),
                   entries_.begin() + static_cast<std::ptrdiff_t>(goes_on ? first_ : entries_.size()));
    entries_.resize(before);
    features_.erase(features_.begin(), features_.end() - static_cast<std::ptrdiff_t>(before * width));
    first_ = before;
    entries_.insert(entries_.end(), ids.begin(), ids.end());
    if (count_end_ && ids.back() == Vocabulary::kEos) entries_.push_back(Vocabulary::kPad);
    const std::size_t positions = entries_.size() - 1;
    features_.resize(positions * width);
    dataset_.copy_features(text, std::span(features_).subspan(first_ * width));

    const std::size_t step = before == 0 ? positions : before - before / 2;
    for (std::size_t next = first_; next < positions; next += step) {
      const std::size_t end = std::min(positions, next + step);
      const std::size_t begin = before == 0 ? 0 : end - before;
      add(std::span(entries_).subspan(begin, end - begin + 1),
          std::span(features_).subspan(begin * width, (end - begin) * width),
          ContextWindow{.text = text, .context = next - begin});
    }
  }

 private:
  const Dataset& dataset_;
  bool count_end_;
  bool causal_;
  std::vector<TokenId> entries_;  // Of the last text, behind those of the one that it goes on with.
  std::vector<float> features_;   // A row for each entry but the last.
  std::size_t first_ = 0;         // Where the last text begins.
};

}  // namespace

void for_each_batch_in_context(
    const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options,
    const std::function<void(const Batch& batch, std::span<const ContextWindow> windows, ForwardPass& pass)>& visit) {
  if (dataset.size() == 0) throw Error("there is no sentence to evaluate on");
  ThreadPool pool(thread_count(options.threads));
  ForwardPass pass(ModelAccess::network(model), pool);
  pass.set_weights(ModelAccess::weights(model));
  BatchPacker packer(dataset.num_features());
  std::vector<ContextWindow> windows;
  std::size_t tokens = 0;
  const auto flush = [&] {
    if (windows.empty()) return;
    visit(packer.take(), windows, pass);
    windows.clear();
    tokens = 0;
  };
  WindowCutter cutter(dataset, options.count_end, model.options().attention == AttentionMask::causal);
  for (std::size_t text = 0; text < dataset.size(); ++text) {
    cutter.cut(text, [&](std::span<const TokenId> entries, std::span<const float> features, ContextWindow window) {
      const std::size_t positions = entries.size() - 1;
      if (tokens + positions > kBatchTokens) flush();
      packer.add(entries.first(positions), entries.last(positions), features);
      windows.push_back(window);
      tokens += positions;
    });
    if (options.on_progress && windows.size() <= 1) {
      options.on_progress(static_cast<double>(text) / static_cast<double>(dataset.size()));
    }
  }
  flush();
  if (options.on_progress) options.on_progress(1.0);
}

}  // namespace semfuse
