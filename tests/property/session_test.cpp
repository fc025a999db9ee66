// Whatever else is written at the time: a text of a session is the one that its request gives alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "core/random.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/session.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

LanguageModel knob_model() {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {parse_knob("polarity: probability of polarity"),
                   parse_knob("mark: distribution of final_mark over . ! ?")};
  return random_model(options);
}

// Texts go on until their tokens end.
class NoEnd : public LogitRule {
 public:
  std::string_view name() const override { return "no end"; }
  RuleOutcome apply(const DecodingStep&, std::span<double> logits) const override {
    logits[Vocabulary::kEos] = -INFINITY;
    return {};
  }
};

// Knobs that are set after so many tokens of a text.
struct Move {
  std::size_t after = 0;
  std::vector<KnobSetting> knobs;
  std::optional<double> guidance;
};

std::vector<KnobSetting> random_knobs(RandomStream& random) {
  std::vector<KnobSetting> knobs;
  if (random.next_below(3) > 0) knobs.push_back({"polarity", {random.next_uniform()}});
  if (random.next_below(3) == 0) knobs.push_back({"mark", {0.25, 0.25, 0.5}});
  return knobs;
}

// What a text was given and what became of it.
struct Case {
  GenerationRequest request;
  std::vector<Move> moves;
  std::optional<std::size_t> stops_after;    // Its callback says so.
  std::optional<std::size_t> cancels_after;  // cancel() does.
  std::vector<TokenId> tokens;
  std::optional<Generation> generation;
};

std::string repeated(std::string_view word, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.append(i > 0 ? " " : "").append(word);
  return text;
}

Case random_case(RandomStream& random, const std::shared_ptr<const CompiledGrammar>& grammar) {
  Case c;
  c.request = {
      .max_tokens = 5 + random.next_below(20), .seed = random.next_below(100), .index = random.next_below(100)};
  if (random.next_below(3) == 0) c.request.grammar = grammar;
  if (random.next_below(4) == 0) c.request.prompt = "Alice";
  if (random.next_below(4) == 0) c.request.sampling = {.temperature = 0.7, .top_p = 0.9};
  if (random.next_below(8) == 0) c.request.explain = true;
  if (random.next_below(10) == 0) c.request.prompt = "no such words";
  if (random.next_below(10) == 0) {  // Alone it is read in other parts than together.
    const std::size_t count = 5 + random.next_below(400);
    c.request.prompt = repeated("Alice", count);
    c.request.max_tokens += count;
  }
  c.request.knobs = random_knobs(random);
  if (random.next_below(3) == 0) c.request.guidance = 2.0;
  for (std::size_t i = random.next_below(3); i > 0; --i) {
    c.moves.push_back({.after = 1 + random.next_below(8), .knobs = random_knobs(random), .guidance = std::nullopt});
    if (random.next_below(2) == 0) c.moves.back().guidance = 0.5 + random.next_uniform();
  }
  if (random.next_below(6) == 0) c.stops_after = 1 + random.next_below(6);
  if (random.next_below(6) == 0) c.cancels_after = 1 + random.next_below(6);
  return c;
}

// Submits a case; its moves are made from its own callback, so that they always fall between the same tokens.
void submit(GenerationSession& session, Case& c) {
  const auto ticket = std::make_shared<std::atomic<GenerationSession::Ticket>>(0);
  const auto on_token = [&session, &c, ticket](const GeneratedToken& token) {
    while (*ticket == 0) std::this_thread::yield();
    c.tokens.push_back(token.id);
    for (const Move& move : c.moves) {
      if (move.after == c.tokens.size()) session.set_knobs(*ticket, move.knobs, move.guidance);
    }
    if (c.cancels_after == c.tokens.size()) session.cancel(*ticket);
    return c.stops_after != c.tokens.size();
  };
  *ticket =
      session.submit(c.request, {.on_token = on_token, .on_end = [&c](Generation g) { c.generation = std::move(g); }});
}

