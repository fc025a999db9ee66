#include "serve/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

// A client that reads everything.
class ReadExchange : public HttpExchange {
 public:
  void send(HttpAnswer answer) override { add(answer.body, true); }
  void begin(HttpAnswer) override {}
  void write(std::string_view piece) override { add(piece, false); }
  void end(std::string_view last_piece) override { add(last_piece, true); }
  void on_gone(std::function<void()>) override {}

  void wait_for_bytes() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !bytes_.empty(); });
  }
  std::string wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
    return bytes_;
  }

 private:
  void add(std::string_view bytes, bool ended) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    ended_ = ended;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  bool ended_ = false;
};

TEST(Api, TellsTextsThatTheServerEnds) {
  const TemporaryFolder folder;
  BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  spec.context = 100'000;
  save_backbone(small_backbone(spec, 3), folder / "model.safetensors");
  ModelRegistry models({folder.path()}, 1, spec.context);
  Api api(models, {});
  const auto exchange = std::make_shared<ReadExchange>();
  api.handle({.method = "POST",
              .path = "/v1/completions",
              .headers = {{"host", "localhost"}, {"content-type", "application/json"}},
              .body = R"({"prompt":[5],"seed":1,"max_tokens":90000,"logit_bias":{"2":-100},"stream":true})"},
             exchange);
  exchange->wait_for_bytes();
  api.end_completions();
  EXPECT_THAT(exchange->wait_for_end(), testing::HasSubstr("\"message\":\"the server is ending;"));
}

}  // namespace
}  // namespace semfuse
