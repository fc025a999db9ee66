#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "semfuse/error.h"
#include "support/faulty_file_layer.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/file_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(FileTest, ReadsWhatWasWritten) {
  const fs::path path = folder_ / "a";
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 100000}) {
    const std::string text(size, 'x');
    write_atomically(path, text);
    EXPECT_EQ(read_text(path), text);
    EXPECT_EQ(read_bytes(path).size(), size);
  }
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(FileTest, JoinsPieces) {
  const std::vector<std::string_view> pieces = {"one ", "", "two"};
  write_atomically(folder_ / "a", pieces);
  EXPECT_EQ(read_text(folder_ / "a"), "one two");
}

TEST_F(FileTest, GivesTheUsualPermissions) {
  write_atomically(folder_ / "a", "text");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST_F(FileTest, ReadsAPipe) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    FILE* pipe = std::fopen(path.c_str(), "w");
    std::fputs("through a pipe", pipe);
    std::fclose(pipe);
  });
  EXPECT_EQ(read_text(path), "through a pipe");
  writer.join();
}

TEST_F(FileTest, RefusesToReadWhatIsNoFile) {
  EXPECT_THAT(refusal([&] { read_text(folder_ / "absent"); }),
              AllOf(HasSubstr("absent: cannot open: No such file"), EndsWith("; check the path")));
  EXPECT_THAT(refusal([&] { read_bytes(folder_); }), HasSubstr("is a directory"));
  EXPECT_THAT(refusal([&] { read_text("/dev/zero"); }), StartsWith("/dev/zero: is not a file"));
  write_atomically(folder_ / "a", "12345");
  EXPECT_EQ(read_text(folder_ / "a", 5), "12345");
  EXPECT_THAT(refusal([&] { read_text(folder_ / "a", 4); }), HasSubstr("larger than 4 bytes"));
}

TEST_F(FileTest, RefusesAnUnreadableFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write_atomically(folder_ / "a", "text");
  fs::permissions(folder_ / "a", fs::perms::none);
  EXPECT_THAT(refusal([&] { read_text(folder_ / "a"); }), HasSubstr("check its permissions"));
}

TEST_F(FileTest, RefusesToWriteOverWhatIsNoFile) {
  EXPECT_THAT(refusal([&] { write_atomically(folder_, "x"); }), HasSubstr("is a directory"));
  EXPECT_THAT(refusal([&] { write_atomically("/dev/null", "x"); }), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal([&] { write_atomically(folder_ / "absent" / "a", "x"); }),
              HasSubstr("cannot write: No such file"));
  EXPECT_THAT(refusal([&] { write_atomically(folder_ / std::string(300, 'n'), "x"); }), HasSubstr("shorter name"));
  EXPECT_EQ(num_files(), 0U);
}

// A limit on file sizes stands for a full disk: both make write() fail half-way.
TEST_F(FileTest, KeepsTheOldFileWhenTheDiskIsFull) {
  write_atomically(folder_ / "a", "old");
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  const auto saved_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = saved;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = refusal([&] { write_atomically(folder_ / "a", std::string(5000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &saved), 0);
  std::signal(SIGXFSZ, saved_handler);
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write: File too large"), HasSubstr("free some space")));
  EXPECT_EQ(read_text(folder_ / "a"), "old");
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(FileTest, KeepsTheOldFileWhenAnyCallFails) {
  using Fault = FaultyFileLayer::Fault;
  const fs::path path = folder_ / "a";
  const std::vector<std::string_view> pieces = {"new one, ", "in two pieces"};
  std::vector<std::string> failed;
  // The calls: open, two writes, fsync, close, rename; then open, fsync and close of the folder.
  for (std::size_t call = 0; call < 9; ++call) {
    for (const int code : {ENOSPC, EIO}) {
      write_atomically(path, "old");
      FaultyFileLayer files;
      files.fail_at(call, Fault::error, code);
      const std::string message = refusal([&] { write_atomically(path, pieces, files); });
      failed.push_back(files.last_failed());
      EXPECT_EQ(read_text(path), call < 6 ? "old" : "new one, in two pieces") << call;
      EXPECT_EQ(message == "accepted", call == 8) << call << ": " << message;
      if (call < 8) {
        EXPECT_THAT(message, AllOf(StartsWith(path.string()), HasSubstr("cannot ")));
      }
      EXPECT_EQ(num_files(), 1U) << call;
    }
  }
  EXPECT_THAT(failed,
              testing::ElementsAre("open", "open", "write", "write", "write", "write", "fsync", "fsync", "close",
                                   "close", "rename", "rename", "open", "open", "fsync", "fsync", "close", "close"));
}

TEST_F(FileTest, AShortWriteIsCompleted) {
  for (const std::size_t call : {1, 2}) {
    FaultyFileLayer files;
    files.fail_at(call, FaultyFileLayer::Fault::short_write, 0);
    const std::vector<std::string_view> pieces = {"one, ", "two"};
    write_atomically(folder_ / "a", pieces, files);
    EXPECT_EQ(read_text(folder_ / "a"), "one, two");
    EXPECT_EQ(files.calls(), 10U);
  }
}

}  // namespace
}  // namespace semfuse
