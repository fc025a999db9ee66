#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

class InspectCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ASSERT_EQ(semfuse_program(tiny_training(run(), {"--preset", "paper-fusion", "--set", "corpus.held_out=great,bad"}))
                  .exit_code,
              0);
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string run() { return *folder_ / "run"; }
  static std::string scratch() { return *folder_ / "scratch.safetensors"; }

  static ProcessResult inspect_bytes(std::string_view bytes) {
    std::ofstream(scratch(), std::ios::binary) << bytes;
    return semfuse_program({"inspect", scratch()});
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(InspectCommand, ShowsAModel) {
  const ProcessResult folder = semfuse_program({"inspect", run()});
  ASSERT_EQ(folder.exit_code, 0) << folder.err;
  EXPECT_EQ(folder.out, semfuse_program({"inspect", run() + "/model.safetensors"}).out);
  const Checkpoint checkpoint = load_checkpoint(run());
  for (const NamedParameter& parameter : checkpoint.model.parameters())
    EXPECT_THAT(folder.out, testing::HasSubstr(std::string(parameter.name)));
  EXPECT_THAT(folder.out, testing::ContainsRegex("attention +bidirectional"));
  EXPECT_THAT(folder.out, testing::ContainsRegex("total +1,970\n"));
  EXPECT_THAT(folder.out, testing::ContainsRegex("positive adjective +excellent good great\\* pleasant wonderful\n"));
  EXPECT_THAT(folder.out, testing::HasSubstr("coref_subject"));
}

TEST_F(InspectCommand, JsonOfAModel) {
  const ProcessResult result = semfuse_program({"inspect", run(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  const Checkpoint checkpoint = load_checkpoint(run());
  EXPECT_EQ(json["parameter_count"], checkpoint.model.parameter_count());
  std::size_t sum = 0;
  for (const nlohmann::json& parameter : json["parameters"]) sum += parameter["count"].get<std::size_t>();
  EXPECT_EQ(sum, checkpoint.model.parameter_count());
  EXPECT_EQ(json["configuration"]["model.width"], 8);
  EXPECT_EQ(json["configuration"]["corpus.held_out"], nlohmann::json({"great", "bad"}));
  EXPECT_EQ(json["vocabulary"].size(), checkpoint.model.vocabulary().size());
  EXPECT_EQ(json["features"].size(), 22U);
}

TEST_F(InspectCommand, ListsTheTensorsOfAnyOtherFile) {
  const std::string file = SEMFUSE_SOURCE_DIR "/tests/parity/fusion-causal.safetensors";
  const ProcessResult text = semfuse_program({"inspect", file});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::ContainsRegex("in\\.ids +I32 "));
  EXPECT_THAT(text.out, testing::ContainsRegex("attention +causal"));
  const nlohmann::json json = nlohmann::json::parse(semfuse_program({"inspect", file, "--json"}).out);
  EXPECT_EQ(json["kind"], "safetensors");
  EXPECT_EQ(json["metadata"]["attention"], "causal");
}

TEST_F(InspectCommand, RefusesWhatIsNoModel) {
  expect_refused({"inspect", run() + "-absent"}, "No such file");
  expect_refused({"inspect", std::filesystem::path(run()).parent_path().string()}, "has no model.safetensors");
  expect_refused({"inspect", run() + "/config.toml"}, "config.toml");
  expect_refused({"inspect", "/dev/zero"}, "/dev/zero: is not a file");
  expect_refused({"inspect", ""}, "");
}

TEST_F(InspectCommand, ATruncatedFileIsRefused) {
  const std::string bytes = Process::text(run() + "/model.safetensors");
  // Steps that share no factor with the alignment of tensors; checkpoint tests try every kind of damage without a
  // process for each.
  for (std::size_t size = 0; size < bytes.size(); size += 641) {
    const ProcessResult result = inspect_bytes(std::string_view(bytes).substr(0, size));
    ASSERT_EQ(result.exit_code, 2) << size << " bytes of " << bytes.size();
    ASSERT_EQ(result.out, "");
    expect_one_error_line(result, "scratch.safetensors");
  }
}

TEST_F(InspectCommand, AChangedHeaderIsReadOrRefused) {
  const std::string bytes = Process::text(run() + "/model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t place = 0; place < sizeof(header) + header; place += place < 16 ? 1 : 611) {
    for (const int flip : {0x01, 0x80}) {
      std::string changed = bytes;
      changed[place] = static_cast<char>(changed[place] ^ flip);
      const ProcessResult result = inspect_bytes(changed);
      ASSERT_THAT(result.exit_code, testing::AnyOf(0, 2))
          << "byte " << place << " changed by " << flip << ": " << result.err;
      ++tried;
      if (result.exit_code == 0) continue;  // A letter of a comment or a number that is as good as the one before.
      ++refused;
      expect_one_error_line(result, "scratch.safetensors");
    }
  }
  EXPECT_GT(refused, tried / 2);
}

}  // namespace
}  // namespace semfuse
