#include "grammar/state_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <utility>

#include "grammar/utf8.h"

namespace semfuse {
namespace {

using Bytes = std::bitset<256>;

Bytes bytes_to(const Automaton::State& state, StateId target) {
  Bytes bytes;
  for (const Automaton::ByteEdge& edge : state.bytes) {
    if (edge.target != target) continue;
    for (std::size_t byte = edge.low; byte <= edge.high; ++byte) bytes.set(byte);
  }
  return bytes;
}

// Groups of ASCII of which all bytes are there.
ByteGroups whole_groups(const Bytes& bytes) {
  ByteGroups some = 0;
  ByteGroups missing = 0;
  for (std::size_t byte = 0; byte < 0x80; ++byte) (bytes[byte] ? some : missing) |= kGroupOfByte[byte];
  return some & ~missing;
}

// Whether every string of the sequence, from its byte `at` on, leads from the state to the target.
bool covers(std::span<const Automaton::State> states, StateId from, const ByteRangeSequence& sequence, std::size_t at,
            StateId target) {
  if (at == sequence.length) return from == target;
  if (from >= states.size()) return false;
  std::uint32_t next = sequence.ranges[at].low;
  for (const Automaton::ByteEdge& edge : states[from].bytes) {  // Ascending.
    if (edge.high < next || edge.low > sequence.ranges[at].high) continue;
    if (edge.low > next) return false;
    if (!covers(states, edge.target, sequence, at + 1, target)) return false;
    next = edge.high + 1u;
  }
  return next > sequence.ranges[at].high;
}

bool reads_all_wide(std::span<const Automaton::State> states, StateId from, StateId target) {
  static const std::vector<ByteRangeSequence> kWide = utf8_sequences({0x80, kLastCodePoint});
  return std::all_of(kWide.begin(), kWide.end(),
                     [&](const ByteRangeSequence& sequence) { return covers(states, from, sequence, 0, target); });
}

}  // namespace

ByteGroups groups_between(std::span<const Automaton::State> states, StateId from, StateId to) {
  const ByteGroups groups = whole_groups(bytes_to(states[from], to));
  return groups != 0 && reads_all_wide(states, from, to) ? groups | kWideBytes : groups;
}

std::vector<StateRun> find_state_runs(std::span<const Automaton::State> states) {
  // The next state after most bytes; the chain of these is followed to a state that is known, loops or goes nowhere.
  std::vector<StateRun> runs(states.size());
  std::vector<StateId> next(states.size(), Automaton::kEnd);
  std::vector<std::pair<StateId, std::uint32_t>> counts;
  for (StateId s = 0; s < states.size(); ++s) {
    constexpr std::uint32_t kFewest = 9;  // Bytes; less is no group worth its time.
    counts.clear();
    for (const Automaton::ByteEdge& edge : states[s].bytes) {
      auto found =
          std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == edge.target; });
      if (found == counts.end()) found = counts.insert(counts.end(), {edge.target, 0});
      found->second += edge.high - edge.low + 1u;
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->second < kFewest || most->first == Automaton::kEnd) continue;
    next[s] = most->first;
    runs[s].groups = groups_between(states, s, next[s]);
  }
  std::vector<std::uint8_t> done(states.size());
  std::vector<StateId> path;
  for (StateId s = 0; s < states.size(); ++s) {
    StateId at = s;
    while (done[at] == 0) {
      done[at] = 1;  // On the path.
      path.push_back(at);
      if (runs[at].groups == 0 || next[at] == at) break;
      at = next[at];
    }
    while (!path.empty()) {
      const StateId here = path.back();
      path.pop_back();
      StateRun& run = runs[here];
      const StateRun& following = runs[next[here]];
      if (run.groups == 0) {
        run.length = 0;
      } else if (next[here] == here) {
        run.length = StateRun::kEndless;
      } else {
        const bool goes_on = (run.groups & ~following.groups) == 0 && done[next[here]] == 2;
        run.length = 1 + (goes_on ? std::min(following.length, StateRun::kEndless - 1) : 0);
      }
      done[here] = 2;
    }
  }
  return runs;
}

}  // namespace semfuse
