// A session of generation: texts begin and end at any time, all of them written together, and knobs move while they
// are.
//
//   GenerationSession session(generator);
//   const auto ticket = session.submit({.prompt = "The food", .seed = 7}, {.on_token = show, .on_end = keep});
//   session.set_knobs(ticket, {parse_setting(knobs, "polarity=0.1")});  // From the next word on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// Texts join and leave the running batch at every token. A text depends on its request alone, and on the tokens between
// which its knobs were changed: it is the one that Generator::generate() gives, bit by bit, whatever else is written at
// the time. All functions may be called from several threads at once, and from the callbacks.
class GenerationSession {
 public:
  using Ticket = std::uint64_t;

  // What happens to a text. Called by the session's threads, for one text in order; should take little time, since all
  // texts of the thread wait. Each may be empty.
  struct Events {
    // After every token; returns false to stop the text. What it throws makes the text fail.
    std::function<bool(const GeneratedToken& token)> on_token = {};
    // Once for each text, however it ended; must not throw. Generation::error says what was wrong with the request, or
    // why the text failed.
    std::function<void(Generation generation)> on_end = {};
  };

  // How many texts there are: being written, and waiting for that.
  struct Load {
    std::size_t running = 0;
    std::size_t waiting = 0;
  };

  // With the generator's model and number of threads, each of which writes up to 64 texts at a time. The generator must
  // outlive the session.
  explicit GenerationSession(const Generator& generator);
  // Stops all texts and waits for them; on_end is told of each. Not from a callback.
  ~GenerationSession();
  GenerationSession(const GenerationSession&) = delete;
  GenerationSession& operator=(const GenerationSession&) = delete;

  // A text more. Never throws for what is wrong with a request: on_end is told.
  Ticket submit(GenerationRequest request, Events events);

  // From the text's next token on it is asked for these knobs instead of those that it was; guidance stays unless there
  // is one. The text so far is read as if it had been asked for them from the beginning. False if the text has ended.
  // Throws Error, and changes nothing, for settings that the model does not take, and if the request has a source.
  bool set_knobs(Ticket ticket, std::vector<KnobSetting> knobs, std::optional<double> guidance = std::nullopt);

  // Ends a text before its next token, as one that a callback stopped. A text that has not begun ends before the call
  // returns. False if it has ended already.
  bool cancel(Ticket ticket);

  Load load() const;
  // Waits until no text is left; texts that are submitted meanwhile count too. Not from a callback.
  void wait() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
