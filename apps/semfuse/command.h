// The commands of the program: each adds itself to the command line and runs after it is parsed.
#pragma once

#include <functional>
#include <string>

#include "command_line.h"

namespace semfuse {

struct Command {
  CommandLine* app = nullptr;
  std::string purpose;                 // What memory is needed for: "the corpus".
  std::function<int()> run = nullptr;  // Returns the exit code; throws Error.
};

Command adapt_command(CommandLine& program);
Command corpus_command(CommandLine& program);
Command data_command(CommandLine& program);
Command calibrate_command(CommandLine& program);
Command features_command(CommandLine& program);
Command import_command(CommandLine& program);
Command judge_command(CommandLine& program);
Command lexicon_command(CommandLine& program);
Command train_command(CommandLine& program);
Command inspect_command(CommandLine& program);
Command generate_command(CommandLine& program);
Command grammar_command(CommandLine& program);
Command reproduce_command(CommandLine& program);
Command evaluate_command(CommandLine& program);
Command compare_command(CommandLine& program);
Command audit_command(CommandLine& program);
Command words_command(CommandLine& program);
Command tagger_command(CommandLine& program);
Command ablate_command(CommandLine& program);
Command sweep_command(CommandLine& program);
Command log_command(CommandLine& program);
Command verify_command(CommandLine& program);
Command export_command(CommandLine& program);
Command tokenize_command(CommandLine& program);
Command steer_command(CommandLine& program);
Command arena_command(CommandLine& program);
Command serve_command(CommandLine& program);
Command score_command(CommandLine& program);

}  // namespace semfuse
