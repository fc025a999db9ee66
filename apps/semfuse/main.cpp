// The command line of semfuse: parses, runs one command, and turns every failure into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "command.h"
#include "core/nearest_word.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

constexpr int kFailure = 2;
constexpr int kBrokenPipe = 141;  // What a shell reports of a program that SIGPIPE ended.

int fail(std::string_view message) {
  try {
    Terminal(stderr).print(fmt::format("semfuse: {}\n", printable(message)));
  } catch (...) {  // There is nowhere left to say it; the exit code does.
  }
  return kFailure;
}

// CLI11 takes an argument in brackets for a list. One more character behind it, which no argument can hold, keeps it
// whole.
constexpr char kLiteral = '\0';

std::string without_mark(std::string argument) {
  if (argument.ends_with(kLiteral)) argument.pop_back();
  return argument;
}

void parse_literally(CLI::App& program, int argc, char** argv) {
  std::vector<std::string> arguments(std::reverse_iterator(argv + argc), std::reverse_iterator(argv + 1));
  for (std::string& argument : arguments) {
    if (argument.starts_with('[') && argument.ends_with(']')) argument += kLiteral;
  }
  for (CLI::App* command : program.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) option->transform(without_mark);
  }
  program.parse(std::move(arguments));
}

// Why an argument is not understood, or nothing if all are.
std::string unknown_argument(const CLI::App& program) {
  std::vector<std::string> unknown = program.remaining(true);
  std::transform(unknown.begin(), unknown.end(), unknown.begin(), without_mark);
  std::erase(unknown, "--");  // Only ends the options.
  if (unknown.empty()) return {};
  const bool has_command = !program.get_subcommands().empty();
  const CLI::App& app = has_command ? *program.get_subcommands().front() : program;
  const auto option =
      std::find_if(unknown.begin(), unknown.end(), [](const auto& word) { return word.starts_with('-'); });
  if (option != unknown.end()) {
    const std::string name = option->substr(0, option->find('='));
    std::vector<std::string> known;
    for (const CLI::Option* candidate : app.get_options()) {
      for (const std::string& long_name : candidate->get_lnames()) known.push_back("--" + long_name);
    }
    return fmt::format("unknown option {}{}", quoted_text(name), did_you_mean(name, known));
  }
  if (has_command) return fmt::format("unexpected argument {}; is a quote missing?", quoted_text(unknown.front()));
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  std::string suggestion = did_you_mean(unknown.front(), commands);
  if (suggestion.empty()) suggestion = fmt::format("; commands are {}", fmt::join(commands, ", "));
  return fmt::format("unknown command {}{}", quoted_text(unknown.front()), suggestion);
}

int run(int argc, char** argv, std::string& purpose) {
  CLI::App program("Trains, measures and runs small Transformer language models with readable controls.", "semfuse");
  program.set_version_flag("--version", "semfuse " SEMFUSE_VERSION);
  program.footer(
      "Examples:\n"
      "  semfuse train --preset paper-fusion --out run\n"
      "  semfuse train --resume run\n"
      "  semfuse generate run --n 5\n"
      "  semfuse inspect run\n"
      "  semfuse features \"Alice reviews the paper, very good!\"\n\n"
      "`semfuse COMMAND --help` explains a command.\n");
  const std::vector<Command> commands = {
      corpus_command(program),   features_command(program), train_command(program),     inspect_command(program),
      generate_command(program), grammar_command(program),  reproduce_command(program), evaluate_command(program),
      compare_command(program),  audit_command(program),    words_command(program),     ablate_command(program),
      sweep_command(program),    log_command(program),      verify_command(program),    export_command(program)};
  // Extra arguments are found below, before a missing option is complained of: one is often the other, misspelt.
  program.allow_extras();
  for (const Command& command : commands) command.app->allow_extras();

  try {
    parse_literally(program, argc, argv);
  } catch (const CLI::CallForHelp&) {
    Terminal(stdout).print(program.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    Terminal(stdout).print(fmt::format("{}\n", version.what()));
    return 0;
  } catch (const CLI::ParseError& error) {
    if (const std::string unknown = unknown_argument(program); !unknown.empty()) throw Error(unknown);
    const auto chosen = program.get_subcommands();
    throw Error(fmt::format("{}; see `semfuse {}--help`", error.what(),
                            chosen.empty() ? "" : chosen.front()->get_name() + ' '));
  }
  if (const std::string unknown = unknown_argument(program); !unknown.empty()) throw Error(unknown);
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    purpose = command.purpose;
    return command.run();
  }
  Terminal(stdout).print(program.help());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  // A write to a closed pipe then fails like any other write, so that training can go on without a reader.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // Likewise for a file that would grow past the user's limit.
  std::string purpose = "this";
  try {
    return semfuse::run(argc, argv, purpose);
  } catch (const semfuse::BrokenPipe&) {
    return semfuse::kBrokenPipe;
  } catch (const std::bad_alloc&) {
    return semfuse::fail(fmt::format("not enough memory for {}; ask for less", purpose));
  } catch (const std::length_error&) {
    return semfuse::fail(fmt::format("not enough memory for {}; ask for less", purpose));
  } catch (const std::exception& error) {
    return semfuse::fail(error.what());
  }
}
