// Microseconds of processor time of one sentence, as bench/python_overhead has them beside Python's.
//
//   bench_one_sentence RUN SEEDS TURNS      prints the mean over the seeds of the quickest of its turns, and a checksum
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <vector>

#include "semfuse/checkpoint.h"
#include "semfuse/generator.h"

namespace {

// Of this thread alone, so that a busy machine does not count.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const semfuse::Checkpoint checkpoint = semfuse::load_checkpoint(argv[1]);
  const semfuse::Generator generator(checkpoint.model, 0);
  std::vector<double> quickest(static_cast<std::size_t>(std::atoi(argv[2])), std::numeric_limits<double>::max());
  std::size_t bytes = 0;
  for (int turn = 0; turn < std::atoi(argv[3]); ++turn) {
    for (std::size_t seed = 0; seed < quickest.size(); ++seed) {
      const double begin = processor_seconds();
      semfuse::GenerationRequest request;
      request.knobs = {{.knob = "polarity", .values = {0.7}}};
      request.seed = seed;
      bytes += generator.generate(request).text.size();
      quickest[seed] = std::min(quickest[seed], processor_seconds() - begin);
    }
  }
  double sum = 0.0;
  for (const double seconds : quickest) sum += seconds;
  std::printf("%.3f %zu\n", 1e6 * sum / static_cast<double>(quickest.size()), bytes);
  return 0;
}
