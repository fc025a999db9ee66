// Microseconds of processor time of one sentence, as bench/python_overhead has them beside Python's.
//
//   bench_one_sentence RUN CALLS      prints the mean over the seeds 1 to CALLS
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "semfuse/checkpoint.h"
#include "semfuse/generator.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const semfuse::Checkpoint checkpoint = semfuse::load_checkpoint(argv[1]);
  const semfuse::Generator generator(checkpoint.model, 0);
  const int calls = std::atoi(argv[2]);
  std::size_t bytes = 0;
  const auto write = [&](int seed) {
    semfuse::GenerationRequest request;
    request.knobs = {{.knob = "polarity", .values = {0.7}}};
    request.seed = static_cast<std::uint64_t>(seed);
    bytes += generator.generate(request).text.size();
  };
  for (int seed = 1; seed <= calls; ++seed) write(seed);  // Workers and memory are there then.
  const std::clock_t begin = std::clock();
  for (int seed = 1; seed <= calls; ++seed) write(seed);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.3f %zu\n", 1e6 * seconds / calls, bytes);
  return 0;
}
