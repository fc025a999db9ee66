#include "generation/beginning_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "generation/read_model.h"
#include "kernels/softmax.h"
#include "model/model_access.h"

namespace semfuse {

namespace {

constexpr std::size_t kMostFound = 4096;

// Inside of what can be divided by.
double expected_share(const ValueReader::Step& step, std::span<const float> logits) {
  constexpr double kLeast = 0.01;
  const std::span<const float> possible = logits.subspan(Vocabulary::kEos);
  std::vector<TokenId> next(possible.size());
  std::iota(next.begin(), next.end(), TokenId{Vocabulary::kEos});
  std::vector<float> z(next.size());
  step.read(next, z);
  const float sum = log_sum_exp(possible.data(), possible.size());
  double share = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) share += std::exp(possible[i] - sum) / (1.0 + std::exp(-z[i]));
  return std::clamp(share, kLeast, 1.0 - kLeast);
}

}  // namespace

double BeginningShares::of(const std::string& knob, const ValueReader& reader, const std::vector<float>& request) {
  const std::lock_guard lock(mutex_);
  const auto known = found_.find({knob, request});
  if (known != found_.end()) return known->second;
  if (!pass_) {
    pass_ = model_.open_pass(/*prefix_bytes=*/0);
    streams_ = std::make_unique<StreamPool>(ModelAccess::empty_cache(model_.model()));
  }
  constexpr std::array kBeginning = {TokenId{Vocabulary::kBos}};
  TextReader text(model_.model(), *streams_);
  text.begin(kBeginning);
  std::array<TokenStream*, 1> streams = {&text.read(request, 1)};
  const Matrix logits = pass_->run(streams);
  const ConstMatrix hidden = pass_->hidden();
  const ValueReader::Step step = reader.at(kBeginning, {hidden.row(0), hidden.cols()});
  if (found_.size() >= kMostFound) found_.clear();
  return found_[{knob, request}] = expected_share(step, {logits.row(0), logits.cols()});
}

}  // namespace semfuse
