// The text of a completion as it grows: where a stop text ends it, and how much of it may be shown already.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // The bytes of one more token. False if a stop text has come: the text then ends before it, and takes no more.
  bool append(std::string_view bytes);
  // Nothing follows: all of it may be shown.
  void finish();

  // Without the stop text and what follows it.
  const std::string& text() const { return text_; }
  // What has become certain since the last call: no stop text begins in it, and no character is cut.
  std::string take();
  // Bytes that take() has given.
  std::size_t num_taken() const { return num_taken_; }

 private:
  std::vector<std::string> stops_;
  std::string text_;
  std::size_t num_taken_ = 0;
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace semfuse
