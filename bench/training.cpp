// Measures training steps: speed against the machine's FMA peak, memory, and the loss reached. bench/run calls it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "fma_peak.h"
#include "run/checkpoint_store.h"
#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "training/adamw.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

struct Speeds {
  std::vector<double> tokens_per_second;  // Of each window.
  std::vector<double> gflops;

  static double best(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  json to_json() const {
    const double worst = *std::min_element(tokens_per_second.begin(), tokens_per_second.end());
    return {{"tokens_per_second", best(tokens_per_second)},
            {"median", median(tokens_per_second)},
            {"spread", (best(tokens_per_second) - worst) / best(tokens_per_second)},
            {"gflops", best(gflops)},
            {"windows", tokens_per_second.size()}};
  }
};

// Whole runs of the experiment, cut into windows of equal time, and the mean loss of the last 20 steps of the first
// run.
json measure_training(const Experiment& experiment, std::size_t threads, double seconds, std::size_t num_windows) {
  constexpr std::size_t kLastSteps = 20;
  Assembly assembly = assemble(experiment, threads);
  Trainer trainer = assembly.new_trainer();
  Speeds speeds;
  std::vector<double> losses;
  double tokens = 0.0;
  double flops = 0.0;
  auto begin = Clock::now();
  while (!trainer.done()) {
    const StepReport step = trainer.step();
    losses.push_back(step.loss);
    if (losses.size() == 3) {  // The first steps allocate.
      begin = Clock::now();
      tokens = flops = 0.0;
      continue;
    }
    tokens += static_cast<double>(step.num_tokens);
    flops += step.flops;
    if (seconds_since(begin) >= seconds / static_cast<double>(num_windows)) {
      const double elapsed = seconds_since(begin);
      speeds.tokens_per_second.push_back(tokens / elapsed);
      speeds.gflops.push_back(flops / elapsed / 1e9);
      begin = Clock::now();
      tokens = flops = 0.0;
    }
  }
  if (speeds.gflops.empty()) throw Error("the run was too short to measure; lower --seconds or train longer");
  json result = speeds.to_json();
  const std::size_t last = std::min(kLastSteps, losses.size());
  result["loss"] =
      std::accumulate(losses.end() - static_cast<std::ptrdiff_t>(last), losses.end(), 0.0) / static_cast<double>(last);
  result["steps"] = losses.size();
  result["peak_rss_mb"] = peak_rss_mb();
  result["parameters"] = assembly.model.parameter_count();
  return result;
}

struct SweepPoint {
  std::string what;
  ModelOptions model;
  std::size_t length = 18;
  std::size_t batch = 64;
  std::size_t vocab_size = 41;
  std::size_t num_features = 22;
};

Batch random_batch(const SweepPoint& point) {
  const std::size_t num_features = point.num_features;
  BatchPacker packer(num_features, shard_tokens_for(point.model.width));
  RandomStream random(1, RandomPurpose::corpus_train);
  for (std::size_t s = 0; s < point.batch; ++s) {
    std::vector<TokenId> ids(point.length + 1);
    for (TokenId& id : ids) id = static_cast<TokenId>(random.next_below(point.vocab_size));
    std::vector<float> features(point.length * num_features);
    for (float& feature : features) feature = static_cast<float>(random.next_uniform());
    packer.add(std::span(ids).first(point.length), std::span(ids).last(point.length), features);
  }
  return packer.take();
}

// The loss of a point is the mean of the last of its first steps: speed must not come from computing something else.
constexpr std::uint64_t kLossSteps = 12;
constexpr std::uint64_t kLastLosses = 3;

json measure_point(const SweepPoint& point, std::size_t threads, double seconds) {
  const Network network(point.model, point.vocab_size, point.num_features);
  ThreadPool pool(threads);
  TrainingStep step(network, {.label_smoothing = 0.02, .feature_loss = 0.5, .uniformity_loss = 0.01}, pool);
  AdamW adamw(network.layout(), {});
  ParameterBlock weights = network.initial_weights(1);
  ParameterBlock gradients(network.layout());
  const Batch batch = random_batch(point);
  const double flops = network.training_flops(batch);
  std::vector<double> times;
  double loss = 0.0;
  const double peak_before = measure_fma_peak(threads);
  const auto begin = Clock::now();
  for (std::uint64_t s = 0; s < kLossSteps || seconds_since(begin) < seconds; ++s) {
    const auto step_begin = Clock::now();
    const double total = step.run(batch, weights, {.rate = point.model.dropout, .seed = 1, .step = s}, gradients).total;
    if (s < kLossSteps && s + kLastLosses >= kLossSteps) loss += total / static_cast<double>(kLastLosses);
    adamw.step(1e-4, AdamW::norm(gradients, pool), gradients, weights, pool);
    if (s >= 2) times.push_back(seconds_since(step_begin));
  }
  std::sort(times.begin(), times.end());
  const auto tokens = static_cast<double>(batch.num_tokens());
  return {{"sweep", point.what},
          {"width", point.model.width},
          {"layers", point.model.layers},
          {"length", point.length},
          {"batch", point.batch},
          {"vocabulary", point.vocab_size},
          {"text", point.length},  // The rows of that sweep go by it.
          {"gflop_per_step", flops / 1e9},
          {"best_ms", times.front() * 1e3},
          {"median_ms", times[times.size() / 2] * 1e3},
          {"tokens_per_second", tokens / times.front()},
          {"gflops", flops / times.front() / 1e9},
          {"fma_peak_gflops", std::max(peak_before, measure_fma_peak(threads))},
          {"loss", loss},
          {"workspace_mb", static_cast<double>(step.peak_bytes()) / 1e6}};
}

std::vector<SweepPoint> sweep_points() {
  std::vector<SweepPoint> points;
  for (const std::size_t width : {128, 256, 512})
    points.push_back({.what = "width", .model = {.width = width, .feed_forward = 2 * width}});
  for (const std::size_t layers : {2, 4, 8}) points.push_back({.what = "layers", .model = {.layers = layers}});
  for (const std::size_t length : {27, 64, 128, 256}) points.push_back({.what = "length", .length = length});
  for (const std::size_t batch : {16, 64, 256}) points.push_back({.what = "batch", .batch = batch});
  for (const std::size_t words : {41, 1000, 4000, 16000}) points.push_back({.what = "vocabulary", .vocab_size = words});
  // A model of people's own texts, short and long, about as many tokens a step.
  for (const std::size_t length : {16, 256, 1024}) {
    points.push_back(
        {.what = "text",
         .model =
             {.width = 256, .feed_forward = 1024, .dropout = 0.0, .attention = AttentionMask::causal, .fusion = false},
         .length = length,
         .batch = 8192 / length,
         .vocab_size = 8000,
         .num_features = 0});
  }
  return points;
}

// Saves the training again and again between steps, as `semfuse train` does every so many steps.
json measure_checkpoint(const Experiment& experiment, std::size_t threads, const std::string& path) {
  constexpr std::size_t kSaves = 15;
  Assembly assembly = assemble(experiment, threads);
  Trainer trainer = assembly.new_trainer();
  std::vector<double> steps, saves;
  for (std::size_t i = 0; i < kSaves; ++i) {
    for (int s = 0; s < 5; ++s) {
      const auto begin = Clock::now();
      trainer.step();
      steps.push_back(seconds_since(begin));
    }
    const auto begin = Clock::now();
    save_training(path, assembly.model, trainer, experiment);
    saves.push_back(seconds_since(begin));
  }
  std::sort(steps.begin(), steps.end());
  std::sort(saves.begin(), saves.end());
  const double step = steps[steps.size() / 2], save = saves[saves.size() / 2];
  const auto every = static_cast<double>(CheckpointSettings().every);
  return {{"saves", kSaves},
          {"bytes", std::filesystem::file_size(path)},
          {"median_ms", save * 1e3},
          {"worst_ms", saves.back() * 1e3},
          {"step_ms", step * 1e3},
          {"every", CheckpointSettings().every},
          {"share", save / (save + every * step)}};
}

// The feature rows of the training sentences, as the PyTorch peer reads them.
void write_features(const Experiment& experiment, const std::string& path) {
  const Assembly assembly = assemble(experiment);
  std::ofstream file(path, std::ios::binary);
  for (const Sentence& sentence : assembly.data.corpus.train) {
    const FeatureMatrix rows = assembly.model.feature_bank().rows(sentence);
    file.write(reinterpret_cast<const char*>(rows.values.data()),
               static_cast<std::streamsize>(rows.values.size() * sizeof(float)));
  }
  if (!file.flush()) throw Error(fmt::format("cannot write {}", path));
}

int run(int argc, char** argv) {
  CLI::App app{"Measures training steps; prints JSON."};
  app.require_subcommand(1);
  std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::string preset = "paper-fusion";
  std::vector<std::string> sets;
  std::string out_path;
  std::string sweep_of;
  double seconds = 6.0;
  std::size_t length = 0;
  std::size_t windows = 6;
  app.add_option("--threads", threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--preset", preset, "Experiment");
  app.add_option("--set", sets, "KEY=VALUE of the experiment");
  app.add_option("--seconds", seconds, "Measured time (training: of each group of windows; sweep: of each point)");
  app.add_option("--length", length, "Sweep: only the points with texts of so many tokens");
  app.add_option("--windows", windows, "Windows that --seconds is cut into")->check(CLI::Range(1, 1000));
  CLI::App* peak = app.add_subcommand("peak", "FMA peak of all threads together, and reading of the weights by one");
  CLI::App* train = app.add_subcommand("train", "A whole run of the experiment");
  CLI::App* sweep =
      app.add_subcommand("sweep", "Growth in width, layers, length, batch and vocabulary; models of texts");
  CLI::App* features = app.add_subcommand("features", "Write the feature rows of the training sentences");
  sweep->add_option("WHAT", sweep_of, "One of width, layers, length, batch, vocabulary, text; all of them if left out");
  features->add_option("FILE", out_path, "Where to")->required();
  CLI::App* checkpoint = app.add_subcommand("checkpoint", "What saving a training checkpoint costs");
  checkpoint->add_option("FILE", out_path, "Where to")->required();
  app.fallthrough();
  CLI11_PARSE(app, argc, argv);

  Experiment experiment = preset_experiment(preset);
  for (const std::string& assignment : sets) set_key(experiment, assignment);
  validate(experiment);
  json result;
  if (*peak) {
    const std::size_t bytes = assemble(experiment, threads).model.parameter_count() * sizeof(float);
    result = {{"fma_peak_gflops", measure_fma_peak(threads)},
              {"read_gb_per_second", measure_read_bandwidth(bytes)},
              {"threads", threads}};
  } else if (*train) {
    const double before = measure_fma_peak(threads);
    result = measure_training(experiment, threads, seconds, windows);
    result["fma_peak_gflops"] = std::max(before, measure_fma_peak(threads));
  } else if (*sweep) {
    result = json::array();
    for (const SweepPoint& point : sweep_points()) {
      if (!sweep_of.empty() && point.what != sweep_of) continue;
      if (length != 0 && point.length != length) continue;
      result.push_back(measure_point(point, threads, seconds));
      fmt::print(stderr, "  {} {}\n", point.what, result.back().dump());
    }
  } else if (*checkpoint) {
    result = measure_checkpoint(experiment, threads, out_path);
  } else {
    write_features(experiment, out_path);
    return 0;
  }
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  try {
    return semfuse::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_training: {}\n", error.what());
    return 2;
  }
}
