#include "study/spread_jobs.h"

#include <gtest/gtest.h>

#include <vector>

#include "semfuse/error.h"
#include "support/thread_exchange.h"

namespace semfuse {
namespace {

using Kept = std::vector<std::string>;

TEST(SpreadJobs, EachIsDoneOnceAndKeptInOrder) {
  for (const std::size_t ranks : {1, 2, 3, 5}) {
    std::vector<int> done(7);
    Kept kept;
    on_ranks(ranks, [&](const std::shared_ptr<Exchange>& exchange) {
      EXPECT_TRUE(spread_jobs(
          *exchange, 7,
          [&](std::size_t job) {
            ++done[job];
            return std::optional("job " + std::to_string(job));
          },
          [&](std::size_t job, const std::string& result) {
            EXPECT_EQ(exchange->rank(), 0u);
            EXPECT_EQ(result, "job " + std::to_string(job));
            kept.push_back(result);
          }));
    });
    EXPECT_EQ(done, std::vector<int>(7, 1));
    EXPECT_EQ(kept, (Kept{"job 0", "job 1", "job 2", "job 3", "job 4", "job 5", "job 6"}));
  }
}

TEST(SpreadJobs, OneThatIsStoppedStopsAll) {
  Kept kept;
  on_ranks(2, [&](const std::shared_ptr<Exchange>& exchange) {
    EXPECT_FALSE(spread_jobs(
        *exchange, 9, [&](std::size_t job) { return job == 3 ? std::nullopt : std::optional(std::to_string(job)); },
        [&](std::size_t, const std::string& result) { kept.push_back(result); }));
  });
  EXPECT_EQ(kept, (Kept{"0", "1", "2"}));
}

TEST(SpreadJobs, WhereTheFirstCannotKeepTheOthersStop) {
  std::vector<int> thrown(2);
  on_ranks(2, [&](const std::shared_ptr<Exchange>& exchange) {
    try {
      spread_jobs(
          *exchange, 4, [](std::size_t) { return std::optional<std::string>("x"); },
          [](std::size_t, const std::string&) { throw Error("disk full"); });
    } catch (const LostProcess&) {
      thrown[exchange->rank()] = 2;
    } catch (const Error&) {
      thrown[exchange->rank()] = 1;
    }
  });
  EXPECT_EQ(thrown, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace semfuse
