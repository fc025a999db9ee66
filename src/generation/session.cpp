#include "semfuse/session.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "generation/draft_batch.h"
#include "generation/generator_state.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

using Ticket = GenerationSession::Ticket;

// One text, from its submission to its end.
struct SessionText {
  Ticket ticket = 0;
  GenerationRequest request;  // Of the thread that writes it, once it has begun.
  GenerationSession::Events events;
  std::vector<KnobSetting> rules = {};
  Draft* draft = nullptr;
  std::optional<std::string> failure = {};  // Why the callback stopped it.

  struct Change {
    std::vector<KnobSetting> knobs;
    std::optional<double> guidance;
  };
  std::mutex mutex;
  std::optional<Change> change = {};  // Guarded by the mutex; the last one counts.
  std::atomic<bool> changed = false;  // There may be one.
  std::atomic<bool> cancelled = false;
};

// One of the threads: what it has to begin with, and how much it has in all.
struct SessionThread {
  std::deque<std::shared_ptr<SessionText>> inbox;
  std::deque<std::shared_ptr<SessionText>> fresh = {};  // Taken from the inbox; of the thread alone.
  std::size_t num_texts = 0;
  std::condition_variable wake;
  std::thread thread;
};

// Lets go of what the text's callbacks hold, which may be much, before it counts as ended. What a callback throws at
// the end there is nobody to tell; the text has ended all the same.
void tell_end(SessionText& text, Generation generation) {
  const GenerationSession::Events events = std::move(text.events);
  try {
    if (events.on_end) events.on_end(std::move(generation));
  } catch (const std::exception&) {
  }
}

Generation stopped_before_it_began() {
  Generation generation;
  generation.finish = Generation::Finish::stopped;
  return generation;
}

// Only the thread that writes the text calls this.
void apply_change(SessionText& text) {
  if (!text.changed.load(std::memory_order_relaxed) || !text.changed.exchange(false)) return;
  std::optional<SessionText::Change> change;
  {
    const std::lock_guard lock(text.mutex);
    change = std::exchange(text.change, std::nullopt);
  }
  if (!change) return;
  text.request.knobs = std::move(change->knobs);
  if (change->guidance) text.request.guidance = *change->guidance;
  try {
    if (text.draft != nullptr) text.draft->ask_again();
  } catch (const Error& error) {
    text.failure = error.what();
    text.cancelled = true;
  }
}

// What the draft calls after each token.
bool on_token(SessionText& text, const GeneratedToken& token) {
  if (text.cancelled) return false;
  try {
    if (text.events.on_token && !text.events.on_token(token)) return false;
  } catch (const std::exception& error) {
    text.failure = error.what();
    return false;
  }
  if (text.cancelled) return false;
  apply_change(text);
  return !text.cancelled;
}

}  // namespace

struct GenerationSession::State {
  explicit State(GeneratorParts& generator_parts, std::size_t num_threads)
      : parts(generator_parts), threads(std::max<std::size_t>(num_threads, 1)) {}

  // The loop of one thread.
  void write(SessionThread& own);
  // Writes until the session stops; throws what a pass throws.
  void write_batch(SessionThread& own, std::map<Ticket, std::shared_ptr<SessionText>>& begun);
  void begin(DraftBatch& batch, SessionText& text);
  // Forgets the text, then tells that it has ended.
  void end(SessionThread& own, SessionText& text, Generation generation);

  GeneratorParts& parts;
  mutable std::mutex mutex;  // Guards what follows.
  mutable std::condition_variable idle;
  bool stopping = false;
  Ticket last_ticket = 0;
  std::map<Ticket, std::shared_ptr<SessionText>> texts;
  std::size_t num_ending = 0;                        // Their on_end runs.
  std::deque<std::shared_ptr<SessionText>> waiting;  // For a thread that has room.
  std::vector<SessionThread> threads;
};

void GenerationSession::State::begin(DraftBatch& batch, SessionText& text) {
  apply_change(text);
  if (text.request.grammar) text.rules = rule_settings(text.request.grammar->grammar(), parts.model.options().knobs);
  text.draft = batch.add(text.ticket, text.request, text.rules,
                         [&text](const GeneratedToken& token) { return on_token(text, token); });
}

void GenerationSession::State::end(SessionThread& own, SessionText& text, Generation generation) {
  if (text.failure) {
    generation.finish = Generation::Finish::failed;
    generation.error = text.failure;
  }
  text.draft = nullptr;
  std::shared_ptr<SessionText> kept;  // The text lives until its end is told.
  {
    const std::lock_guard lock(mutex);
    const auto found = texts.find(text.ticket);
    if (found == texts.end()) return;
    kept = std::move(found->second);
    texts.erase(found);
    ++num_ending;
    --own.num_texts;
    if (!waiting.empty() && !stopping) {
      own.inbox.push_back(std::move(waiting.front()));
      waiting.pop_front();
      ++own.num_texts;
    }
  }
  tell_end(*kept, std::move(generation));
  const std::lock_guard lock(mutex);
  --num_ending;
  if (texts.empty() && num_ending == 0) idle.notify_all();
}

