// parity_check and scripts/check_layers must be able to fail.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "e2e/semfuse_program.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"

namespace semfuse {
namespace {

ProcessResult parity_check(const std::string& file) {
  return run_process(command_of("parity_check", {"--quiet", file}));
}

constexpr const char* kCase = SEMFUSE_SOURCE_DIR "/tests/parity/fusion-causal.safetensors";

struct Alteration {
  std::string tensor = {};  // Has `change` added to its last number.
  float change = 0.0f;
  std::string without = {};  // A tensor left out.
  std::string added = {};    // The name of one more tensor.
  std::map<std::string, std::string> metadata = {};
};

void write_altered(const std::string& path, const Alteration& alteration) {
  const TensorArchive original = TensorArchive::load(kCase);
  std::vector<float> altered;
  TensorArchiveWriter writer;
  for (const auto& [key, value] : original.metadata()) {
    const auto other = alteration.metadata.find(key);
    writer.set_metadata(key, other == alteration.metadata.end() ? value : other->second);
  }
  const std::vector<float> more(3);
  if (!alteration.added.empty()) writer.add(alteration.added, {more.size()}, more);
  for (const TensorInfo& info : original.tensors()) {
    if (info.name == alteration.without) continue;
    if (info.name == alteration.tensor) {
      const std::span<const float> values = original.floats(info.name);
      altered.assign(values.begin(), values.end());
      altered.back() += alteration.change;
      writer.add(info.name, info.shape, altered);
    } else if (info.dtype == DType::f32) {
      writer.add(info.name, info.shape, original.floats(info.name));
    } else {
      writer.add(info.name, info.shape, original.ints(info.name));
    }
  }
  writer.save(path);
}

TEST(ParityCheck, OneAlteredExpectationFails) {
  const TemporaryFolder folder;
  const std::string file = folder / "case.safetensors";
  write_altered(file, {.tensor = "grad.tok.weight"});
  EXPECT_EQ(parity_check(file).exit_code, 0);
  for (const char* tensor :
       {"out.logits", "out.losses.1", "out.gradnorm.0", "grad.tok.weight", "after.enc.layers.0.linear1.bias"}) {
    write_altered(file, {.tensor = tensor, .change = 0.5f});
    const ProcessResult result = parity_check(file);
    EXPECT_EQ(result.exit_code, 1) << tensor << '\n' << result.out << result.err;
    EXPECT_THAT(result.out, testing::HasSubstr("FAILED")) << tensor;
  }
}

TEST(ParityCheck, GarbageIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "garbage.safetensors") << "garbage, garbage, garbage";
  const ProcessResult result = parity_check(folder / "garbage.safetensors");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::HasSubstr("garbage.safetensors"));
  EXPECT_EQ(parity_check(folder / "absent.safetensors").exit_code, 2);
  ASSERT_EQ(semfuse_program(tiny_training(folder / "run")).exit_code, 0);
  EXPECT_EQ(parity_check(folder / "run/model.safetensors").exit_code, 2);
}

// Exit code 2 and one line that has `part`, nothing on standard output.
void expect_one_line(const ProcessResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::StartsWith("parity_check: "));
  EXPECT_THAT(result.err, testing::HasSubstr(part));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << result.err;
}

TEST(ParityCheck, WhatACaseDeclaresIsNotTrusted) {
  const TemporaryFolder folder;
  const std::string file = folder / "case.safetensors";
  const auto expect_refused_case = [&](const Alteration& alteration, const std::string& part) {
    SCOPED_TRACE(part);
    write_altered(file, alteration);
    expect_one_line(parity_check(file), part);
  };
  expect_refused_case({.metadata = {{"d_ff", "4000000"}}}, "linear1.weight has shape [32, 16], not [4000000, 16]");
  expect_refused_case({.metadata = {{"layers", "300000"}}}, "layers is 300000, but there are only");
  expect_refused_case({.metadata = {{"features", "0"}}}, "features is 0, but there is a tensor in.features");
  expect_refused_case({.metadata = {{"steps", "6"}}}, "tensor out.losses.5 is missing");
  expect_refused_case({.metadata = {{"attention", "a\n\x1b[31m"}}}, R"(attention is "a\n\x1b[31m")");
  expect_refused_case({.metadata = {{"beta2", "1"}}}, "beta2 is 1");
  expect_refused_case({.metadata = {{"eps", "0"}}}, "eps is 0");
  expect_refused_case({.metadata = {{"clip_norm", "-1"}}}, "clip_norm is -1");
  expect_refused_case({.metadata = {{"total_steps", "0"}}}, "total_steps");
  expect_refused_case({.metadata = {{"warmup_steps", "-1"}}}, "warmup_steps");
  expect_refused_case({.metadata = {{"lambda_uni", "nan"}}}, "lambda_uni");
  expect_refused_case({.metadata = {{"pad_id", "41"}}}, "pad_id");
  expect_refused_case({.added = "param.gate.scale"}, "\"param.gate.scale\" is no parameter of the model");
  for (const char* name : {"in.class0", "in.class1", "out.logits", "grad.tok.weight"})
    expect_refused_case({.without = name}, fmt::format("tensor {} is missing", name));
  for (const char* name : {"in.features", "param.tok.weight", "out.losses.1", "grad.gate.bias", "after.tok.weight"})
    expect_refused_case({.tensor = name, .change = NAN}, fmt::format("tensor {} holds nan", name));

  write_altered(file, {.added = "out.more"});
  EXPECT_EQ(parity_check(file).exit_code, 0);
}

TEST(ParityCheck, EveryFailureIsOneLine) {
  const auto run = [](const Arguments& arguments) { return run_process(command_of("parity_check", arguments)); };
  expect_one_line(run({}), "FILE");
  expect_one_line(run({"--bogus", "x"}), "--bogus");
  expect_one_line(run({"--threads", "0", "x"}), "--threads");
  expect_one_line(run({"a\n\x1b[31mb"}), "cannot open");
  expect_one_line(run_process(command_of("parity_check", {kCase}), "/dev/full"), "No space left");
  expect_one_line(run_process(command_of("parity_check", {"--quiet", kCase}), "/dev/full"), "No space left");
}

TEST(CheckLayers, NamesEachViolation) {
  const TemporaryFolder folder;
  for (const char* name : {"include/semfuse", "src/core", "src/io", "src/generation", "apps/semfuse"})
    std::filesystem::create_directories(folder / name);
  const auto check = [&] { return run_process({SEMFUSE_SOURCE_DIR "/scripts/check_layers", folder.path().string()}); };
  std::ofstream(folder / "apps/semfuse/main.cpp") << "#include \"io/file.h\"\n";
  EXPECT_EQ(check().exit_code, 0);
  std::ofstream(folder / "src/io/file.cpp") << "#include \"core/random.h\"\n#include \"kernels/matmul.h\"\n";
  std::ofstream(folder / "src/generation/sampler.cpp") << "#include \"semfuse/trainer.h\"\n";
  std::ofstream(folder / "include/semfuse/corpus.h") << "#include <vector>\n#include \"core/random.h\"\n";
  const ProcessResult result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::HasSubstr("src/io/file.cpp:2: io may not include kernels/matmul.h"));
  EXPECT_THAT(result.out,
              testing::HasSubstr("src/generation/sampler.cpp:1: generation may not include semfuse/trainer.h"));
  EXPECT_THAT(result.out, testing::HasSubstr("include/semfuse/corpus.h:2: "));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
}

}  // namespace
}  // namespace semfuse
