#include "text_stream.h"

#include <chrono>
#include <utility>

#include "semfuse/error.h"

namespace semfuse::python {

TextStream::TextStream(std::shared_ptr<ModelHandle> model, GenerationRequest request)
    : model_(std::move(model)), request_(std::move(request)) {
  request_row(this->model().options().knobs, request_.knobs);  // Throws if they do not fit together.
  text_ = request_.prompt;
  if (!request_.prompt.empty()) ids_ = model_->model().encode(request_.prompt);
  session_ = std::make_unique<GenerationSession>(model_->stream_generator());
}

TextStream::~TextStream() {
  close();
}

bool TextStream::on_token(const GeneratedToken& token) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return wanted_ || closed_; });
  if (closed_) return false;
  if (token.id == Vocabulary::kEos) return true;
  ids_.push_back(token.id);
  std::string text = model_->model().decode(ids_);
  // A token may end amid a character, and words are joined as English does: what is new is what was not there.
  ready_ = text.size() > text_.size() ? text.substr(text_.size()) : std::string();
  text_ = std::move(text);
  wanted_ = false;
  changed_.notify_all();
  // The next token is chosen after this returns, so it waits here until somebody asks for it.
  changed_.wait(lock, [&] { return wanted_ || closed_; });
  return !closed_;
}

void TextStream::on_end(Generation generation) {
  const std::lock_guard lock(mutex_);
  end_ = std::move(generation);
  changed_.notify_all();
}

TextStream::Answer TextStream::next() {
  model_->model();  // Not in a fork.
  std::unique_lock lock(mutex_);
  if (closed_) return {.token = {}, .ended = true};
  wanted_ = !ready_;
  if (!ticket_) {
    GenerationSession& session = *session_;
    lock.unlock();
    const GenerationSession::Ticket ticket =
        session.submit(request_, {.on_token = [this](const GeneratedToken& token) { return on_token(token); },
                                  .on_end = [this](Generation generation) { on_end(std::move(generation)); }});
    lock.lock();
    ticket_ = ticket;
  }
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return ready_ || end_ || closed_; });
  if (ready_) return {.token = std::exchange(ready_, std::nullopt), .ended = false};
  if (end_ && end_->error) throw Error(*end_->error);
  return {.token = {}, .ended = end_.has_value() || closed_};
}

void TextStream::set_knobs(std::vector<KnobSetting> knobs) {
  request_row(model().options().knobs, knobs);  // Throws if they do not fit together.
  std::unique_lock lock(mutex_);
  request_.knobs = knobs;
  if (!ticket_) return;
  const GenerationSession::Ticket ticket = *ticket_;
  lock.unlock();
  session_->set_knobs(ticket, std::move(knobs));
}

void TextStream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::string TextStream::text() {
  const std::lock_guard lock(mutex_);
  return text_;
}

}  // namespace semfuse::python
