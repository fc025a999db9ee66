// Files as nobody should have written them: one clear line each, or a counted skip, and nothing half done is used.
#include <fstream>

#include "semfuse_program.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStars = "model.knobs=[\"stars: scalar of column stars from 1 to 5\"]";

std::string rows(std::size_t count = 100) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "the soup was good on day " + std::to_string(i) + ".\t" + std::to_string(i % 5 + 1) + '\n';
  }
  return text;
}

class HostileData : public testing::Test {
 protected:
  void SetUp() override { ::setenv("SEMFUSE_CACHE", (folder_ / "cache").c_str(), 1); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  Arguments training(const std::string& file, const Arguments& more = {}) const {
    Arguments arguments = {"train", "--data", file, "--out", folder_ / "out", "--quiet"};
    for (const char* setting : {"model.width=8", "model.layers=1", "model.heads=2", "model.feed_forward=8",
                                "training.epochs=1", "text.vocabulary=300"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_refusal(const std::string& name, const std::string& bytes, const std::string& part) const {
    Arguments more;
    if (!name.ends_with(".txt")) more = {"--set", kStars};
    expect_refused(training(write(name, bytes), more), part);
    EXPECT_FALSE(fs::exists(folder_ / "out")) << name;
  }
  // One of the kind that is only odd.
  void expect_trained(const std::string& name, const std::string& bytes) const {
    const ProcessResult result = semfuse_program(training(write(name, bytes), {"--set", kStars}));
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    fs::remove_all(folder_ / "out");
  }

  const std::string heading_ = "text\tstars\n";
  TemporaryFolder folder_;
};

TEST_F(HostileData, WhatCannotBeReadIsNamedByFileAndLine) {
  expect_refusal("empty.tsv", "", "empty.tsv: is empty");
  expect_refusal("heading.tsv", heading_, "holds no text");
  expect_refusal("blank.txt", "\n \n\t\n", "holds no text");
  expect_refusal("latin.tsv", heading_ + rows() + "caf\xe9\t3\n", "latin.tsv:102: byte 4 is not UTF-8");
  expect_refusal("zero.tsv", heading_ + rows() + std::string("a\0b\t3\n", 6), "zero.tsv:102: has a zero byte");
  expect_refusal("long.txt", rows() + std::string(10'000'000, 'x') + "\n", "long.txt:101: is longer than");
  expect_refusal("few.tsv", heading_ + rows() + "a\n", "few.tsv:102: has 1 cell");
  expect_refusal("many.tsv", heading_ + rows() + "a\t3\tb\n", "many.tsv:102: has 3 cells");
  expect_refusal("open.csv", "text,stars\n\"never closed,3\nb,4\n", "open.csv:2: a quote is never closed");
  expect_refusal("range.tsv", heading_ + rows() + "a\t6\n", "range.tsv:102: column stars says \"6\"");
  expect_refusal("unknown.tsv", heading_ + rows() + "a\tmany\n", "unknown.tsv:102: column stars says \"many\"");
  expect_refusal("half.jsonl", "{\"text\": \"a\", \"stars\": 1}\n{\"text\": \"b\"\n", "half.jsonl:2: is no valid JSON");
  // Where no row can be used, the first one says why.
  expect_refusal("all_latin.txt", "caf\xe9\nol\xe9\n", "all_latin.txt:1: byte 4 is not UTF-8");
  expect_refusal("all_long.txt", std::string(10'000'000, 'x') + "\n", "all_long.txt:1: is longer than");
  expect_refusal("all_open.csv", "text,stars\n\"never closed,3\n", "all_open.csv:2: a quote is never closed");
  expect_refusal("array.jsonl", "[\n{\"text\": \"a\", \"stars\": 1},\n]\n", "array.jsonl:1: ");
  expect_refusal("wide.tsv", "\xff\xfet\0e\0", "UTF-16");
}

TEST_F(HostileData, WhatIsOnlyOddIsRead) {
  const std::string plain = heading_ + rows();
  expect_trained("no_end.tsv", plain.substr(0, plain.size() - 1));
  expect_trained("mark.tsv", "\xef\xbb\xbf" + plain);
  std::string windows;
  for (const char c : plain) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_trained("windows.tsv", windows);
}

TEST_F(HostileData, EveryFaultCanBeSkippedAndIsCounted) {
  const std::string file =
      write("faults.tsv", heading_ + rows() + "caf\xe9\t3\n" + std::string("a\0b\t3\n", 6) +
                              std::string(2'000'000, 'x') + "\t3\na\na\t3\tb\na\t6\na\tmany\n" + rows());
  expect_refused(training(file, {"--set", kStars}), "or leave out such rows with --skip-bad");
  const ProcessResult result = semfuse_program(training(file, {"--set", kStars, "--skip-bad"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("7 rows at fault were left out"));
  fs::remove_all(folder_ / "out");
  ASSERT_EQ(semfuse_program(training(write("plain.tsv", heading_ + rows()))).exit_code, 0);
  expect_refused({"evaluate", folder_ / "out", "--data", file}, "faults.tsv:102");
  EXPECT_THAT(semfuse_program({"evaluate", folder_ / "out", "--data", file, "--skip-bad"}).err,
              HasSubstr("rows at fault were left out"));
  expect_refused({"evaluate", folder_ / "out", "--skip-bad"}, "add --data");
  expect_refused({"train", "--out", folder_ / "other", "--skip-bad"}, "add --data");
}

// A limit on the size of files is a disk that is full at that point.
TEST_F(HostileData, AFullDiskIsOneLineAndLeavesNothing) {
  const std::string file = write("large.tsv", heading_ + rows(20'000));
  for (const char* blocks : {"1", "8", "200"}) {
    std::string command = "ulimit -f " + std::string(blocks) + "; trap '' XFSZ; exec";
    for (const std::string& word : command_of("semfuse", training(file))) command += " '" + word + "'";
    const ProcessResult result = run_process({"/bin/sh", "-c", command});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    expect_one_error_line(result, "free some space");
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    EXPECT_TRUE(fs::is_empty(folder_ / "cache")) << blocks;
  }
  EXPECT_EQ(semfuse_program(training(file)).exit_code, 0);
}

TEST_F(HostileData, AKillWhilePreparingIsForgotten) {
  const std::string file = write("large.tsv", heading_ + rows(100'000));
  const auto begun = [&] { return fs::exists(folder_ / "cache") && !fs::is_empty(folder_ / "cache"); };
  {
    Process process(command_of("semfuse", training(file)));
    ASSERT_TRUE(wait_until(begun));
    process.signal(SIGKILL);
    EXPECT_EQ(process.result().exit_code, 128 + SIGKILL);
  }
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  const ProcessResult result = semfuse_program(training(write("small.tsv", heading_ + rows())));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::size_t folders = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "cache")) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp-")));
    ++folders;
  }
  EXPECT_EQ(folders, 1U);
}

TEST_F(HostileData, AFileThatGrowsWhileItIsReadIsRefused) {
  const std::string file = write("growing.tsv", heading_ + rows(100'000));
  Process process(command_of("semfuse", training(file)));
  while (process.running() && !fs::exists(folder_ / "out")) {
    std::ofstream(file, std::ios::app) << "one more\t3\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "growing.tsv: changed while it was read");
}

// What users wrote never acts on a terminal, in whatever way it is shown.
TEST_F(HostileData, EscapesStayData) {
  std::string text = "text\tstars\t\x1b[31mred\n";
  for (int i = 0; i < 200; ++i) text += "\x1b]0;title\x07 <b>bold</b> \x1b[2J " + std::to_string(i) + "\t3\t<i>\n";
  const std::string file = write("escapes.tsv", text);
  ASSERT_EQ(semfuse_program(training(file)).exit_code, 0);
  const std::string run = folder_ / "out";
  for (const Arguments& arguments :
       {Arguments{"data", "describe", file}, Arguments{"inspect", run}, Arguments{"words", "list", run},
        Arguments{"generate", run, "--n", "2", "--explain"}, Arguments{"generate", run, "--json"},
        Arguments{"evaluate", run, "--against", "ngram"}, Arguments{"tokenize", run, "\x1b[31mred"},
        Arguments{"train", "--data", file, "--out", folder_ / "x", "--set", kStars, "--set",
                  "data.text=\x1b[31mrod"}}) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_THAT(result.out + result.err, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))))
        << testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace semfuse
