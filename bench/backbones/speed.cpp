// How fast an imported model reads and writes: tokens a second of prompts and of decoding, and peak memory, as JSON.
//
//   bench_backbones MODEL [--threads N] [--prompt N] [--tokens N] [--rounds N]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "backbone/backbone_pass.h"

namespace semfuse {
namespace {

struct Clock {
  double wall;
  double cpu;
};

Clock now() {
  timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall = std::chrono::duration<double>(wall).count(),
          .cpu = static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
}

// The best of several rounds, by the wall and by processor time of all threads.
struct Speed {
  double wall = 0.0;
  double cpu = 0.0;

  void add(std::size_t tokens, const Clock& begin, const Clock& end) {
    wall = std::max(wall, static_cast<double>(tokens) / (end.wall - begin.wall));
    cpu = std::max(cpu, static_cast<double>(tokens) / (end.cpu - begin.cpu));
  }
};

std::vector<TokenId> some_tokens(std::size_t count, std::size_t vocab_size) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * 7919 + 13) % vocab_size));
  return tokens;
}

Speed read_prompt(BackbonePass& pass, const std::vector<TokenId>& prompt, std::size_t rounds) {
  Speed speed;
  for (std::size_t round = 0; round < rounds; ++round) {
    KeyValueCache cache = pass.make_cache();
    const BackboneRead read{.cache = &cache, .tokens = prompt, .num_wanted = 1};
    const Clock begin = now();
    pass.run({&read, 1});
    speed.add(prompt.size(), begin, now());
  }
  return speed;
}

Speed decode(BackbonePass& pass, std::size_t streams, std::size_t tokens, std::size_t vocab_size, std::size_t rounds) {
  Speed speed;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<KeyValueCache> caches(streams, pass.make_cache());
    std::vector<TokenId> last(streams, 1);
    const Clock begin = now();
    for (std::size_t t = 0; t < tokens; ++t) {
      std::vector<BackboneRead> reads;
      for (std::size_t i = 0; i < streams; ++i) {
        reads.push_back({.cache = &caches[i], .tokens = {&last[i], 1}, .num_wanted = 1});
      }
      const Matrix logits = pass.run(reads);
      for (std::size_t i = 0; i < streams; ++i) {
        last[i] = static_cast<TokenId>(std::max_element(logits.row(i), logits.row(i) + vocab_size) - logits.row(i));
      }
    }
    speed.add(streams * tokens, begin, now());
  }
  return speed;
}

int run(const std::string& model, std::map<std::string, std::size_t> numbers) {
  const Backbone backbone(model);
  const std::size_t threads = thread_count(numbers["--threads"]);
  BackbonePass pass(backbone, threads);
  const std::size_t vocab_size = backbone.spec().vocab_size;
  const Speed prompt = read_prompt(pass, some_tokens(numbers["--prompt"], vocab_size), numbers["--rounds"]);
  const Speed one = decode(pass, 1, numbers["--tokens"], vocab_size, numbers["--rounds"]);
  const Speed eight = decode(pass, 8, numbers["--tokens"], vocab_size, numbers["--rounds"]);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto pair = [](const Speed& speed) {
    return fmt::format("{{\"wall\": {:.2f}, \"cpu\": {:.2f}}}", speed.wall, speed.cpu);
  };
  fmt::print(
      "{{\"threads\": {}, \"prompt\": {}, \"decode_1\": {}, \"decode_8\": {}, \"peak_mb\": {:.1f}, \"file_mb\": "
      "{:.1f}}}\n",
      threads, pair(prompt), pair(one), pair(eight), static_cast<double>(usage.ru_maxrss) / 1024.0,
      static_cast<double>(backbone.stored_bytes()) / 1048576.0);
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  std::map<std::string, std::size_t> numbers = {{"--threads", 0}, {"--prompt", 256}, {"--tokens", 64}, {"--rounds", 3}};
  std::string model;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (numbers.contains(argument) && i + 1 < argc) {
      numbers[argument] = std::stoul(argv[++i]);
    } else {
      model = argument;
    }
  }
  try {
    return semfuse::run(model, numbers);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_backbones: {}\n", error.what());
    return 2;
  }
}
