#include "serve/answer_bytes.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

class AnswerBytesTest : public testing::Test {
 protected:
  AnswerBytes answer_bytes(std::size_t most_unread = 1000) {
    return {
        {.keep = true, .chunks = true, .most_unread = most_unread}, [this] { ++num_woken_; }, [this] { ++num_cut_; }};
  }

  int num_woken_ = 0;
  int num_cut_ = 0;
};

TEST_F(AnswerBytesTest, HeadGoesOutWithTheFirstPiece) {
  AnswerBytes answer = answer_bytes();
  answer.begin({});
  EXPECT_EQ(num_woken_, 0);
  answer.write("one");
  EXPECT_EQ(num_woken_, 1);
  const std::string bytes = answer.take().bytes;
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 200 OK\r\n")) << bytes;
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n3\r\none\r\n")) << bytes;
}

TEST_F(AnswerBytesTest, PiecesWakeNobodyUntilATakeFindsNone) {
  AnswerBytes answer = answer_bytes();
  answer.begin({});
  for (int i = 0; i < 3; ++i) answer.write("a");
  EXPECT_FALSE(answer.take().bytes.empty());
  answer.write("b");
  EXPECT_EQ(num_woken_, 1);
  EXPECT_EQ(answer.take().bytes, "1\r\nb\r\n");
  EXPECT_EQ(answer.take().bytes, "");
  answer.write("c");
  EXPECT_EQ(num_woken_, 2);
}

TEST_F(AnswerBytesTest, PiecesThatWaitAreOneChunk) {
  AnswerBytes answer = answer_bytes();
  answer.begin({});
  answer.write("first");
  answer.take();
  answer.write("one ");
  answer.write("and two");
  EXPECT_EQ(answer.take().bytes, "b\r\none and two\r\n");
}

TEST_F(AnswerBytesTest, EndIsToldAtOnceWithTheLastPiece) {
  AnswerBytes answer = answer_bytes();
  answer.begin({});
  answer.write("a");
  answer.take();
  answer.end("last");
  EXPECT_EQ(num_woken_, 2);
  const AnswerBytes::Output output = answer.take();
  EXPECT_EQ(output.bytes, "4\r\nlast\r\n0\r\n\r\n");
  EXPECT_TRUE(output.last);
  answer.write("nothing follows");
  EXPECT_EQ(answer.take().bytes, "");
}

TEST_F(AnswerBytesTest, ClientThatLeavesTooMuchUnreadIsCut) {
  for (const bool at_end : {false, true}) {
    num_cut_ = 0;
    AnswerBytes answer = answer_bytes(400);
    answer.begin({});
    answer.write(std::string(200, 'a'));
    EXPECT_EQ(num_cut_, 0);
    at_end ? answer.end(std::string(300, 'b')) : answer.write(std::string(300, 'b'));
    EXPECT_EQ(num_cut_, 1);
    EXPECT_FALSE(answer.take().bytes.ends_with("0\r\n\r\n"));
  }
}

}  // namespace
}  // namespace semfuse
