// Groups of nodes that reach each other in a directed graph.
#pragma once

#include <cstdint>
#include <vector>

namespace semfuse {

// Tarjan's algorithm without recursion. A component comes after every component that it has an edge to.
std::vector<std::vector<std::uint32_t>> strong_components(const std::vector<std::vector<std::uint32_t>>& edges);

}  // namespace semfuse
