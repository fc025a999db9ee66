// parity_check and scripts/check_layers must be able to fail.
#include "e2e/semfuse_program.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"

namespace semfuse {
namespace {

ProcessResult parity_check(const std::string& file) {
  return run_process(command_of("parity_check", {"--quiet", file}));
}

// A copy of a case in which one number of a tensor is off by `change`.
void write_altered(const std::string& path, const std::string& tensor, float change) {
  const TensorArchive original = TensorArchive::load(SEMFUSE_SOURCE_DIR "/tests/parity/fusion-causal.safetensors");
  const std::span<const float> values = original.floats(tensor);
  std::vector<float> altered(values.begin(), values.end());
  altered.back() += change;
  TensorArchiveWriter writer;
  for (const auto& [key, value] : original.metadata()) writer.set_metadata(key, value);
  for (const TensorInfo& info : original.tensors()) {
    if (info.name == tensor) {
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
  write_altered(file, "grad.tok.weight", 0.0f);
  EXPECT_EQ(parity_check(file).exit_code, 0);
  for (const char* tensor :
       {"out.logits", "out.losses.1", "out.gradnorm.0", "grad.tok.weight", "after.enc.layers.0.linear1.bias"}) {
    write_altered(file, tensor, 0.5f);
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

TEST(CheckLayers, NamesEachViolation) {
  const TemporaryFolder folder;
  for (const char* name : {"include/semfuse", "src/core", "src/io", "src/decoding", "apps/semfuse"})
    std::filesystem::create_directories(folder / name);
  const auto check = [&] { return run_process({SEMFUSE_SOURCE_DIR "/scripts/check_layers", folder.path().string()}); };
  std::ofstream(folder / "apps/semfuse/main.cpp") << "#include \"io/file.h\"\n";
  EXPECT_EQ(check().exit_code, 0);
  std::ofstream(folder / "src/io/file.cpp") << "#include \"core/random.h\"\n#include \"kernels/matmul.h\"\n";
  std::ofstream(folder / "src/decoding/sampler.cpp") << "#include \"semfuse/trainer.h\"\n";
  std::ofstream(folder / "include/semfuse/corpus.h") << "#include <vector>\n#include \"core/random.h\"\n";
  const ProcessResult result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::HasSubstr("src/io/file.cpp:2: io may not include kernels/matmul.h"));
  EXPECT_THAT(result.out, testing::HasSubstr("src/decoding/sampler.cpp:1: decoding may not include semfuse/trainer.h"));
  EXPECT_THAT(result.out, testing::HasSubstr("include/semfuse/corpus.h:2: "));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
}

}  // namespace
}  // namespace semfuse
