#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "data/held_out_words.h"
#include "evaluation/corpus_pass.h"
#include "kernels/softmax.h"
#include "semfuse/evaluation.h"

namespace semfuse {
namespace {

constexpr std::size_t kMatches = 4;
enum Group : std::uint8_t { kHeldOut, kMatched, kOthers, kNoWord, kNumGroups };

std::vector<std::uint64_t> token_counts(const Dataset& dataset, std::size_t vocab_size) {
  std::vector<std::uint64_t> counts(vocab_size);
  for (std::size_t text = 0; text < dataset.size(); ++text) {
    for (const TokenId id : dataset.ids(text)) ++counts[static_cast<std::size_t>(id)];
  }
  return counts;
}

// The entries nearest to the count that are still there; they are taken.
void take_nearest(std::uint64_t count, std::set<std::pair<std::uint64_t, std::size_t>>& left,
                  std::vector<std::uint8_t>& group_of) {
  for (std::size_t i = 0; i < kMatches && !left.empty(); ++i) {
    auto best = left.lower_bound({count, 0});
    if (best == left.end() || (best != left.begin() && count - std::prev(best)->first <= best->first - count)) {
      --best;
    }
    group_of[best->second] = kMatched;
    left.erase(best);
  }
}

struct GroupSums {
  std::array<double, kNumGroups> nats = {};
  std::array<std::size_t, kNumGroups> positions = {};
  double after = 0.0;
  std::size_t num_after = 0;

  void operator+=(const GroupSums& other) {
    for (std::size_t g = 0; g < kNumGroups; ++g) {
      nats[g] += other.nats[g];
      positions[g] += other.positions[g];
    }
    after += other.after;
    num_after += other.num_after;
  }
};

GroupSums measure(const Batch& batch, const Shard& shard, Matrix logits, const std::vector<std::uint8_t>& group_of) {
  GroupSums sums;
  for (std::size_t t = 0; t < shard.num_tokens; ++t) {
    const auto target = static_cast<std::size_t>(batch.targets[shard.first_token + t]);
    const double nats = static_cast<double>(log_sum_exp(logits.row(t), logits.cols()) - logits(t, target));
    sums.nats[group_of[target]] += nats;
    ++sums.positions[group_of[target]];
    if (group_of[static_cast<std::size_t>(batch.inputs[shard.first_token + t])] != kHeldOut) continue;
    sums.after += nats;
    ++sums.num_after;
  }
  return sums;
}

double mean(double sum, std::size_t count) {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

HeldOutEvaluation evaluate_held_out(const LanguageModel& model, const Dataset& texts, const Dataset& train,
                                    const std::vector<std::string>& words, const EvaluationOptions& options) {
  const std::size_t vocab_size = model.vocabulary().size();
  const std::vector<std::uint64_t> here = token_counts(texts, vocab_size), shown = token_counts(train, vocab_size);
  std::vector<std::uint8_t> group_of(vocab_size, kNoWord);
  std::set<std::pair<std::uint64_t, std::size_t>> seen;  // Words, by how often training showed them.
  for (std::size_t id = Tokenizer::kSmallestSize; id < vocab_size; ++id) {
    if (shown[id] == 0) continue;
    group_of[id] = kOthers;
    seen.emplace(shown[id], id);
  }
  std::set<std::size_t> held_out;
  for (const std::string& word : words) {
    for (const std::string& surface : surfaces_of(word)) {
      const std::optional<TokenId> id = model.vocabulary().find(surface);
      if (id && shown[static_cast<std::size_t>(*id)] == 0 && here[static_cast<std::size_t>(*id)] > 0)
        held_out.insert(static_cast<std::size_t>(*id));
    }
  }
  for (const std::size_t id : held_out) {
    group_of[id] = kHeldOut;
    take_nearest(here[id], seen, group_of);
  }

  GroupSums total;
  for_each_batch(model, texts, options, [&](const Batch& batch, ForwardPass& pass) {
    std::vector<GroupSums> shard_sums(batch.shards.size());
    pass.run(batch, [&](const Shard& shard, Matrix logits, Matrix) {
      shard_sums[shard.index] = measure(batch, shard, logits, group_of);
    });
    for (const GroupSums& sums : shard_sums) total += sums;
  });

  double all = 0.0;
  for (std::size_t id = Vocabulary::kEos; id < vocab_size; ++id) all += static_cast<double>(here[id] + shown[id]);
  const auto group = [&](Group wanted) {
    WordGroup result{.num_positions = total.positions[wanted],
                     .cross_entropy = mean(total.nats[wanted], total.positions[wanted])};
    double unigram = 0.0;
    std::size_t count = 0;
    for (std::size_t id = 0; id < vocab_size; ++id) {
      if (group_of[id] != wanted) continue;
      ++result.num_words;
      count += here[id];
      if (here[id] > 0)
        unigram -= static_cast<double>(here[id]) * std::log(static_cast<double>(here[id] + shown[id]) / all);
    }
    result.unigram = mean(unigram, count);
    return result;
  };
  return {.num_texts = texts.size(),
          .held_out = group(kHeldOut),
          .matched = group(kMatched),
          .others = group(kOthers),
          .after = {.num_words = held_out.size(),
                    .num_positions = total.num_after,
                    .cross_entropy = mean(total.after, total.num_after),
                    .unigram = std::numeric_limits<double>::quiet_NaN()}};
}

}  // namespace semfuse