void GenerationSession::State::write_batch(SessionThread& own, std::map<Ticket, std::shared_ptr<SessionText>>& begun) {
  // A source that is gone could be mistaken for a new one at its place.
  std::vector<std::shared_ptr<const LogitSource>> sources;
  DraftBatch batch(parts, [&](std::size_t ticket, Generation generation) {
    const std::shared_ptr<SessionText> text = begun.at(ticket);
    end(own, *text, std::move(generation));
    begun.erase(ticket);
  });
  while (true) {
    {
      std::unique_lock lock(mutex);
      if (batch.empty()) own.wake.wait(lock, [&] { return stopping || !own.inbox.empty(); });
      if (stopping && batch.empty() && own.inbox.empty()) return;
      own.fresh.swap(own.inbox);
    }
    for (; !own.fresh.empty(); own.fresh.pop_front()) {
      const std::shared_ptr<SessionText>& text = own.fresh.front();
      if (text->cancelled) {
        end(own, *text, stopped_before_it_began());
        continue;
      }
      if (text->request.source) sources.push_back(text->request.source);
      begun.emplace(text->ticket, text);
      try {
        begin(batch, *text);
      } catch (const Error& error) {
        Generation failed;
        failed.finish = Generation::Finish::failed;
        failed.error = error.what();
        end(own, *text, std::move(failed));
        begun.erase(text->ticket);
      }
    }
    for (const auto& [ticket, text] : begun) {
      apply_change(*text);
      if (text->cancelled && text->draft != nullptr) text->draft->stop();  // It may have a long prompt to read.
    }
    batch.step();
    if (batch.empty() && !sources.empty()) {
      batch.forget_sources();
      sources.clear();
    }
  }
}

void GenerationSession::State::write(SessionThread& own) {
  while (true) {
    std::map<Ticket, std::shared_ptr<SessionText>> begun;
    try {
      write_batch(own, begun);
      return;
    } catch (const std::exception& error) {  // No Error of a text: memory, most likely. Its texts fail, no others.
      for (const std::shared_ptr<SessionText>& text : own.fresh) begun.emplace(text->ticket, text);
      own.fresh.clear();
      for (const auto& [ticket, text] : begun) {
        Generation failed;
        failed.finish = Generation::Finish::failed;
        failed.error = error.what();
        end(own, *text, std::move(failed));
      }
    }
  }
}

GenerationSession::GenerationSession(const Generator& generator)
    : state_(std::make_unique<State>(generator.state_->parts, generator.state_->most_workers())) {
  for (SessionThread& each : state_->threads) {
    each.thread = std::thread([state = state_.get(), &each] { state->write(each); });
  }
}

GenerationSession::~GenerationSession() {
  std::deque<std::shared_ptr<SessionText>> never_begun;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    never_begun.swap(state_->waiting);
    for (const auto& [ticket, text] : state_->texts) text->cancelled = true;
    for (const std::shared_ptr<SessionText>& text : never_begun) state_->texts.erase(text->ticket);
    for (SessionThread& each : state_->threads) each.wake.notify_all();
  }
  for (const std::shared_ptr<SessionText>& text : never_begun) tell_end(*text, stopped_before_it_began());
  for (SessionThread& each : state_->threads) each.thread.join();
}

GenerationSession::Ticket GenerationSession::submit(GenerationRequest request, Events events) {
  auto text = std::make_shared<SessionText>();
  text->request = std::move(request);
  text->events = std::move(events);
  const std::lock_guard lock(state_->mutex);
  const Ticket ticket = text->ticket = ++state_->last_ticket;
  state_->texts.emplace(ticket, text);
  const auto own = std::ranges::min_element(state_->threads, {}, &SessionThread::num_texts);
  if (own->num_texts >= DraftBatch::kMostTexts) {
    state_->waiting.push_back(std::move(text));
    return ticket;
  }
  ++own->num_texts;
  own->inbox.push_back(std::move(text));
  own->wake.notify_one();
  return ticket;
}

bool GenerationSession::set_knobs(Ticket ticket, std::vector<KnobSetting> knobs, std::optional<double> guidance) {
  const std::vector<Knob>& known = state_->parts.model.options().knobs;
  request_row(known, knobs);  // Throws for what they do not take.
  check_request({.guidance = guidance.value_or(1.0)}, known);
  std::shared_ptr<SessionText> text;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->texts.find(ticket);
    if (found == state_->texts.end()) return false;
    text = found->second;
  }
  if (text->request.source) throw Error("knobs of a text that another method steers stay as they are; submit it again");
  const std::lock_guard lock(text->mutex);
  if (!guidance && text->change) guidance = text->change->guidance;
  text->change = SessionText::Change{.knobs = std::move(knobs), .guidance = guidance};
  text->changed = true;
  return true;
}

bool GenerationSession::cancel(Ticket ticket) {
  std::shared_ptr<SessionText> text;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->texts.find(ticket);
    if (found == state_->texts.end()) return false;
    text = found->second;
    text->cancelled = true;
    const auto queued = std::ranges::find(state_->waiting, text);
    if (queued == state_->waiting.end()) return true;
    state_->waiting.erase(queued);
    state_->texts.erase(found);
    ++state_->num_ending;
  }
  tell_end(*text, stopped_before_it_began());
  const std::lock_guard lock(state_->mutex);
  --state_->num_ending;
  if (state_->texts.empty() && state_->num_ending == 0) state_->idle.notify_all();
  return true;
}

GenerationSession::Load GenerationSession::load() const {
  const std::lock_guard lock(state_->mutex);
  return {.running = state_->texts.size() - state_->waiting.size(), .waiting = state_->waiting.size()};
}

void GenerationSession::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [&] { return state_->texts.empty() && state_->num_ending == 0; });
}

}  // namespace semfuse
