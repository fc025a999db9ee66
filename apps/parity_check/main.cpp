// Runs the training steps of parity cases and prints how far every number is from PyTorch's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "io/quoted_text.h"
#include "parity_case.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Largest deviations allowed: relative to the largest value for what one step computes, absolute for parameters after
// all steps.
constexpr double kOutputTolerance = 1e-4;
constexpr double kGradientTolerance = 1e-3;
constexpr double kAfterTolerance = 5e-5;
constexpr double kAfterMedianTolerance = 2e-6;
constexpr double kKeyBiasTolerance = 5e-3;  // Its true gradient is 0, and AdamW amplifies the rounding.

struct Deviation {
  double largest = 0.0;
  double median = 0.0;
  double scale = 0.0;  // The largest expected magnitude.
  double relative() const { return largest == 0.0 ? 0.0 : largest / scale; }
};

Deviation deviation(std::span<const float> ours, std::span<const float> theirs) {
  Deviation result;
  std::vector<double> all(ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
    all[i] = std::isnan(difference) ? INFINITY : difference;
    result.largest = std::max(result.largest, all[i]);
    result.scale = std::max(result.scale, std::abs(static_cast<double>(theirs[i])));
  }
  if (!all.empty()) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    result.median = all.size() % 2 == 1 ? *middle : (*middle + *std::max_element(all.begin(), middle)) / 2.0;
  }
  return result;
}

class Report {
 public:
  explicit Report(bool quiet) : quiet_(quiet) {}

  void relative(const std::string& what, const Deviation& d, double tolerance) {
    line(what, d.relative(), tolerance, "relative");
  }
  void absolute(const std::string& what, double value, double tolerance) { line(what, value, tolerance, "absolute"); }
  bool passed() const { return failures_ == 0; }
  std::size_t failures() const { return failures_; }

 private:
  void line(const std::string& what, double value, double tolerance, const char* kind) {
    const bool good = value <= tolerance;  // False for NaN too.
    if (!good) ++failures_;
    if (!quiet_ || !good)
      fmt::print("  {:<52} {:>9.2e} {:<8} of {:.0e}  {}\n", what, value, kind, tolerance, good ? "ok" : "FAILED");
  }
  bool quiet_;
  std::size_t failures_ = 0;
};

// Text from outside in one line: control characters and invalid UTF-8 become '?'.
std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too.
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    result += length == 0 || control ? "?" : text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

// Throws Error if standard output has not taken everything.
void finish_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(
      fmt::format("cannot write to standard output: {}", std::generic_category().message(errno != 0 ? errno : EIO)));
}

