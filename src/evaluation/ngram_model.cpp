#include "evaluation/ngram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/machine_memory.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr double kBytesPerToken = 80.0;

// Reads texts one token after the other, each with what its text has before it.
class TokenWalk {
 public:
  TokenWalk(const Dataset& texts, bool count_end) : texts_(texts), count_end_(count_end) {}

  // Calls begin(first token) and then next(token) for each that is predicted. A text that goes on with the piece that
  // came before has no begin of its own.
  template <typename Begin, typename Next>
  void read(std::size_t text, const Begin& begin, const Next& next) {
    const std::span<const TokenId> ids = texts_.ids(text);
    const bool goes_on = ids.front() != Vocabulary::kBos && text > 0 && text == expected_ && ids.front() == last_;
    if (!goes_on) begin(ids.front());
    for (const TokenId id : ids.subspan(1)) next(id);
    if (count_end_ && ids.back() == Vocabulary::kEos) next(Vocabulary::kPad);
    expected_ = text + 1;
    last_ = ids.back();
  }

 private:
  const Dataset& texts_;
  bool count_end_;
  std::size_t expected_ = 0;  // The text behind the one that was read last,
  TokenId last_ = 0;          // and what that one ended with.
};

// Y and D of Chen and Goodman's equation 26; constants where there is too little to estimate them from.
std::array<double, 4> discounts_of(const std::vector<std::uint32_t>& counts) {
  std::array<double, 5> n{};  // How many n-grams have a count of 1, 2, 3, 4.
  for (const std::uint32_t count : counts) {
    if (count > 0 && count < n.size()) n[count] += 1.0;
  }
  constexpr std::array<double, 4> kUsual = {0.0, 0.5, 1.0, 1.5};
  if (n[1] == 0.0 || n[2] == 0.0 || n[3] == 0.0 || n[4] == 0.0) return kUsual;
  const double y = n[1] / (n[1] + 2.0 * n[2]);
  std::array<double, 4> discounts{};
  for (std::size_t i = 1; i < discounts.size(); ++i) {
    const auto count = static_cast<double>(i);
    discounts[i] = count - (count + 1.0) * y * n[i + 1] / n[i];
    if (!(discounts[i] > 0.0 && discounts[i] < count)) return kUsual;
  }
  return discounts;
}

double discount(const std::array<double, 4>& discounts, std::uint32_t count) {
  return discounts[std::min<std::size_t>(count, 3)];
}

}  // namespace

// Level by level: an n-gram is a shorter one and the token before it.
class NgramModel::Builder {
 public:
  Builder(NgramModel& model, const NgramOptions& options) : model_(model), options_(options), levels_(model.levels_) {}

