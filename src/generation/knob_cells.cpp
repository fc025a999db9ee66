#include "generation/knob_cells.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/lower_case.h"
#include "features/knob_index.h"
#include "generation/sampler.h"

namespace semfuse {

namespace {

constexpr double kScalarSteps = 100.0;  // Values of a scalar that are nearer to each other count as one.

// The word that a token of a tokenizer is: without the space before it and, for the lexicon, as that has it.
std::string word_of(std::string_view token, const Knob& knob, const Lexicon& lexicon) {
  const std::string word(token.substr(std::min(token.find_first_not_of(' '), token.size())));
  return knob.kind != KnobKind::distribution && lexicon.find(word) == nullptr ? lower_case(word) : word;
}

// What a word says of a knob; nothing if it says nothing.
std::optional<int> said(const Knob& knob, const std::string& word, const Lexicon& lexicon) {
  if (knob.source == kLengthSource) return std::nullopt;  // That is only the whole sentence's.
  const KnobLabel label = read_label(knob, {word}, lexicon);
  switch (knob.kind) {
    case KnobKind::scalar:
      if (!label.value) return std::nullopt;
      return static_cast<int>(
          std::lround(kScalarSteps * std::clamp((*label.value - knob.low) / (knob.high - knob.low), 0.0, 1.0)));
    case KnobKind::distribution:
      if (!label.label) return std::nullopt;
      return static_cast<int>(*label.label);
    default:
      if (label.positive + label.negative == 0) return std::nullopt;
      return label.positive > 0 ? 1 : 0;
  }
}

}  // namespace

const TokenCells* KnobCells::of(std::span<const KnobSetting> settings) const {
  Stated stated = 0;
  for (const KnobSetting& setting : settings) stated |= Stated{1} << knob_index(model_.options().knobs, setting.knob);
  const std::lock_guard lock(mutex_);
  const auto [found, added] = cells_.try_emplace(stated);
  if (added) found->second = cells_of(stated);
  return found->second ? &*found->second : nullptr;
}

std::optional<TokenCells> KnobCells::cells_of(Stated stated) const {
  const std::vector<Knob>& knobs = model_.options().knobs;
  const std::vector<std::string>& words = model_.vocabulary().entries();
  const Lexicon& lexicon = model_.feature_bank().lexicon();
  TokenCells result;
  result.cell.assign(words.size(), TokenCells::kSilent);
  result.group.assign(1, 0);
  std::map<std::vector<std::optional<int>>, std::uint32_t> cells;
  std::vector<std::size_t> group_of_knob(knobs.size());  // The smallest knob that its group speaks of.
  std::iota(group_of_knob.begin(), group_of_knob.end(), std::size_t{0});
  std::vector<std::size_t> knob_of_cell = {0};  // One that it speaks of.
  for (std::size_t id = Vocabulary::kEos + 1; id < words.size(); ++id) {
    std::vector<std::optional<int>> what(knobs.size());
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      if ((stated >> k & 1) == 0) continue;
      const std::string word = model_.tokenizer() == nullptr ? words[id] : word_of(words[id], knobs[k], lexicon);
      what[k] = said(knobs[k], word, lexicon);
    }
    const auto first = std::ranges::find_if(what, [](const auto& value) { return value.has_value(); });
    if (first == what.end()) continue;
    const auto [found, added] = cells.try_emplace(what, static_cast<std::uint32_t>(knob_of_cell.size()));
    result.cell[id] = found->second;
    if (!added) continue;
    const auto one = static_cast<std::size_t>(first - what.begin());
    knob_of_cell.push_back(one);
    for (std::size_t k = one + 1; k < knobs.size(); ++k) {
      if (!what[k]) continue;
      const auto [small, large] = std::minmax(group_of_knob[one], group_of_knob[k]);
      std::ranges::replace(group_of_knob, std::size_t{large}, std::size_t{small});
    }
  }
  if (cells.empty()) return std::nullopt;
  result.num_groups = knobs.size();
  for (std::size_t cell = 1; cell < knob_of_cell.size(); ++cell)
    result.group.push_back(static_cast<std::uint32_t>(group_of_knob[knob_of_cell[cell]]));
  return result;
}

bool changes_shares(const SamplingOptions& options) {
  return !is_plain(options) && !is_greedy(options);
}

std::vector<TokenProbability> share_keeping_distribution(std::span<const double> logits, const SamplingOptions& options,
                                                         const TokenCells& cells) {
  const auto cell_of = [&](const TokenProbability& token) { return cells.cell[static_cast<std::size_t>(token.id)]; };
  const std::size_t num_cells = cells.group.size();
  const std::vector<TokenProbability> tokens = possible_tokens(logits);
  std::vector<double> probability(logits.size(), 0.0);  // By token.
  std::vector<double> group_mass(cells.num_groups, 0.0);
  for (const TokenProbability& token : sampled(tokens, options)) {
    if (cell_of(token) == TokenCells::kSilent) {
      probability[static_cast<std::size_t>(token.id)] = token.probability;
    } else {
      group_mass[cells.group[cell_of(token)]] += token.probability;
    }
  }

  std::vector<std::vector<TokenProbability>> members(num_cells);
  std::vector<double> largest(cells.num_groups, -INFINITY);
  for (const TokenProbability& token : tokens) {
    const std::uint32_t cell = cell_of(token);
    if (cell == TokenCells::kSilent || group_mass[cells.group[cell]] == 0.0) continue;
    members[cell].push_back(token);
    largest[cells.group[cell]] = std::max(largest[cells.group[cell]], token.probability);
  }
  std::vector<double> cell_mass(num_cells, 0.0);  // Those of a group are not normalised.
  std::vector<double> sum(cells.num_groups, 0.0);
  for (std::size_t cell = 1; cell < num_cells; ++cell) {
    for (const TokenProbability& token : members[cell])
      cell_mass[cell] += std::exp(token.probability - largest[cells.group[cell]]);
    sum[cells.group[cell]] += cell_mass[cell];
  }
  for (std::size_t cell = 1; cell < num_cells; ++cell) {
    if (members[cell].empty()) continue;
    const std::size_t group = cells.group[cell];
    const double mass = group_mass[group] * cell_mass[cell] / sum[group];
    for (const TokenProbability& token : sampled(std::move(members[cell]), options))
      probability[static_cast<std::size_t>(token.id)] = mass * token.probability;
  }

  std::vector<TokenProbability> result;
  for (const TokenProbability& token : tokens) {
    const double final_probability = probability[static_cast<std::size_t>(token.id)];
    if (final_probability != 0.0) result.push_back({token.id, final_probability});
  }
  return result;
}

}  // namespace semfuse
