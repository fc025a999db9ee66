#include "io/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "semfuse/error.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(LockFile, NamesTheProcessThatHoldsIt) {
  const TemporaryFolder folder;
  auto lock = std::make_unique<LockFile>(folder / "lock", "training");
  const auto attempt = [&] { LockFile(folder / "lock", "training"); };
  EXPECT_THAT(attempt,
              ThrowsMessage<Error>(AllOf(HasSubstr(folder.path().string() + ": process " + std::to_string(::getpid())),
                                         HasSubstr("is training; wait until it ends, or end it"))));
  EXPECT_EQ(Process::text(folder / "lock"), std::to_string(::getpid()) + "\n") << "the holder's number stays";
  lock.reset();
  EXPECT_NO_THROW(attempt());
  EXPECT_EQ(Process::text(folder / "lock"), "");
}

TEST(LockFile, WhatAKilledProcessLeftDoesNotCount) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const LockFile lock(folder / "lock", "training");
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(Process::text(folder / "lock"), std::to_string(child) + "\n");
  EXPECT_NO_THROW(LockFile(folder / "lock", "training"));
  // The number of a process that lives, but has nothing to do with it.
  std::ofstream(folder / "lock") << ::getppid() << '\n';
  EXPECT_NO_THROW(LockFile(folder / "lock", "training"));
}

TEST(LockFile, SaysWhyItCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { LockFile(folder / "absent/lock", "training"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("absent/lock: cannot write"), HasSubstr("No such file"))));
}

}  // namespace
}  // namespace semfuse
