#include "data/block_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Lines of 100 bytes, so that a block has about ten thousand.
void write_lines(const std::string& path, std::size_t count, const std::string& last = "") {
  std::ofstream file(path);
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = std::to_string(i) + ' ';
    line.resize(99, 'x');
    file << line << '\n';
  }
  file << last;
}

TEST(BlockStages, FinishInTheOrderOfTheFile) {
  const TemporaryFolder folder;
  constexpr std::size_t kLines = 100'000;
  write_lines(folder / "a.txt", kLines);
  for (const std::size_t threads : {1, 2, 7}) {
    for (const std::size_t group : {1, 3}) {
      ThreadPool pool(threads);
      RecordReader records({folder / "a.txt"}, {});
      std::vector<std::string> texts(2 * group);
      std::string all;
      std::size_t next = 0;
      run_stages(records, pool,
                 {.group = group,
                  .work =
                      [&](const RecordBlock& block, std::size_t index) {
                        std::string& text = texts[index % texts.size()];
                        text.clear();
                        for (const Record& record : block.records)
                          text += std::string(record.text.substr(0, record.text.find(' '))) + '\n';
                      },
                  .finish =
                      [&](std::size_t index) {
                        EXPECT_EQ(index, next++);
                        all += texts[index % texts.size()];
                      },
                  .between = {}});
      std::string expected;
      for (std::size_t i = 0; i < kLines; ++i) expected += std::to_string(i) + '\n';
      EXPECT_GT(next, 8U) << "blocks";
      EXPECT_EQ(all, expected);
    }
  }
}

TEST(BlockStages, WhatComesFirstInTheFileIsThrown) {
  const TemporaryFolder folder;
  write_lines(folder / "bad_end.txt", 100'000, "\xff\xff\n");
  for (const std::size_t threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    const auto attempt = [&](std::size_t first_bad) {
      RecordReader records({folder / "bad_end.txt"}, {});
      run_stages(records, pool,
                 {.group = 4,
                  .work =
                      [&](const RecordBlock&, std::size_t index) {
                        if (index >= first_bad) throw Error("block " + std::to_string(index));
                      },
                  .finish = {},
                  .between = {}});
    };
    EXPECT_THAT([&] { attempt(2); }, ThrowsMessage<Error>("block 2"));
    EXPECT_THAT([&] { attempt(8); }, ThrowsMessage<Error>("block 8"));
    EXPECT_THAT([&] { attempt(1000); }, ThrowsMessage<Error>(HasSubstr("bad_end.txt:100001: byte 1 is not UTF-8")));
  }
}

TEST(BlockStages, WhatCannotBeFinishedEndsIt) {
  const TemporaryFolder folder;
  write_lines(folder / "a.txt", 100'000);
  ThreadPool pool(3);
  RecordReader records({folder / "a.txt"}, {});
  EXPECT_THAT(
      [&] {
        run_stages(records, pool,
                   {.group = 2,
                    .work = [](const RecordBlock&, std::size_t) {},
                    .finish =
                        [](std::size_t index) {
                          if (index == 3) throw Error("no room");
                        },
                    .between = {}});
      },
      ThrowsMessage<Error>("no room"));
}

}  // namespace
}  // namespace semfuse
