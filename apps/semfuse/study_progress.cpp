#include "study_progress.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

namespace semfuse {

void StudyProgress::show(std::string_view text, double share) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::milliseconds interval(terminal_.is_terminal() ? 100 : 30'000);
  if (quiet_ || now - last_ < interval) return;
  last_ = now;
  constexpr double kEnough = 0.001;  // Before that a time would be a guess.
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::string eta = share > kEnough ? duration(std::ceil(seconds / share * (1.0 - share))) : "...";
  const std::string whole = fmt::format("{}  ETA {}", text, eta);
  terminal_.print(is_live() ? status_.shown(share, whole) : whole + '\n');
}

void StudyProgress::line(std::string_view text) {
  if (quiet_) return;
  clear();
  terminal_.print(terminal_.flowed(text, 2) + '\n');
  if (!terminal_.is_terminal()) last_ = std::chrono::steady_clock::now();
}

void StudyProgress::clear() {
  if (const std::string text = status_.cleared(); !text.empty()) terminal_.print(text);
}

std::function<void(double)> show_progress(std::string what, bool quiet) {
  const auto progress = std::make_shared<StudyProgress>(quiet);
  return [progress, what = std::move(what)](double done) {
    progress->show(what, done);
    if (done >= 1.0) progress->clear();
  };
}

}  // namespace semfuse
