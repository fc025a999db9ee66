// A text on a terminal while it is being written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "semfuse/generator.h"
#include "terminal.h"

namespace semfuse {

// Of a model with a tokenizer. Shows nothing before the first token, and only whole characters.
class LiveText {
 public:
  // Both must outlive it.
  LiveText(const LanguageModel& model, const Terminal& out, std::string_view prompt)
      : model_(model), out_(out), ids_(model.encode(prompt)) {}

  void add(const GeneratedToken& token);

  // What of the finished text has not been shown.
  std::string rest(const std::string& text) const;

 private:
  const LanguageModel& model_;
  const Terminal& out_;
  std::vector<TokenId> ids_;
  std::size_t num_shown_ = 0;  // Bytes.
};

}  // namespace semfuse
