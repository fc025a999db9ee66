#include "generation/value_reader.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "core/random_order.h"
#include "kernels/reductions.h"
#include "kernels/softmax.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

AlignedFloats packed_transpose(ConstMatrix matrix) {
  AlignedFloats numbers(packed_size(matrix.cols(), matrix.rows()));
  pack_transposed(matrix, numbers.data());
  return numbers;
}

// A tensor of the head as a matrix of that many columns. Throws Error.
ConstMatrix matrix_of(const SteeringHead& head, std::string_view name, std::size_t cols) {
  const SteeringHead::Tensor& tensor = head.tensor(name);
  if (tensor.shape.size() != 2 || tensor.shape[1] != cols) {
    throw Error("the head was trained for a model of another size; train one for this model");
  }
  return {tensor.values.data(), tensor.shape[0], cols};
}

std::vector<float> vector_of(const SteeringHead& head, std::string_view name, std::size_t size) {
  const SteeringHead::Tensor& tensor = head.tensor(name);
  if (tensor.values.size() != size) {
    throw Error("the head was trained for a model of another size; train one for this model");
  }
  return tensor.values;
}

// A text ends only where it is so probably what is wanted, or as going on could make it; below, ends fall by this many
// times the strength. Not without bound: a text that cannot become what is wanted must end too.
constexpr double kSureEnough = 0.9;
constexpr double kEndStrength = 8.0;
constexpr double kMostFall = 20.0;
constexpr float kRange = 9.2f;  // Of logits below the largest: probabilities down to 1e-4 of its.
constexpr std::size_t kLanes = 8;
constexpr std::size_t kRowsAtOnce = 256;
constexpr float kLeastPlausible = 0.0001f;  // The least probability of a word that can well stand somewhere.

}  // namespace

ValueReader::ValueReader(const SteeringHead& head, const LogitRows& logit_rows)
    : vocab_size_(logit_rows.size), so_far_(head, logit_rows.size) {
  const ConstMatrix inner = matrix_of(head, "inner.weight", logit_rows.width);
  inner_ = inner.rows();
  const ConstMatrix map = matrix_of(head, "map.weight", inner_);
  rank_ = map.rows();
  const ConstMatrix projection = matrix_of(head, "rows.weight", logit_rows.width);
  if (projection.rows() != rank_) throw Error("the head's matrices do not fit together; train it again");
  inner_bias_ = vector_of(head, "inner.bias", inner_);
  map_bias_ = vector_of(head, "map.bias", rank_);
  prefix_ = vector_of(head, "prefix.weight", inner_);
  token_bias_ = vector_of(head, "token.bias", vocab_size_);
  inner_map_ = packed_transpose(inner);
  map_ = packed_transpose(map);
  const AlignedFloats to_rank = packed_transpose(projection);
  stride_ = (rank_ + kLanes - 1) / kLanes * kLanes;
  rows_.resize(vocab_size_ * stride_);
  Workspace workspace;
  const Matrix some = workspace.matrix(std::min(kRowsAtOnce, vocab_size_), logit_rows.width);
  for (std::size_t first = 0; first < vocab_size_; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, vocab_size_ - first);
    for (std::size_t i = 0; i < count; ++i) logit_rows.read(first + i, some.row(i));
    matmul(some.row_range(0, count), {.data = to_rank.data(), .depth = logit_rows.width, .cols = rank_},
           Matrix(rows_.data() + first * stride_, count, rank_, stride_));
  }
}

ValueReader::Step ValueReader::at(std::span<const TokenId> tokens, std::span<const float> hidden,
                                  PrefixClassifier::SoFar* so_far) const {
  Step step;
  step.reader_ = this;
  step.query_.resize(stride_);
  AlignedFloats numbers(inner_ + 16);
  const Matrix u(numbers.data(), 1, inner_);
  matmul({hidden.data(), 1, hidden.size()}, {.data = inner_map_.data(), .depth = hidden.size(), .cols = inner_}, u,
         {.bias = inner_bias_.data(), .relu = true});
  matmul(u, {.data = map_.data(), .depth = inner_, .cols = rank_}, {step.query_.data(), 1, rank_},
         {.bias = map_bias_.data()});
  step.prefix_ = static_cast<float>(so_far_.log_odds(tokens, so_far));
  for (std::size_t j = 0; j < inner_; ++j) step.prefix_ += prefix_[j] * u(0, j);
  return step;
}

void ValueReader::Step::read(std::span<const TokenId> next, std::span<float> z) const {
  assert(z.size() == next.size());
  const ValueReader& reader = *reader_;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const auto id = static_cast<std::size_t>(next[i]);
    const float* row = reader.rows_.data() + id * reader.stride_;
    std::array<float, kLanes> sums{};  // Side by side, as a processor adds them.
    for (std::size_t j = 0; j < reader.stride_; j += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += query_[j + lane] * row[j + lane];
    }
    const float product = (sums[0] + sums[1]) + (sums[2] + sums[3]) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    z[i] = product + reader.token_bias_[id] + prefix_;
  }
}

double sureness_of(const SteeringHead& head) {
  constexpr float kMost = 100.0f;
  if (std::ranges::find(head.tensors, "sureness", &SteeringHead::Tensor::name) == head.tensors.end()) return 1.0;
  const float sureness = vector_of(head, "sureness", 1).front();
  if (!(sureness >= 1.0f && sureness <= kMost)) throw Error("the head's sureness is out of range; train it again");
  return static_cast<double>(sureness);
}

