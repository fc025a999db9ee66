// Speed of training a tokenizer and of cutting texts with it; one JSON line at the end.
//
//   bench_tokenizer [FILE]     a text a line; without a file, random words as frequent as those of a language
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/random.h"
#include "core/thread_pool.h"
#include "io/file.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// 16 MB: 50,000 words of 2 to 9 letters, the one of rank r about 1/r as frequent as the first.
std::string random_lines() {
  RandomStream random(1, RandomPurpose::corpus_val);
  std::vector<std::string> words(50'000);
  for (std::string& word : words) {
    for (std::uint64_t n = 2 + random.next_below(8); n > 0; --n) word += "etaoinshrdlu"[random.next_below(12)];
  }
  std::string text;
  while (text.size() < 16'000'000) {
    const double rank = std::exp(random.next_uniform() * std::log(static_cast<double>(words.size())));
    text += words[static_cast<std::size_t>(rank) - 1];
    const std::uint64_t mark = random.next_below(12);
    text += mark == 0 ? ".\n" : mark == 1 ? ", " : " ";
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// MB/s, with a tokenizer that has seen no text yet.
double encoding_speed(const std::string& json, const std::vector<std::string_view>& lines, std::size_t num_bytes,
                      std::size_t num_threads) {
  constexpr std::size_t kBlock = 1000;
  const Tokenizer tokenizer = Tokenizer::parse(json, "bench");
  ThreadPool pool(num_threads);
  std::vector<std::vector<Token>> tokens(num_threads);
  const auto begin = Clock::now();
  pool.run((lines.size() + kBlock - 1) / kBlock, [&](std::size_t block, std::size_t worker) {
    for (std::size_t i = block * kBlock; i < std::min(lines.size(), (block + 1) * kBlock); ++i) {
      tokenizer.encode(lines[i], tokens[worker]);
    }
  });
  return static_cast<double>(num_bytes) / 1e6 / seconds_since(begin);
}

int run(const std::string& text) {
  const std::vector<std::string_view> lines = lines_of(text);
  auto begin = Clock::now();
  TokenizerTrainer trainer;
  for (const std::string_view line : lines) trainer.add(line);
  const double counting = static_cast<double>(text.size()) / 1e6 / seconds_since(begin);
  fmt::print("{:.1f} MB, {} texts; counting {:.0f} MB/s\n", static_cast<double>(text.size()) / 1e6, lines.size(),
             counting);
  nlohmann::json rows = nlohmann::json::array();
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes}) {
    begin = Clock::now();
    const Tokenizer tokenizer = trainer.make(kind, 8000);
    const double making = seconds_since(begin);
    std::size_t num_tokens = 0;
    for (const std::string_view line : lines) num_tokens += tokenizer.encode(line).size();
    const double length = static_cast<double>(text.size()) / static_cast<double>(num_tokens);
    const std::string json = tokenizer.to_json();
    for (const std::size_t num_threads : {std::size_t{1}, thread_count(0)}) {
      const double speed = encoding_speed(json, lines, text.size(), num_threads);
      fmt::print("{:6} of {} entries: made in {:.2f} s; {:.2f} bytes a token; {:.0f} MB/s with {} threads\n",
                 to_string(kind), tokenizer.size(), making, length, speed, num_threads);
      rows.push_back({{"kind", to_string(kind)},
                      {"entries", tokenizer.size()},
                      {"make_s", making},
                      {"bytes_a_token", length},
                      {"threads", num_threads},
                      {"mb_per_second", speed}});
    }
  }
  fmt::print("{}\n", nlohmann::json({{"counting_mb_per_second", counting}, {"tokenizers", rows}}).dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  try {
    return semfuse::run(argc > 1 ? semfuse::read_text(argv[1]) : semfuse::random_lines());
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_tokenizer: {}\n", error.what());
    return 2;
  }
}
