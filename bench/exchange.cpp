// How long the processes of a training take to add gradients: `mpirun -n N bench_exchange`, JSON of rank 0. Sizes go
// from one number, where latency is all, to 256 MB.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "mpi/mpi_exchange.h"
#include "training/gradient_tree.h"

namespace semfuse {
namespace {

double seconds_of_sum(std::size_t numbers, std::size_t repeats, Exchange& exchange, ThreadPool& pool) {
  ParameterLayout layout;
  layout.add("numbers", {numbers});
  GradientTree tree(layout, exchange, pool);
  ParameterBlock gradients(layout);
  double best = 1e9;
  for (std::size_t i = 0; i < repeats; ++i) {
    largest(exchange, 0);  // All begin together.
    const auto begin = std::chrono::steady_clock::now();
    tree.sum(
        exchange.size(), [](std::size_t, ParameterBlock&) {}, gradients);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace
}  // namespace semfuse

int main() {
  semfuse::MpiExchange exchange;
  semfuse::ThreadPool pool(1);
  std::string rows;
  for (const std::size_t numbers : {1ul, 1ul << 12, 1ul << 16, 1ul << 19, 1ul << 22, 1ul << 24, 1ul << 26}) {
    const double seconds = semfuse::seconds_of_sum(numbers, numbers < (1ul << 22) ? 200 : 10, exchange, pool);
    rows += fmt::format("{}{{\"bytes\": {}, \"seconds\": {:.3e}}}", rows.empty() ? "" : ", ", 4 * numbers, seconds);
  }
  if (exchange.rank() == 0) fmt::print("{{\"processes\": {}, \"sums\": [{}]}}\n", exchange.size(), rows);
  return 0;
}
