// semfuse verify, log and export.
#include <nlohmann/json.hpp>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "io/archive_checksum.h"
#include "io/file.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunTools : public testing::Test {
 protected:
  RunTools() : run_(folder_ / "run") {
    EXPECT_EQ(semfuse_program(tiny_training(run_, {"--preset", "paper-fusion", "--set", "training.epochs=3",
                                                   "--checkpoint-every", "2"}))
                  .exit_code,
              0);
  }

  void expect_damaged(const std::string& path, const std::string& what) {
    SCOPED_TRACE(path);
    const ProcessResult result = semfuse_program({"verify", run_});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.out, testing::ContainsRegex("DAMAGED  [^ ]*" + path + "  .*" + what));
    expect_one_error_line(result, " of 7 files are damaged, the first is " + run_);
  }

  const TemporaryFolder folder_;
  const std::string run_;
};

TEST_F(RunTools, VerifyAWholeRun) {
  const auto before = tree_of(run_);
  const ProcessResult result = semfuse_program({"verify", run_});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 7) << result.out;
  EXPECT_THAT(result.out, testing::Not(HasSubstr("DAMAGED")));
  EXPECT_THAT(result.out, HasSubstr("a training at step 6: structure, checksum and 5910 numbers checked"));
  EXPECT_EQ(tree_of(run_), before) << "it only reads";
  const nlohmann::json json = nlohmann::json::parse(semfuse_program({"verify", run_, "--json"}).out);
  EXPECT_EQ(json.size(), 7U);
  EXPECT_TRUE(json[0]["whole"]);
}

TEST_F(RunTools, VerifyNamesWhatIsWrong) {
  damage(run_ + "/model.safetensors");
  expect_damaged("model.safetensors", "checksum");
  fs::remove(run_ + "/model.safetensors");
  expect_damaged("model.safetensors", "No such file");
  fs::copy(checkpoint_path(run_, 6), run_ + "/model.safetensors");
  expect_damaged("model.safetensors", "format semfuse-2");
  damage(checkpoint_path(run_, 4));
  expect_damaged("step-00000004.safetensors", "checksum");
  fs::copy(checkpoint_path(run_, 2), checkpoint_path(run_, 4), fs::copy_options::overwrite_existing);
  expect_damaged("step-00000004.safetensors", "another step");
  std::string log = Process::text(run_ + "/log.jsonl");
  log.erase(0, log.find('\n') + 1);  // The start.
  std::ofstream(run_ + "/log.jsonl") << log.substr(log.find('\n') + 1);
  expect_damaged("log.jsonl", "step 2 follows step 0");
  std::ofstream(run_ + "/log.jsonl") << log.substr(0, log.find('\n') + 1);
  expect_damaged("log.jsonl", "has 1 steps, but the newest checkpoint is at step 6");
  std::ofstream(run_ + "/config.toml") << "[model]\nwidth = 3\n";
  expect_damaged("config.toml", "width");
}

// What no bit flip does, a program that edits headers may.
TEST_F(RunTools, VerifyReadsTheSpecUnderARightChecksum) {
  const std::string file = run_ + "/model.safetensors";
  const TensorArchive archive = TensorArchive::load(file);
  const auto with_spec = [&](const std::string& spec) {
    TensorArchiveWriter writer;
    for (const auto& [key, value] : archive.metadata()) {
      if (key != kChecksumKey) writer.set_metadata(key, key == "spec" ? spec : value);
    }
    for (const TensorInfo& tensor : archive.tensors())
      writer.add(tensor.name, {tensor.shape.begin(), tensor.shape.end()}, archive.floats(tensor.name));
    writer.add_checksum();
    writer.save(file);
  };
  with_spec(archive.metadata("spec"));
  EXPECT_EQ(semfuse_program({"verify", run_}).exit_code, 0) << "the same model, written again";
  nlohmann::json spec = nlohmann::json::parse(archive.metadata("spec"));
  spec["model"]["width"] = 0;
  with_spec(spec.dump());
  expect_damaged("model.safetensors", "spec: model.width");
  spec["model"]["width"] = 16;
  with_spec(spec.dump());
  expect_damaged("model.safetensors", "tensor tok.weight is F32");
  with_spec("{");
  expect_damaged("model.safetensors", "spec");
}