// Runs the case; true if everything is within the tolerances.
bool check(const ParityCase& c, std::size_t threads, bool quiet) {
  const Network network(c.model, c.vocab_size, c.num_features);
  ParameterBlock weights(network.layout());
  ParameterBlock gradients(network.layout());
  for (const ParameterInfo& info : network.layout().entries()) {
    const std::span<const float> values = c.archive.floats("param." + info.name);
    std::copy(values.begin(), values.end(), weights.vector(info));
  }
  ThreadPool pool(threads);
  TrainingStep step(network, c.losses, pool);
  AdamW adamw(network.layout(), c.optimizer);
  Report report(quiet);

  std::vector<float> logits(c.num_rows * c.row_length * c.vocab_size);
  std::vector<float> features(c.num_rows * c.row_length * c.num_features);
  std::vector<std::size_t> place(c.batch.num_tokens());  // Of a token in the padded rows.
  for (std::size_t s = 0; s < c.batch.num_sentences(); ++s) {
    for (std::size_t t = 0; t < c.batch.length(s); ++t) place[c.batch.first_token[s] + t] = s * c.row_length + t;
  }
  step.on_logits = [&](std::size_t first_token, ConstMatrix token_logits, ConstMatrix feature_logits) {
    for (std::size_t row = 0; row < token_logits.rows(); ++row) {
      const std::size_t target = place[first_token + row];
      std::copy_n(token_logits.row(row), c.vocab_size,
                  logits.begin() + static_cast<std::ptrdiff_t>(target * c.vocab_size));
      for (std::size_t f = 0; f < c.num_features; ++f) {
        features[target * c.num_features + f] =
            static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(feature_logits(row, f)))));
      }
    }
  };

  for (std::size_t s = 0; s < c.num_steps; ++s) {
    const Losses losses = step.run(c.batch, weights, {}, gradients);
    const double norm = AdamW::norm(gradients, pool);
    if (s == 0) {
      step.on_logits = nullptr;
      report.relative("logits", deviation(logits, c.archive.floats("out.logits")), kOutputTolerance);
      if (c.num_features > 0)
        report.relative("predicted features", deviation(features, c.archive.floats("out.features")), kOutputTolerance);
      for (const ParameterInfo& info : network.layout().entries()) {
        const auto ours = std::span<const float>(gradients.vector(info), info.size);
        report.relative("gradient " + info.name, deviation(ours, c.archive.floats("grad." + info.name)),
                        kGradientTolerance);
      }
    }
    const std::span<const float> expected = c.archive.floats(fmt::format("out.losses.{}", s));
    const double ours[4] = {losses.tokens, losses.features, losses.uniformity, losses.total};
    const char* names[4] = {"token loss", "feature loss", "uniformity loss", "total loss"};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto value = static_cast<float>(ours[i]);
      report.relative(fmt::format("{} at step {}", names[i], s), deviation({&value, 1}, expected.subspan(i, 1)),
                      kOutputTolerance);
    }
    const auto norm_value = static_cast<float>(norm);
    report.relative(fmt::format("gradient norm at step {}", s),
                    deviation({&norm_value, 1}, c.archive.floats(fmt::format("out.gradnorm.{}", s))), kOutputTolerance);
    adamw.step(learning_rate(c.highest_rate, s, c.warmup_steps, c.total_steps), norm, gradients, weights, pool);
  }

  for (const ParameterInfo& info : network.layout().entries()) {
    std::span<const float> ours(weights.vector(info), info.size);
    std::span<const float> theirs = c.archive.floats("after." + info.name);
    const std::string what = "after the steps " + info.name;
    if (info.name.ends_with("in_proj_bias")) {
      const std::size_t third = info.size / 3;
      report.absolute(what + " (keys)", deviation(ours.subspan(third, third), theirs.subspan(third, third)).largest,
                      kKeyBiasTolerance);
      for (const std::size_t part : {std::size_t{0}, std::size_t{2}}) {
        const Deviation d = deviation(ours.subspan(part * third, third), theirs.subspan(part * third, third));
        const char* name = part == 0 ? " (queries)" : " (values)";
        report.absolute(what + name, d.largest, kAfterTolerance);
        report.absolute(what + name + ", median", d.median, kAfterMedianTolerance);
      }
      continue;
    }
    const Deviation d = deviation(ours, theirs);
    report.absolute(what, d.largest, kAfterTolerance);
    report.absolute(what + ", median", d.median, kAfterMedianTolerance);
  }
  fmt::print("{}: {}\n", printable(c.origin),
             report.passed() ? "equal to PyTorch within the tolerances"
                             : fmt::format("{} deviations past their tolerance", report.failures()));
  return report.passed();
}

// `file` is the case at work, for a message that knows nothing of it.
int run(int argc, char** argv, std::string& file) {
  CLI::App app("Compares training steps with those of an independent PyTorch model, number by number.", "parity_check");
  app.footer(
      "Example:\n  parity_check tests/parity/*.safetensors\n\nExit codes: 0 all within the tolerances, 1 some are not, "
      "2 a file or an option is wrong.");
  std::vector<std::string> files;
  std::size_t threads = 2;
  bool quiet = false;
  app.add_option("FILE", files, "Parity cases (docs/file_formats.md)")->required();
  app.add_option("--threads", threads, "Threads to compute with")->check(CLI::Range(1, 1024));
  app.add_flag("--quiet", quiet, "Print only deviations past their tolerance, and a line for each case");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    finish_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    throw Error(fmt::format("{}; see `parity_check --help`", error.what()));
  }
  bool passed = true;
  for (const std::string& name : files) {
    file = name;
    const ParityCase parity_case{std::filesystem::path(name)};
    if (!quiet) {
      fmt::print("{}: {}, {} steps, {} tokens, width {}, {} heads, {} layers, {} words, {} features\n", printable(name),
                 to_string(parity_case.model.attention), parity_case.num_steps, parity_case.batch.num_tokens(),
                 parity_case.model.width, parity_case.model.heads, parity_case.model.layers, parity_case.vocab_size,
                 parity_case.num_features);
    }
    passed = check(parity_case, threads, quiet) && passed;
  }
  finish_output();
  return passed ? 0 : 1;
}

int fail(std::string_view message) {
  try {
    fmt::print(stderr, "parity_check: {}\n", printable(message));
  } catch (...) {  // There is nowhere left to say it; the exit code does.
  }
  return 2;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // A file that would grow past the user's limit then fails like any other write.
  std::string file = "this";
  try {
    return semfuse::run(argc, argv, file);
  } catch (const std::bad_alloc&) {
    return semfuse::fail(fmt::format("not enough memory for {}; make a smaller case", file));
  } catch (const std::length_error&) {
    return semfuse::fail(fmt::format("not enough memory for {}; make a smaller case", file));
  } catch (const std::exception& error) {
    return semfuse::fail(error.what());
  }
}
