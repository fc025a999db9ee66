// What the server counts, as Prometheus reads it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace semfuse {

// Counters of a server since its start. All functions may be called from several threads at once.
class Metrics {
 public:
  void count_answer(unsigned status);
  void count_refused(bool queue_is_full) { ++(queue_is_full ? refused_full_ : refused_key_); }
  void count_tokens(std::uint64_t prompt, std::uint64_t predicted) {
    prompt_tokens_ += prompt;
    predicted_tokens_ += predicted;
  }
  void count_first_token(double seconds);
  void count_disconnect() { ++disconnects_; }
  void count_knob_change() { ++knob_changes_; }

  struct Now {
    std::size_t running = 0;  // Texts.
    std::size_t waiting = 0;
    std::size_t connections = 0;
  };
  // In Prometheus' text format 0.0.4.
  std::string text(const Now& now) const;

 private:
  static constexpr std::array kFirstTokenBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 10.0};

  std::array<std::atomic<std::uint64_t>, 6> answers_ = {};  // By the first digit of the status.
  std::atomic<std::uint64_t> refused_full_ = 0;
  std::atomic<std::uint64_t> refused_key_ = 0;
  std::atomic<std::uint64_t> prompt_tokens_ = 0;
  std::atomic<std::uint64_t> predicted_tokens_ = 0;
  std::atomic<std::uint64_t> disconnects_ = 0;
  std::atomic<std::uint64_t> knob_changes_ = 0;
  std::array<std::atomic<std::uint64_t>, kFirstTokenBounds.size() + 1> first_tokens_ = {};
  std::atomic<std::uint64_t> first_token_microseconds_ = 0;
};

}  // namespace semfuse
