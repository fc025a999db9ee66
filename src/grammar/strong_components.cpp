#include "grammar/strong_components.h"

#include <algorithm>

namespace semfuse {

std::vector<std::vector<std::uint32_t>> strong_components(const std::vector<std::vector<std::uint32_t>>& edges) {
  struct Visit {
    std::uint32_t node;
    std::size_t next_edge;
  };
  constexpr std::uint32_t kUnseen = 0;
  std::vector<std::vector<std::uint32_t>> components;
  std::vector<std::uint32_t> order(edges.size(), kUnseen);
  std::vector<std::uint32_t> low(edges.size());
  std::vector<bool> on_stack(edges.size());
  std::vector<std::uint32_t> stack;
  std::vector<Visit> visits;
  std::uint32_t counter = 0;
  const auto enter = [&](std::uint32_t node) {
    order[node] = low[node] = ++counter;
    stack.push_back(node);
    on_stack[node] = true;
    visits.push_back({node, 0});
  };
  for (std::uint32_t begin = 0; begin < edges.size(); ++begin) {
    if (order[begin] != kUnseen) continue;
    enter(begin);
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const std::uint32_t node = visit.node;
      if (visit.next_edge < edges[node].size()) {
        const std::uint32_t target = edges[node][visit.next_edge++];
        if (order[target] == kUnseen) {
          enter(target);
        } else if (on_stack[target]) {
          low[node] = std::min(low[node], order[target]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[node]);
      if (low[node] != order[node]) continue;
      const auto first = std::find(stack.rbegin(), stack.rend(), node).base() - 1;
      components.emplace_back(first, stack.end());
      for (const std::uint32_t member : components.back()) on_stack[member] = false;
      stack.erase(first, stack.end());
    }
  }
  return components;
}

}  // namespace semfuse
