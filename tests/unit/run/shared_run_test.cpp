#include "run/shared_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/thread_exchange.h"

namespace semfuse {
namespace {

TEST(SharedRun, NamesTheHostWhoseDataIsAnother) {
  std::vector<std::string> refusals(3);
  on_ranks(3, [&](const std::shared_ptr<Exchange>& exchange) {
    try {
      require_alike(*exchange, {}, exchange->rank() == 2 ? "0badf00d" : "600dda7a");
    } catch (const Error& error) {
      refusals[exchange->rank()] = error.what();
    }
  });
  EXPECT_THAT(refusals,
              testing::Each("rank 2 on thread 2 has another data than rank 0 on thread 0 (0badf00d, not 600dda7a); "
                            "copy the same files to every host"));
}

}  // namespace
}  // namespace semfuse