void expect_same(const Generation& together, const Generation& alone) {
  EXPECT_EQ(together.text, alone.text);
  EXPECT_EQ(together.words, alone.words);
  EXPECT_EQ(together.finish, alone.finish);
  EXPECT_EQ(together.error, alone.error);
  EXPECT_EQ(together.unmet, alone.unmet);
  EXPECT_EQ(together.grammar, alone.grammar);
  ASSERT_EQ(together.tokens.size(), alone.tokens.size());
  for (std::size_t i = 0; i < alone.tokens.size(); ++i) {
    EXPECT_EQ(together.tokens[i].id, alone.tokens[i].id);
    EXPECT_EQ(together.tokens[i].log_probability, alone.tokens[i].log_probability);
  }
}

TEST(Session, TextsDoNotDependOnWhatElseIsWritten) {
  const LanguageModel model = knob_model();
  RandomStream random(3, RandomPurpose::corpus_val);
  std::size_t moved = 0;
  for (const std::size_t threads : {1, 2}) {
    const Generator generator(model, threads);
    const auto grammar = generator.compile(Grammar::builtin("two-clause", words_of(model.feature_bank().lexicon())));
    std::vector<Case> together(300);
    for (Case& c : together) c = random_case(random, grammar);
    std::vector<Case> alone = together;
    {
      GenerationSession session(generator);
      for (Case& c : together) {
        submit(session, c);
        // Arrivals fall at any place in the texts of others.
        if (random.next_below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.next_below(2000)));
      }
      session.wait();
      EXPECT_EQ(session.load().running + session.load().waiting, 0U);
    }
    for (std::size_t i = 0; i < alone.size(); ++i) {
      SCOPED_TRACE(i);
      GenerationSession session(generator);
      submit(session, alone[i]);
      session.wait();
      ASSERT_TRUE(together[i].generation && alone[i].generation);
      expect_same(*together[i].generation, *alone[i].generation);
      EXPECT_EQ(together[i].tokens, alone[i].tokens);
      if (!alone[i].moves.empty() || alone[i].stops_after || alone[i].cancels_after) {
        ++moved;
        continue;
      }
      const Generation usual = generator.generate(std::span(&alone[i].request, 1)).front();
      expect_same(*alone[i].generation, usual);
    }
  }
  EXPECT_GT(moved, 100U);
}

// A move takes hold at the next token: the text before it is the old one's, the next token is drawn as asked now.
TEST(Session, KnobsHoldFromTheNextTokenOn) {
  const LanguageModel model = knob_model();
  const Generator generator(model);
  const std::vector<KnobSetting> low = {{"polarity", {0.0}}};
  const std::vector<KnobSetting> high = {{"polarity", {1.0}}};
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Case c;
    c.request = {.knobs = low, .guidance = 1.0, .max_tokens = 24, .seed = seed};
    c.moves = {{.after = 3, .knobs = high, .guidance = 3.0}};
    GenerationSession session(generator);
    submit(session, c);
    session.wait();
    const Generation before = generator.generate(GenerationRequest{.knobs = low, .max_tokens = 24, .seed = seed});
    const std::vector<std::string>& words = c.generation->words;
    if (words.size() < 3) continue;  // It ended before the move.
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(words[i], before.words[i]);
    // The same words as a prompt, asked for the new setting from the beginning, give the same next token.
    std::string prompt = words[0] + " " + words[1] + " " + words[2];
    const Generation after = generator.generate(
        GenerationRequest{.prompt = prompt, .knobs = high, .guidance = 3.0, .max_tokens = 24, .seed = seed});
    EXPECT_EQ(words, after.words);
    if (words != before.words) ++changed;
  }
  EXPECT_GT(changed, 5U);
}

TEST(Session, RefusesWhatTheModelDoesNotTake) {
  const LanguageModel model = knob_model();
  const Generator generator(model);
  GenerationSession session(generator);
  EXPECT_THROW(session.set_knobs(1, {{"nothing", {1.0}}}), Error);
  EXPECT_THROW(session.set_knobs(1, {{"polarity", {2.0}}}), Error);
  EXPECT_THROW(session.set_knobs(1, {}, 100.0), Error);
  EXPECT_FALSE(session.set_knobs(1, {}));
  EXPECT_FALSE(session.cancel(1));
}

