#include "serve/answer_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace semfuse {

namespace {

std::string_view reason_of(unsigned status) {
  static constexpr std::array<std::pair<unsigned, std::string_view>, 15> kReasons = {
      {{200, "OK"},
       {204, "No Content"},
       {400, "Bad Request"},
       {401, "Unauthorized"},
       {403, "Forbidden"},
       {404, "Not Found"},
       {405, "Method Not Allowed"},
       {413, "Payload Too Large"},
       {415, "Unsupported Media Type"},
       {429, "Too Many Requests"},
       {431, "Request Header Fields Too Large"},
       {500, "Internal Server Error"},
       {501, "Not Implemented"},
       {503, "Service Unavailable"},
       {504, "Gateway Timeout"}}};
  const auto found = std::ranges::find(kReasons, status, [](const auto& reason) { return reason.first; });
  return found == kReasons.end() ? "Unknown" : found->second;
}

}  // namespace

std::string AnswerBytes::head_of(const HttpAnswer& answer, std::optional<std::size_t> length) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  if (!answer.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", answer.content_type);
  if (answer.status == 204) {
    // Has no body, and says no length.
  } else if (length) {
    head += fmt::format("Content-Length: {}\r\n", *length);
  } else if (form_.chunks) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += form_.keep ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

void AnswerBytes::wake(std::unique_lock<std::mutex>& lock) {
  if (woken_) return;
  woken_ = true;
  const auto wake = wake_;
  lock.unlock();
  (*wake)();
}

void AnswerBytes::send(HttpAnswer answer) {
  std::unique_lock lock(mutex_);
  if (begun_ || closed_) return;
  begun_ = ended_ = true;
  on_gone_ = nullptr;
  head_ = head_of(answer, answer.body.size());
  if (!form_.is_head) head_ += answer.body;
  wake(lock);
}

void AnswerBytes::begin(HttpAnswer head) {
  std::unique_lock lock(mutex_);
  if (begun_ || closed_) return;
  begun_ = true;
  if (!form_.chunks) form_.keep = false;
  ends_in_chunk_ = form_.chunks;
  head_ = head_of(head, std::nullopt);
}

bool AnswerBytes::append(std::string_view piece) {
  if (pieces_.size() + piece.size() > form_.most_unread) return false;
  pieces_ += piece;
  return true;
}

void AnswerBytes::cut(std::unique_lock<std::mutex>& lock) {
  ended_ = true;
  ends_in_chunk_ = false;  // Nobody may take it for complete.
  const auto cut = cut_;
  lock.unlock();
  (*cut)();
}

void AnswerBytes::write(std::string_view piece) {
  std::unique_lock lock(mutex_);
  if (!begun_ || ended_ || closed_ || piece.empty()) return;
  if (!append(piece)) return cut(lock);
  wake(lock);
}

void AnswerBytes::end(std::string_view last_piece) {
  std::unique_lock lock(mutex_);
  if (!begun_ || ended_ || closed_) return;
  if (!last_piece.empty() && !append(last_piece)) return cut(lock);
  ended_ = true;
  on_gone_ = nullptr;
  woken_ = false;  // Who waits for more need wait no longer.
  wake(lock);
}

void AnswerBytes::on_gone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      on_gone_ = std::move(callback);
      return;
    }
  }
  callback();
}

bool AnswerBytes::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

AnswerBytes::Output AnswerBytes::take() {
  const std::lock_guard lock(mutex_);
  Output output{.bytes = std::exchange(head_, {}), .last = ended_, .keep = form_.keep};
  if (form_.chunks && !pieces_.empty()) {
    fmt::format_to(std::back_inserter(output.bytes), "{:x}\r\n", pieces_.size());
    output.bytes.append(pieces_).append("\r\n");
  } else {
    output.bytes += pieces_;
  }
  pieces_.clear();
  if (ended_ && std::exchange(ends_in_chunk_, false)) output.bytes += "0\r\n\r\n";
  woken_ = !output.bytes.empty();
  return output;
}

void AnswerBytes::close() {
  std::function<void()> gone;  // What it and the others hold is let go of without the lock.
  std::shared_ptr<const std::function<void()>> wake, cut;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    head_.clear();
    pieces_.clear();
    gone = std::exchange(on_gone_, nullptr);
    wake = std::exchange(wake_, nullptr);
    cut = std::exchange(cut_, nullptr);
  }
  if (gone) gone();
}

}  // namespace semfuse
