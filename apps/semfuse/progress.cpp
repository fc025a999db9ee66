#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "semfuse/error.h"

namespace semfuse {

namespace {
using Clock = std::chrono::steady_clock;
}

Progress::Progress(const Terminal& terminal, bool quiet, std::size_t epochs, std::uint64_t first_step,
                   std::uint64_t total_steps)
    : terminal_(terminal),
      quiet_(quiet),
      epochs_(epochs),
      first_step_(first_step),
      total_steps_(total_steps),
      begin_(Clock::now()),
      last_shown_(begin_),
      status_(terminal) {}

void Progress::step(const StepReport& report, double seconds) {
  if (quiet_) return;
  constexpr double kMemorySeconds = 2.0;
  const double rate = static_cast<double>(report.num_tokens) / std::max(seconds, 1e-9);
  const double weight = tokens_per_second_ == 0.0 ? 1.0 : 1.0 - std::exp(-seconds / kMemorySeconds);
  tokens_per_second_ += weight * (rate - tokens_per_second_);

  const auto now = Clock::now();
  const std::chrono::milliseconds interval(terminal_.is_terminal() ? 100 : 5000);
  if (now - last_shown_ < interval) return;
  last_shown_ = now;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double eta =
      elapsed / static_cast<double>(report.step - first_step_) * static_cast<double>(total_steps_ - report.step);
  const bool has_bar = terminal_.is_terminal();
  const std::string text = fmt::format(
      "epoch {}/{}{}  loss {}  {} tokens/s  ETA {}", report.epoch, epochs_,
      has_bar ? std::string() : fmt::format("  step {}/{}", report.step, total_steps_), readable(report.loss, 4),
      with_separators(static_cast<std::uint64_t>(tokens_per_second_)), duration(std::ceil(eta)));
  print(has_bar ? status_.shown(static_cast<double>(report.step) / static_cast<double>(total_steps_), text)
                : text + '\n');
}

void Progress::line(std::string_view text) {
  if (quiet_) return;
  clear();
  print(terminal_.flowed(text, 2) + '\n');
}

void Progress::clear() {
  if (const std::string text = status_.cleared(); !text.empty()) print(text);
}

void Progress::print(const std::string& text) {
  try {
    terminal_.print(text);
  } catch (const BrokenPipe&) {
    quiet_ = true;
  } catch (const Error& error) {
    quiet_ = true;
    failure_ = error.what();
  }
}

}  // namespace semfuse