TEST(Session, WhatACallbackThrowsEndsItsTextAlone) {
  const LanguageModel model = knob_model();
  const Generator generator(model);
  std::vector<Generation> ends(2);
  {
    GenerationSession session(generator);
    session.submit({.seed = 3}, {.on_end = [](const Generation&) { throw Error("too late"); }});
    session.submit({.seed = 1}, {.on_token = [](const GeneratedToken&) -> bool { throw Error("enough"); },
                                 .on_end = [&](Generation g) { ends[0] = std::move(g); }});
    session.submit({.seed = 2}, {.on_end = [&](Generation g) { ends[1] = std::move(g); }});
    session.wait();
  }
  EXPECT_EQ(ends[0].error, "enough");
  EXPECT_EQ(ends[0].finish, Generation::Finish::failed);
  EXPECT_EQ(ends[1].text, generator.generate(GenerationRequest{.seed = 2}).text);
}

// Tokens that a text gets while another one's prompt is read.
TEST(Session, ALongPromptHoldsNobodyUp) {
  const LanguageModel model = knob_model();
  const Generator generator(model, 1);
  constexpr std::size_t kPrompt = 1500;
  const std::string prompt = repeated("Alice", kPrompt);
  std::atomic<std::size_t> num_tokens = 0;
  std::atomic<bool> submitted = false;
  std::optional<std::size_t> when_begun, at_submission;
  GenerationSession session(generator);
  const auto endless = std::make_shared<const NoEnd>();
  const auto first = [&](const GeneratedToken&) {
    ++num_tokens;
    if (!submitted.exchange(true)) {
      at_submission = num_tokens;
      session.submit({.prompt = prompt, .max_tokens = kPrompt + 1, .seed = 2}, {.on_token = [&](const GeneratedToken&) {
                       when_begun = num_tokens;
                       return true;
                     }});
    }
    return !when_begun;
  };
  session.submit({.rules = {endless}, .max_tokens = 4000, .seed = 1}, {.on_token = first});
  session.wait();
  ASSERT_TRUE(at_submission && when_begun);
  EXPECT_GT(*when_begun - *at_submission, 20U);
}

TEST(Session, ALongPromptThatIsCancelledIsNotReadToItsEnd) {
  const LanguageModel model = knob_model();
  const Generator generator(model, 1);
  std::size_t num_tokens = 0;
  std::optional<Generation> end;
  GenerationSession session(generator);
  std::optional<GenerationSession::Ticket> other;
  const auto first = [&](const GeneratedToken&) {
    if (++num_tokens == 1) {
      other = session.submit({.prompt = repeated("Alice", 1500), .max_tokens = 1600, .seed = 2},
                             {.on_token =
                                  [&](const GeneratedToken&) {
                                    ADD_FAILURE() << "the prompt was read";
                                    return true;
                                  },
                              .on_end = [&](Generation generation) { end = std::move(generation); }});
    }
    if (num_tokens == 5) session.cancel(*other);
    return !end;
  };
  session.submit({.rules = {std::make_shared<const NoEnd>()}, .max_tokens = 4000, .seed = 1}, {.on_token = first});
  session.wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->finish, Generation::Finish::stopped);
  EXPECT_LT(num_tokens, 10U);
}

// Who waits for the texts may then free what their callbacks hold.
TEST(Session, LetsGoOfCallbacksBeforeATextCountsAsEnded) {
  const LanguageModel model = knob_model();
  const Generator generator(model, 2);
  GenerationSession session(generator);
  for (std::uint64_t round = 0; round < 50; ++round) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> seen = held;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      session.submit({.max_tokens = 3, .seed = seed}, {.on_token = [held](const GeneratedToken&) { return true; },
                                                       .on_end = [held](const Generation&) {}});
    }
    held.reset();
    session.wait();
    ASSERT_TRUE(seen.expired()) << round;
  }
}

TEST(Session, ItsEndStopsEveryText) {
  const LanguageModel model = knob_model();
  const Generator generator(model);
  std::atomic<std::size_t> ended = 0;
  {
    GenerationSession session(generator);
    for (std::uint64_t i = 0; i < 200; ++i) {
      session.submit({.max_tokens = 4000, .seed = i}, {.on_end = [&](const Generation&) { ++ended; }});
    }
    EXPECT_GT(session.load().waiting, 0U);
  }
  EXPECT_EQ(ended, 200U);
}

}  // namespace
}  // namespace semfuse
