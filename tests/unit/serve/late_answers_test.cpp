#include "serve/late_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace semfuse {
namespace {

// A client of which only what it was told is known.
class ToldExchange : public HttpExchange {
 public:
  void send(HttpAnswer answer) override { told_.set_value(std::move(answer)); }
  void begin(HttpAnswer) override {}
  void write(std::string_view) override {}
  void end(std::string_view) override {}
  void on_gone(std::function<void()> callback) override { gone_ = std::move(callback); }

  void go() { gone_(); }
  HttpAnswer answer() { return told_.get_future().get(); }

 private:
  std::promise<HttpAnswer> told_;
  std::function<void()> gone_;
};

class LateAnswersTest : public testing::Test {
 protected:
  LateAnswersTest() {
    answers_.add_task([held = held_.get_future().share()] { held.wait(); });
  }
  // What waits gets its turn, and is done.
  void let_go() {
    held_.set_value();
    while (!answers_.is_idle()) std::this_thread::yield();
  }
  std::shared_ptr<ToldExchange> asked(LateAnswers::Clock::time_point deadline) {
    auto exchange = std::make_shared<ToldExchange>();
    answers_.add(exchange, deadline, [this] {
      ++num_made_;
      return HttpAnswer{.body = "made"};
    });
    return exchange;
  }

  static constexpr auto kNever = LateAnswers::Clock::time_point::max();
  std::promise<void> held_;
  std::atomic<int> num_made_ = 0;
  LateAnswers answers_{4};
};

TEST_F(LateAnswersTest, AreMadeInTheirTurn) {
  const auto exchange = asked(kNever);
  EXPECT_FALSE(answers_.is_idle());
  let_go();
  EXPECT_EQ(exchange->answer().body, "made");
}

TEST_F(LateAnswersTest, NothingIsMadeForAClientThatHasGone) {
  const auto exchange = asked(kNever);
  exchange->go();
  let_go();
  EXPECT_EQ(num_made_, 0);
}

TEST_F(LateAnswersTest, WhatIsPastItsDeadlineIsAnsweredAtOnceAndNeverMade) {
  const auto now = LateAnswers::Clock::now();
  const auto late = asked(now);
  const auto other = asked(kNever);
  answers_.fail(now + std::chrono::seconds(1), ApiError(504, "late"));
  EXPECT_EQ(late->answer().status, 504U);
  let_go();
  EXPECT_EQ(num_made_, 1);
  EXPECT_EQ(other->answer().body, "made");
}

TEST_F(LateAnswersTest, TellWhatIsThrown) {
  const auto status_of = [&](std::function<HttpAnswer()> make) {
    const auto exchange = std::make_shared<ToldExchange>();
    answers_.add(exchange, kNever, std::move(make));
    return exchange;
  };
  const auto refused = status_of([]() -> HttpAnswer { throw Error("wrong"); });
  const auto failed = status_of([]() -> HttpAnswer { throw std::bad_alloc(); });
  let_go();
  EXPECT_EQ(refused->answer().status, 400U);
  EXPECT_EQ(failed->answer().status, 500U);
}

TEST_F(LateAnswersTest, TooManyAreRefused) {
  std::vector<std::shared_ptr<ToldExchange>> waiting;
  EXPECT_THROW(while (waiting.size() < 10) waiting.push_back(asked(kNever)), ApiError);
  EXPECT_GE(waiting.size(), 3U);
  let_go();
}

}  // namespace
}  // namespace semfuse
