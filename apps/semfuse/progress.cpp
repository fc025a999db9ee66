#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
      last_shown_(begin_) {}

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
  const std::string text = fmt::format(
      "epoch {}/{}  step {}/{}  loss {:.4f}  {} tokens/s  ETA {}", report.epoch, epochs_, report.step, total_steps_,
      report.loss, with_separators(static_cast<std::uint64_t>(tokens_per_second_)), duration(std::ceil(eta)));
  if (!terminal_.is_terminal()) return print(text + '\n');
  // A line that reached the last column would wrap and could not be taken back.
  const std::string cut = text.substr(0, terminal_.width() - 1);
  print(fmt::format("\r{:<{}}", cut, shown_));
  shown_ = cut.size();
}

void Progress::line(std::string_view text) {
  if (quiet_) return;
  clear();
  print(fmt::format("{}\n", text));
}

void Progress::clear() {
  if (shown_ == 0) return;
  print('\r' + std::string(std::exchange(shown_, 0), ' ') + '\r');
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
