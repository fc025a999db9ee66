// One text that is written token by token, each when it is asked for, so that what is asked of the model can change
// between any two.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model_handle.h"
#include "semfuse/session.h"

namespace semfuse::python {

// One consumer; set_knobs() and close() from any thread. Functions must be called without the GIL where they wait.
class TextStream {
 public:
  // Nothing is written before next() is called.
  TextStream(std::shared_ptr<ModelHandle> model, GenerationRequest request);
  ~TextStream();
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  struct Answer {
    std::optional<std::string> token;  // What the next token adds to the text.
    bool ended = false;
  };
  // Waits a little; neither token nor end if there is none yet: call it again. Throws Error if the text failed.
  Answer next();

  // From the next token on. Throws Error, and changes nothing, for settings that the model does not take.
  void set_knobs(std::vector<KnobSetting> knobs);
  void close();

  const LanguageModel& model() const { return model_->model(); }
  std::string text();  // So far, the prompt included.

 private:
  bool on_token(const GeneratedToken& token);
  void on_end(Generation generation);

  std::shared_ptr<ModelHandle> model_;
  GenerationRequest request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;  // A token was asked for and not handed out.
  bool closed_ = false;
  std::optional<std::string> ready_;  // It.
  std::optional<Generation> end_;
  std::vector<TokenId> ids_;  // So far, the prompt included.
  std::string text_;          // Theirs.
  std::optional<GenerationSession::Ticket> ticket_;
  std::unique_ptr<GenerationSession> session_;  // Last, so that its threads are gone before the rest.
};

}  // namespace semfuse::python
