// A small file that declares a huge model is refused before memory of that size is taken.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "experiment/checkpoint.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(CheckpointSize, IsComparedWithTheFileFirst) {
  Experiment experiment;
  experiment.model = {.width = 8192, .layers = 1, .heads = 1, .feed_forward = 1, .fusion = false};
  const std::vector<float> table(3 * experiment.model.width);
  const std::vector<float> inner(experiment.model.width);
  TensorArchiveWriter writer;
  writer.set_metadata("format", "semfuse-1");
  writer.set_metadata("config", to_toml(experiment));
  writer.set_metadata("attention", "bidirectional");
  writer.set_metadata("vocabulary", R"(["<pad>", "<bos>", "<eos>"])");
  writer.set_metadata("lexicon", "[]");
  writer.set_metadata("features", "[]");
  writer.add("tok.weight", {3, experiment.model.width}, table);
  writer.add("enc.layers.0.linear1.weight", {1, experiment.model.width}, inner);
  const std::string bytes = writer.encode();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  const TensorArchive archive = TensorArchive::parse({begin, begin + bytes.size()}, "small.safetensors");

  const long before = peak_kilobytes();
  try {
    parse_checkpoint(archive, "small.safetensors");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("in_proj_weight is missing"), std::string::npos) << error.what();
  }
  EXPECT_LT(peak_kilobytes() - before, 64 * 1024);
}

}  // namespace
}  // namespace semfuse
