// A small file that declares a huge model is refused before memory of that size is taken.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "io/tensor_archive_writer.h"
#include "model/model_spec.h"
#include "run/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class CheckpointSize : public testing::TestWithParam<std::string> {};

TEST_P(CheckpointSize, IsComparedWithTheFileFirst) {
  Experiment experiment;
  experiment.model = {.width = 8192, .layers = 1, .heads = 1, .feed_forward = 1, .fusion = false};
  const std::vector<float> table(3 * experiment.model.width);
  const std::vector<float> inner(experiment.model.width);
  TensorArchiveWriter writer;
  writer.set_metadata("format", GetParam());
  writer.set_metadata("config", to_toml(experiment));
  writer.set_metadata("attention", "bidirectional");
  const std::vector<std::string> entries = {"<pad>", "<bos>", "<eos>"};
  const ModelSpec spec{.options = experiment.model,
                       .features = {},
                       .vocabulary = Vocabulary(entries),
                       .lexicon = Lexicon({}),
                       .seen = {true, true, true}};
  for (const auto& [key, value] : to_metadata(spec)) writer.set_metadata(key, value);
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

INSTANTIATE_TEST_SUITE_P(Formats, CheckpointSize, testing::Values("semfuse-1", "semfuse-2"),
                         [](const auto& test) { return test.param == "semfuse-1" ? "first" : "second"; });

}  // namespace
}  // namespace semfuse