  void build(const Dataset& training) {
    read(training);
    levels_.resize(options_.order);
    levels_[0].counts.resize(model_.vocab_size_);
    node_ = tokens_;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      tell(static_cast<double>(level + 1) / static_cast<double>(levels_.size() + 1));
      std::vector<std::uint32_t> contexts = std::exchange(contexts_, {});
      count(level);
      if (level + 1 < levels_.size()) grow(level);
      weigh(level, contexts);
    }
    tell(1.0);
  }

 private:
  void tell(double done) const {
    if (options_.on_progress) options_.on_progress(done);
  }

  void read(const Dataset& training) {
    std::uint64_t total = 0;
    for (std::size_t text = 0; text < training.size(); ++text) total += training.ids(text).size();
    if (total == 0) throw Error("there is no training text to count n-grams in");
    model_.stride_ = (total - 1) / std::max<std::uint64_t>(options_.max_tokens, 1) + 1;
    const std::uint64_t kept = total / model_.stride_;
    require_memory(static_cast<double>(kept) * kBytesPerToken, "counting n-grams", "leave out --against ngram");
    tokens_.reserve(kept + kept / 4);
    is_first_.reserve(kept + kept / 4);
    TokenWalk walk(training, options_.count_end);
    const auto add = [&](TokenId token, bool is_first) {
      tokens_.push_back(static_cast<std::uint32_t>(token));
      is_first_.push_back(is_first);
    };
    for (std::size_t text = 0; text < training.size(); text += model_.stride_) {
      walk.read(
          text, [&](TokenId token) { add(token, true); }, [&](TokenId token) { add(token, false); });
    }
    model_.num_tokens_ = tokens_.size() - static_cast<std::uint64_t>(std::ranges::count(is_first_, true));
  }

  // Calls visit(position) for each token that is predicted and has an n-gram of the level.
  template <typename Visit>
  void for_each_ngram(const Visit& visit) const {
    for (std::size_t p = 0; p < tokens_.size(); ++p) {
      if (!is_first_[p] && node_[p] != kNone) visit(p);
    }
  }

  // The highest order counts what is there, the others beginnings of texts here and what came before in grow().
  void count(std::size_t level) {
    const bool all = level + 1 == levels_.size();
    for_each_ngram([&](std::size_t p) {
      if (all || is_first_[p - level]) ++levels_[level].counts[node_[p]];
    });
  }

  // Makes the next level.
  void grow(std::size_t level) {
    Level& here = levels_[level];
    Level& next = levels_[level + 1];
    std::vector<std::uint64_t> keys;  // A node here and the token before it.
    const auto key = [&](std::size_t p) { return static_cast<std::uint64_t>(node_[p]) << 32 | tokens_[p - level - 1]; };
    for_each_ngram([&](std::size_t p) {
      if (!is_first_[p - level]) keys.push_back(key(p));
    });
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    here.first_child.assign(here.counts.size() + 1, 0);
    next.tokens.reserve(keys.size());
    for (const std::uint64_t pair : keys) {
      ++here.first_child[(pair >> 32) + 1];
      next.tokens.push_back(static_cast<std::uint32_t>(pair));
    }
    for (std::size_t node = 0; node < here.counts.size(); ++node) {
      here.counts[node] += here.first_child[node + 1];
      here.first_child[node + 1] += here.first_child[node];
    }
    next.counts.resize(keys.size());
    contexts_.resize(keys.size());
    keys = {};

    std::vector<std::uint32_t> nodes(node_.size(), kNone);
    for_each_ngram([&](std::size_t p) {
      if (is_first_[p - level]) return;
      nodes[p] = model_.child(level + 1, node_[p], tokens_[p - level - 1]);
      contexts_[nodes[p]] = node_[p - 1];
    });
    node_ = std::move(nodes);
  }

  // What the contexts of a level's n-grams are followed by; `contexts` are nodes of the level before.
  void weigh(std::size_t level, const std::vector<std::uint32_t>& contexts) {
    Level& here = levels_[level];
    here.discounts = discounts_of(here.counts);
    std::vector<Followers> all(level == 0 ? 1 : levels_[level - 1].counts.size());
    for (std::size_t node = 0; node < here.counts.size(); ++node) {
      Followers& followers = all[level == 0 ? 0 : contexts[node]];
      followers.count += here.counts[node];
      followers.weight += discount(here.discounts, here.counts[node]);
    }
    for (Followers& followers : all) {
      if (followers.count > 0) followers.weight /= static_cast<double>(followers.count);
    }
    here.followers_of = std::move(all);
  }

  NgramModel& model_;
  const NgramOptions& options_;
  std::vector<Level>& levels_;
  std::vector<std::uint32_t> tokens_;  // Of all texts, one after the other.
  std::vector<bool> is_first_;         // Whether a text begins with it.
  std::vector<std::uint32_t> node_;    // The n-gram of the level that ends at each; kNone: the text is too short.
  std::vector<std::uint32_t>
      contexts_;  // Of each node of the newest level: the node of the level before that it goes on from.
};

NgramModel::NgramModel(const Dataset& training, std::size_t vocab_size, const NgramOptions& options)
    : vocab_size_(vocab_size) {
  Builder(*this, options).build(training);
}

std::uint32_t NgramModel::child(std::size_t level, std::uint32_t node, std::uint32_t token) const {
  const std::vector<std::uint32_t>& first = levels_[level - 1].first_child;
  const std::vector<std::uint32_t>& tokens = levels_[level].tokens;
  const auto end = tokens.begin() + first[node + 1];
  const auto found = std::lower_bound(tokens.begin() + first[node], end, token);
  return found == end || *found != token ? kNone : static_cast<std::uint32_t>(found - tokens.begin());
}

double NgramModel::probability(std::span<const TokenId> history, TokenId next) const {
  double probability = 1.0 / static_cast<double>(vocab_size_);
  std::uint32_t ngram = static_cast<std::uint32_t>(next);
  std::uint32_t context = 0;
  for (std::size_t level = 0; level < levels_.size() && level <= history.size(); ++level) {
    const Level& here = levels_[level];
    if (level > 0) {
      const auto before = static_cast<std::uint32_t>(history[history.size() - level]);
      context = level == 1 ? before : child(level - 1, context, before);
      if (context == kNone) break;
      if (ngram != kNone) ngram = child(level, ngram, before);
    }
    const Followers& followers = here.followers_of[context];
    if (followers.count == 0) break;  // A longer context has none either.
    probability *= followers.weight;
    if (ngram == kNone) continue;
    const std::uint32_t count = here.counts[ngram];
    probability +=
        (static_cast<double>(count) - discount(here.discounts, count)) / static_cast<double>(followers.count);
  }
  return probability;
}

NgramEvaluation evaluate(const NgramModel& model, const Dataset& texts, bool count_end) {
  NgramEvaluation result;
  double nats = 0.0;
  std::vector<TokenId> history;
  TokenWalk walk(texts, count_end);
  for (std::size_t text = 0; text < texts.size(); ++text) {
    walk.read(
        text, [&](TokenId token) { history.assign(1, token); },
        [&](TokenId token) {
          nats -= std::log(model.probability(history, token));
          history.push_back(token);
          ++result.num_positions;
        });
  }
  if (result.num_positions == 0) throw Error("there is no text to measure an n-gram model on");
  result.perplexity = std::exp(nats / static_cast<double>(result.num_positions));
  result.bits_per_byte = texts.num_bytes() > 0 ? nats / std::numbers::ln2 / static_cast<double>(texts.num_bytes())
                                               : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace semfuse
