#include <fmt/format.h>

#include <memory>
#include <optional>

#include "command.h"
#include "io/json_writer.h"
#include "semfuse/checkpoint.h"
#include "settings.h"
#include "study/run_audit.h"
#include "study_progress.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct AuditFlags {
  std::string run;
  std::optional<std::string> sentences;
  std::optional<std::string> threads;
  bool json = false;
};

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

int run_audit(const AuditFlags& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  Experiment asked;
  asked.corpus.val = kAuditSentences;
  set_from_option(asked, "--sentences", "corpus.val", options.sentences);
  const Audit result =
      audit_run(checkpoint, asked.corpus.val, parse_threads(options.threads), show_progress("changing later text"));
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
  const auto options = std::make_shared<AuditFlags>();
  app->add_option("RUN", options->run, "A run folder or its model.safetensors")->required();
  app->add_option("--sentences", options->sentences,
                  fmt::format("Validation sentences to change (default: {})", kAuditSentences))
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
