// A model that the server answers with: loaded, ready to write, and described.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "features/text_labels.h"
#include "generation/prompt_scores.h"
#include "io/json_writer.h"
#include "semfuse/checkpoint.h"
#include "semfuse/session.h"
#include "wire/completion_request.h"

namespace semfuse {

// All functions may be called from several threads at once.
class ServedModel {
 public:
  // Throws Error if there is no model at `path`. `context` is the most tokens that a text of it may have.
  ServedModel(std::string id, const std::filesystem::path& path, std::size_t threads, std::size_t context);

  const std::string& id() const { return id_; }
  const LanguageModel& model() const { return checkpoint_.model; }
  const std::vector<Knob>& knobs() const { return model().options().knobs; }
  GenerationSession& session() { return session_; }
  std::size_t context() const { return context_; }

  // The bytes that a token adds to a text; of a text that has none so far if `first`.
  const std::string& surface(TokenId id, bool first) const;

  // What GET /v1/models says of it.
  Json description() const;

  // A grammar that is built in, GBNF, or a JSON Schema; the last few are kept. May take seconds. Throws ApiError.
  std::shared_ptr<const CompiledGrammar> grammar(const CompletionRequest::Language& language);
  // Only if it is kept; else null.
  std::shared_ptr<const CompiledGrammar> known_grammar(const CompletionRequest::Language& language);
  // Not compiled. Throws Error as Grammar::parse() does.
  Grammar read_grammar(const CompletionRequest::Language& language) const;

  // How probable the tokens of a prompt are; may take long. Throws ApiError.
  std::vector<TokenScore> scores(std::span<const TokenId> ids, std::span<const KnobSetting> settings, std::size_t top);

  // What a text shows of the knobs by itself: {"length": 9, "mark": {"?": 1}}.
  Json realised(const std::string& text) const;

 private:
  std::string id_;
  Checkpoint checkpoint_;
  std::size_t context_;
  TokenSurfaces surfaces_;
  TextLabels labels_;
  Generator generator_;
  GenerationSession session_;
  std::mutex mutex_;
  std::unique_ptr<PromptScores> scores_;  // Made when it is first needed.
  // The last one used first.
  std::list<std::pair<std::string, std::shared_ptr<const CompiledGrammar>>> grammars_;
};

}  // namespace semfuse