double side_of(double target, std::uint64_t seed, std::uint64_t index, std::size_t knob) {
  constexpr std::uint64_t kParts = 32;
  const RandomStream random(seed, RandomPurpose::sides, knob);
  const RandomOrder order(kParts, random.bits(index / kParts), 0);
  const double uniform = RandomStream(seed, RandomPurpose::sides, ~index).uniform(knob);
  return (static_cast<double>(order(index % kParts)) + uniform) / kParts < target ? 1.0 : 0.0;
}

std::vector<std::size_t> ends_of(const SteeringHead& head, std::size_t vocab_size) {
  if (std::ranges::find(head.tensors, "ends", &SteeringHead::Tensor::name) == head.tensors.end()) return {};
  const std::vector<float> flags = vector_of(head, "ends", vocab_size);
  std::vector<std::size_t> ends;
  for (std::size_t id = Vocabulary::kEos + 1; id < vocab_size; ++id) {
    if (flags[id] == 1.0f) ends.push_back(id - Vocabulary::kEos);
  }
  return ends;
}

namespace {

// The tilt of logits that are all read; `ends` are places among them.
void tilt_read(std::span<float> logits, std::span<const float> z, double target, double share, double strength,
               std::span<const std::size_t> ends) {
  constexpr double kLeast = 1e-30;  // Of what has a logarithm.
  const std::span<float> words = logits.subspan(1);
  // What tokens that mostly come last have together, and what the others have.
  const auto shares = [&](float log_sum) {
    double last = 0.0;
    for (const std::size_t i : ends) last += std::exp(static_cast<double>(logits[i]) - log_sum);
    return std::pair{std::max(last, kLeast), std::max(1.0 - last, kLeast)};
  };
  const double yes = target / share;
  const double no = (1.0 - target) / (1.0 - share);
  const auto sure = [&](double log_odds) {
    const double s = 1.0 / (1.0 + std::exp(-log_odds));
    return (yes * s + no * (1.0 - s)) / std::max(yes, no);
  };
  const float before = log_sum_exp(words.data(), words.size());
  const auto [last_before, others_before] = shares(before);
  // What going on may come to: the best of the words that can well stand here. `sure` is monotone in z.
  double better = kSureEnough;
  if (!ends.empty()) {
    const float least = before + std::log(kLeastPlausible);
    const float side = yes >= no ? 1.0f : -1.0f;
    std::vector<float> of_ends;
    for (const std::size_t i : ends) of_ends.push_back(std::exchange(logits[i], -INFINITY));
    const float best = largest_where(z.data() + 1, side, words.data(), least, words.size());
    for (std::size_t k = 0; k < ends.size(); ++k) logits[ends[k]] = of_ends[k];
    better = std::min(better, std::isinf(best) ? kLeast : sure(side * best));
  }
  const auto fall = [&](float log_odds) {
    const double by = kEndStrength * strength * std::log(std::max(sure(log_odds), kLeast) / better);
    return static_cast<float>(std::clamp(by, -kMostFall, 0.0));
  };
  tilt_logits(words.data(), z.data() + 1, words.size(), static_cast<float>(yes), static_cast<float>(no),
              static_cast<float>(strength));
  for (const std::size_t i : ends) logits[i] += fall(z[i]);
  const float after = log_sum_exp(words.data(), words.size());
  const auto [last_after, others_after] = shares(after);
  const double shift = static_cast<double>(before) - after;
  const bool rises = last_after > last_before;
  const auto shift_last = static_cast<float>(shift + (rises ? std::log(last_before / last_after) : 0.0));
  const auto shift_others = static_cast<float>(shift + (rises ? std::log(others_before / others_after) : 0.0));
  for (const std::size_t i : ends) logits[i] += shift_last - shift_others;
  for (float& logit : words) logit += shift_others;
  if (!ends.empty()) logits[0] += fall(z[0]);
}

}  // namespace

void tilt_by_value(std::span<float> all, const LogOdds& log_odds, double target, double share, double strength,
                   std::span<const std::size_t> all_ends) {
  assert(all.size() > 1);
  const float most = largest_where(all.data() + 1, 1.0f, all.data() + 1, -INFINITY, all.size() - 1);
  if (std::isinf(most)) return;
  const float least_read = most - kRange;
  std::vector<TokenId> likely(all.size() + 16);
  likely.resize(places_from(all.data(), least_read, all.size(), likely.data()));
  std::vector<std::size_t> places = {0};  // Of what may come, with all ends; <eos> first.
  std::vector<std::size_t> ends;          // Among these.
  std::size_t end = 0;
  const auto add_ends_to = [&](std::size_t place) {
    for (; end < all_ends.size() && all_ends[end] <= place; ++end) {
      ends.push_back(places.size());
      places.push_back(all_ends[end]);
    }
  };
  for (const TokenId id : likely) {
    const auto place = static_cast<std::size_t>(id);
    add_ends_to(place);
    if (place > places.back()) places.push_back(place);
  }
  add_ends_to(all.size());
  std::vector<TokenId> tokens;
  tokens.reserve(places.size());
  std::vector<float> logits, z(places.size());
  logits.reserve(places.size());
  for (const std::size_t i : places) tokens.push_back(static_cast<TokenId>(i) + Vocabulary::kEos);
  for (const std::size_t i : places) logits.push_back(all[i]);
  log_odds(tokens, z);
  tilt_read(logits, z, target, share, strength, ends);
  float worst = 0.0f;  // Of what was read, ends apart.
  for (std::size_t k = 1, next = 0; k < places.size(); ++k) {
    if (next < ends.size() && ends[next] == k) {
      ++next;
    } else {
      worst = std::min(worst, logits[k] - all[places[k]]);
    }
  }
  if (worst < 0.0f) add_below(all.data() + 1, least_read, worst, all.size() - 1);
  for (std::size_t k = 0; k < places.size(); ++k) all[places[k]] = logits[k];
}

}  // namespace semfuse