TEST_F(RunTools, VerifyAFile) {
  const std::string file = run_ + "/model.safetensors";
  EXPECT_EQ(semfuse_program({"verify", file}).exit_code, 0);
  EXPECT_EQ(semfuse_program({"verify", checkpoint_path(run_, 6)}).exit_code, 0);
  const std::string parity = SEMFUSE_SOURCE_DIR "/tests/parity/fusion-causal.safetensors";
  const ProcessResult foreign = semfuse_program({"verify", parity});
  EXPECT_EQ(foreign.exit_code, 0);
  EXPECT_THAT(foreign.out, HasSubstr("it has no checksum"));
  damage(file);
  const ProcessResult result = semfuse_program({"verify", file});
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "model.safetensors: ");
  expect_refused({"verify", folder_ / "absent"}, "No such file");
  expect_refused({"verify", folder_.path().string()}, "has no config.toml");
}

TEST_F(RunTools, LogDrawsTheCurves) {
  const ProcessResult result = semfuse_program({"log", run_});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("6 steps, last loss "));
  EXPECT_THAT(result.out, HasSubstr("perplexity "));
  const std::string svg = Process::text(run_ + "/log.svg");
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("Validation perplexity (bidirectional attention)"));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  ASSERT_EQ(semfuse_program({"log", run_, "--svg", folder_ / "curves.svg"}).exit_code, 0);
  EXPECT_EQ(Process::text(folder_ / "curves.svg"), svg);
  ASSERT_EQ(semfuse_program({"log", run_, "--svg", folder_ / "curves.svg"}).exit_code, 0) << "an SVG may be replaced";
  const std::string model = Process::text(run_ + "/model.safetensors");
  expect_refused({"log", run_, "--svg", run_ + "/model.safetensors"}, "is not an SVG and is not overwritten");
  EXPECT_EQ(Process::text(run_ + "/model.safetensors"), model);
  expect_refused({"log", folder_ / "absent"}, "has no log.jsonl");
  std::ofstream(run_ + "/log.jsonl") << "garbage\n";
  expect_refused({"log", run_}, "log.jsonl:1:1");
  std::ofstream(run_ + "/log.jsonl") << "no end of a line";
  expect_refused({"log", run_}, "is not the log of a run");
  std::ofstream(run_ + "/log.jsonl") << "{\"event\":\"st";
  expect_refused({"log", run_}, "has no step yet");
  std::ofstream(run_ + "/log.jsonl") << "";
  expect_refused({"log", run_}, "has no step yet");
}

TEST_F(RunTools, ExportWritesThreeFiles) {
  const std::string to = folder_ / "deep/exported";
  const ProcessResult result = semfuse_program({"export", run_, "--to", to});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(tree_of(to).size(), 3U);
  EXPECT_EQ(Process::text(to + "/model.safetensors"), Process::text(run_ + "/model.safetensors"));
  const Checkpoint checkpoint = load_checkpoint(run_);
  std::string words;
  for (const std::string& word : checkpoint.model.vocabulary().entries()) words += word + '\n';
  EXPECT_EQ(Process::text(to + "/vocab.txt"), words);
  const nlohmann::json config = nlohmann::json::parse(Process::text(to + "/config.json"));
  EXPECT_EQ(config["width"], 8);
  EXPECT_EQ(config["attention"], "bidirectional");
  EXPECT_EQ(config["vocab_size"], checkpoint.model.vocabulary().size());
  EXPECT_EQ(config["features"].size(), 22U);
  EXPECT_EQ(config["eos"], 2);
  expect_refused({"export", run_, "--to", to}, "is already there");
  expect_refused({"export", run_, "--to", folder_ / std::string(300, 'x')}, "File name too long; choose another");
  expect_refused({"export", folder_ / "absent", "--to", folder_ / "x"}, "absent");
  expect_refused({"export", run_, "--to", run_ + "/config.toml/x"}, "config.toml");
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

}  // namespace
}  // namespace semfuse
