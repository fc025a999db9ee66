#include "semfuse/generator.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>

#include "core/thread_pool.h"
#include "generation/draft_batch.h"
#include "generation/generator_state.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

// What the rules of grammars ask a model for: read once, however many sentences use a grammar.
class RuleSettings {
 public:
  explicit RuleSettings(std::span<const Knob> knobs) : knobs_(knobs) {}

  // Valid as long as the object. Throws Error as rule_settings() does.
  std::span<const KnobSetting> of(const CompiledGrammar* grammar) {
    if (grammar == nullptr) return {};
    const std::lock_guard lock(mutex_);
    const auto found = read_.find(grammar);
    if (found != read_.end()) return found->second;
    return read_.emplace(grammar, rule_settings(grammar->grammar(), knobs_)).first->second;
  }

 private:
  std::span<const Knob> knobs_;
  std::mutex mutex_;
  std::map<const CompiledGrammar*, std::vector<KnobSetting>> read_;
};

// What a callback threw; not an Error of the sentence, whatever it is.
struct CallbackFailed {
  std::exception_ptr cause;
};

}  // namespace

TokenSurfaces token_surfaces(const LanguageModel& model) {
  return model.tokenizer() != nullptr ? TokenSurfaces::of(*model.tokenizer()) : TokenSurfaces::of(model.vocabulary());
}

Generator::Generator(const LanguageModel& model, std::size_t threads)
    : state_(std::make_unique<State>(model, thread_count(threads))) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;

Generation Generator::generate(const GenerationRequest& request, const TokenCallback& on_token) const {
  Generation generation = std::move(generate(std::span(&request, 1), on_token).front());
  if (generation.error) throw Error(*generation.error);
  return generation;
}

std::shared_ptr<const CompiledGrammar> Generator::compile(const Grammar& grammar) const {
  GeneratorParts& parts = state_->parts;
  rule_settings(grammar, parts.model.options().knobs);  // Throws if the model cannot be asked for them.
  return std::make_shared<const CompiledGrammar>(grammar, parts.grammar_vocabulary());
}

std::vector<Generation> Generator::generate(std::span<const GenerationRequest> requests,
                                            const TokenCallback& on_token) const {
  State& s = *state_;
  std::vector<Generation> results(requests.size());
  const std::size_t workers = std::clamp<std::size_t>(requests.size(), 1, s.most_workers());
  const std::size_t streams = std::min(DraftBatch::kMostTexts, (requests.size() + workers - 1) / workers);
  std::atomic<std::size_t> next = 0;
  RuleSettings rules(s.parts.model.options().knobs);

  const auto callback_of = [&on_token](std::size_t index) -> std::function<bool(const GeneratedToken&)> {
    if (!on_token) return {};
    return [&on_token, index](const GeneratedToken& token) {
      try {
        return on_token(index, token);
      } catch (...) {
        throw CallbackFailed{std::current_exception()};
      }
    };
  };

  // Each worker keeps its streams busy: where a sentence ends, the next request begins.
  const auto work = [&] {
    DraftBatch batch(s.parts,
                     [&](std::size_t index, Generation generation) { results[index] = std::move(generation); });
    while (true) {
      while (batch.size() < streams) {
        const std::size_t index = next.fetch_add(1);
        if (index >= requests.size()) break;
        std::span<const KnobSetting> settings;
        try {
          settings = rules.of(requests[index].grammar.get());
        } catch (const Error& error) {
          results[index].finish = Generation::Finish::failed;
          results[index].error = error.what();
          continue;
        }
        batch.add(index, requests[index], settings, callback_of(index));
      }
      if (batch.empty()) break;
      batch.step();
    }
    batch.give_back();
  };
  try {
    if (workers == 1) {
      work();
    } else {
      ThreadPool pool(workers);
      pool.run(workers, [&](std::size_t, std::size_t) { work(); });
    }
  } catch (const CallbackFailed& failed) {
    std::rethrow_exception(failed.cause);
  }
  return results;
}

}  // namespace semfuse
