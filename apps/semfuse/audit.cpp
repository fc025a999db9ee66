#include <fmt/format.h>

#include <memory>
#include <optional>

#include "command.h"
#include "io/json_writer.h"
#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct Options {
  std::string run;
  std::optional<std::string> sentences;
  std::optional<std::string> threads;
  bool json = false;
};

constexpr const char* kDefaultSentences = "40";

bool looks_ahead(const Audit& result) {
  return result.max_logit_change != 0.0 || !result.features_looking_ahead.empty();
}

// The first tokens of texts, each as a word.
std::vector<Sentence> beginnings(const Dataset& dataset, const Vocabulary& vocabulary, std::size_t count) {
  constexpr std::size_t kMostTokens = 16;  // Each is changed in turn, with all that follow.
  std::vector<Sentence> sentences;
  for (std::size_t text = 0; text < dataset.size() && sentences.size() < count; ++text) {
    const std::span<const TokenId> ids = dataset.ids(text);
    if (ids.front() != Vocabulary::kBos || ids.size() < 3) continue;  // A part of a text, or an empty one.
    sentences.emplace_back();
    for (std::size_t i = 1; i < ids.size() && ids[i] > Vocabulary::kEos && i <= kMostTokens; ++i)
      sentences.back().push_back(vocabulary.word(ids[i]));
  }
  return sentences;
}

std::string as_text(const Audit& result) {
  const std::string tried = fmt::format("{} sentences, {} times with other text after some position",
                                        with_separators(result.num_sentences), with_separators(result.num_changes));
  if (!looks_ahead(result)) {
    return fmt::format(
        "This model reads only the past: whatever was changed behind a position, no earlier logit changed by a single "
        "bit ({}; {} attention).",
        tried, to_string(result.attention));
  }
  std::vector<std::string> reasons;
  if (result.attention == AttentionMask::bidirectional)
    reasons.emplace_back("its attention is bidirectional, so a position reads the very word that it predicts");
  if (!result.features_looking_ahead.empty())
    reasons.push_back(
        fmt::format("its features {} change with later text", fmt::join(result.features_looking_ahead, ", ")));
  return fmt::format(
      "This model looks ahead: changing only later text changed an earlier logit by up to {:.4g}; {} ({}).",
      result.max_logit_change, reasons.empty() ? "why is unknown" : fmt::format("{}", fmt::join(reasons, ", and ")),
      tried);
}

int run_audit(const Options& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  Experiment experiment = checkpoint.experiment();
  set_from_option(experiment, "--sentences", "corpus.val", options.sentences.value_or(kDefaultSentences));
  const ExperimentData data = validation_data(experiment, checkpoint.model, parse_threads(options.threads));
  const Audit result =
      audit(checkpoint.model,
            data.val ? beginnings(*data.val, checkpoint.model.vocabulary(), experiment.corpus.val) : data.corpus.val,
            experiment.seed, parse_threads(options.threads));
  if (!options.json) {
    const Terminal terminal(stdout);
    terminal.print(terminal.flowed(as_text(result)) + '\n');
    return 0;
  }
  const Json object = {
      {"attention", to_string(result.attention)},    {"looks_ahead", looks_ahead(result)},
      {"max_logit_change", result.max_logit_change}, {"features_looking_ahead", result.features_looking_ahead},
      {"sentences", result.num_sentences},           {"changes", result.num_changes}};
  Terminal(stdout).print(object.dump() + '\n');
  return 0;
}

}  // namespace

Command audit_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("audit", "Prove or refute that a model looks ahead");
  const auto options = std::make_shared<Options>();
  app->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  app->add_option("--sentences", options->sentences,
                  fmt::format("Validation sentences to change (default: {})", kDefaultSentences))
      ->type_name("N");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print one JSON object");
  app->footer(
      "Behind every position of every sentence all later words, then all later feature rows are replaced; what the "
      "model\n"
      "says up to the position is compared bit by bit.\n\n"
      "Example:\n"
      "  semfuse audit run\n");
  return {.app = app, .purpose = "this audit", .run = [options] { return run_audit(*options); }};
}

}  // namespace semfuse
