#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace semfuse {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const std::size_t tasks : {1, 2, 7, 8, 9, 100}) {
      std::vector<std::atomic<int>> runs(tasks);
      std::atomic<bool> worker_known = true;
      pool.run(tasks, [&](std::size_t index, std::size_t worker) {
        ++runs[index];
        if (worker >= threads) worker_known = false;
      });
      EXPECT_TRUE(worker_known);
      for (const auto& count : runs) EXPECT_EQ(count, 1) << tasks << " tasks on " << threads << " threads";
    }
  }
}

TEST(ThreadPool, RunsNothingForNoTasks) {
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    std::atomic<int> runs = 0;
    pool.run(0, [&](std::size_t, std::size_t) { ++runs; });
    EXPECT_EQ(runs, 0);
  }
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

TEST(ThreadPool, ManyRoundsLoseNothing) {
  ThreadPool pool(3);
  std::vector<std::size_t> sums(5);  // Not atomic: run() must order a round's writes before the next round's.
  constexpr std::size_t kRounds = 3000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    pool.run(sums.size(), [&](std::size_t index, std::size_t) { sums[index] += index + round; });
  }
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], kRounds * i + kRounds * (kRounds - 1) / 2);
}

TEST(ThreadPool, NoTwoThreadsShareAWorkerNumber) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> shared = false;
  for (int round = 0; round < 100; ++round) {
    pool.run(16, [&](std::size_t, std::size_t worker) {
      if (inside[worker].fetch_add(1) != 0) shared = true;
      inside[worker].fetch_sub(1);
    });
  }
  EXPECT_FALSE(shared);
}

TEST(ThreadPool, ThrowsATasksExceptionAndStaysUsable) {
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> runs = 0;
      try {
        pool.run(12, [&](std::size_t index, std::size_t) {
          ++runs;
          if (index == 5) throw std::runtime_error("task 5");
        });
        ADD_FAILURE() << "no exception on " << threads << " threads";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "task 5");
      }
      EXPECT_EQ(runs, 12);  // The others still run.
      runs = 0;
      EXPECT_NO_THROW(pool.run(12, [&](std::size_t, std::size_t) { ++runs; }));
      EXPECT_EQ(runs, 12);
    }
  }
}

TEST(ThreadPool, ThrowsOneOfManyExceptions) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.run(50, [](std::size_t, std::size_t) { throw std::out_of_range("all"); }), std::out_of_range);
  EXPECT_NO_THROW(pool.run(50, [](std::size_t, std::size_t) {}));
}

}  // namespace
}  // namespace semfuse
