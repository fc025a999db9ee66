#include "run/run_log_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "semfuse/error.h"

namespace semfuse {
namespace {

[[noreturn]] void fail_writing(const std::filesystem::path& path) {
  throw Error(fmt::format("{}: cannot write: {}", path.string(), std::generic_category().message(errno)));
}

// JSON has no NaN and no infinity.
std::string number_or_null(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace

RunLogWriter::RunLogWriter(const std::filesystem::path& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)),
      last_write_(std::chrono::steady_clock::now()) {
  if (file_ < 0) fail_writing(path_);
}

RunLogWriter::~RunLogWriter() {
  write();
  ::close(file_);
}

void RunLogWriter::add_start(std::uint64_t step, std::string_view instruction_set) {
  add_line(fmt::format(R"({{"event":"start","step":{},"instruction_set":"{}"}})", step, instruction_set));
}

void RunLogWriter::add(const StepReport& report, double seconds) {
  if (report.skipped) {
    return add_line(fmt::format(R"({{"event":"skipped","step":{},"epoch":{},"not_finite":"{}","tokens":{}}})",
                                report.step, report.epoch, std::isfinite(report.loss) ? "gradient" : "loss",
                                report.num_tokens));
  }
  add_line(fmt::format(
      R"({{"event":"step","step":{},"epoch":{},"loss":{},"loss_tokens":{},"loss_features":{},"loss_uniformity":{},"loss_classes":{},)"
      R"("gradient_norm":{},"learning_rate":{},"tokens":{},"tokens_per_second":{:.1f}}})",
      report.step, report.epoch, report.loss, report.loss_tokens, report.loss_features, report.loss_uniformity,
      report.loss_classes, report.gradient_norm, report.learning_rate, report.num_tokens,
      static_cast<double>(report.num_tokens) / std::max(seconds, 1e-9)));
}

void RunLogWriter::add(const LoggedEvaluation& evaluation) {
  add_line(fmt::format(
      R"({{"event":"evaluation","epoch":{},"step":{},"attention":"{}","perplexity":{},"seen_only_perplexity":{},)"
      R"("feature_mse":{}}})",
      evaluation.epoch, evaluation.step, evaluation.attention, number_or_null(evaluation.perplexity),
      number_or_null(evaluation.seen_only_perplexity), number_or_null(evaluation.feature_mse)));
}

void RunLogWriter::add_finished(std::uint64_t step) {
  add_line(fmt::format(R"({{"event":"finished","step":{}}})", step));
}

void RunLogWriter::add_line(std::string_view line) {
  constexpr std::chrono::milliseconds kInterval(500);
  lines_ += line;
  lines_ += '\n';
  if (std::chrono::steady_clock::now() - last_write_ >= kInterval) flush();
}

void RunLogWriter::flush() {
  if (!write()) fail_writing(path_);
}

void RunLogWriter::sync() {
  flush();
  if (::fsync(file_) != 0 && errno != EINVAL) fail_writing(path_);
}

bool RunLogWriter::write() {
  last_write_ = std::chrono::steady_clock::now();
  while (!lines_.empty()) {
    const ssize_t count = ::write(file_, lines_.data(), lines_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    lines_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace semfuse
