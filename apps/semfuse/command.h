// The commands of the program: each adds itself to the command line and runs after it is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace semfuse {

struct Command {
  CLI::App* app = nullptr;
  std::string purpose;                 // What memory is needed for: "the corpus".
  std::function<int()> run = nullptr;  // Returns the exit code; throws Error.
};

Command corpus_command(CLI::App& program);
Command features_command(CLI::App& program);
Command train_command(CLI::App& program);
Command inspect_command(CLI::App& program);
Command generate_command(CLI::App& program);
Command grammar_command(CLI::App& program);
Command reproduce_command(CLI::App& program);
Command evaluate_command(CLI::App& program);
Command compare_command(CLI::App& program);
Command audit_command(CLI::App& program);
Command words_command(CLI::App& program);
Command ablate_command(CLI::App& program);
Command sweep_command(CLI::App& program);
Command log_command(CLI::App& program);
Command verify_command(CLI::App& program);
Command export_command(CLI::App& program);

}  // namespace semfuse
