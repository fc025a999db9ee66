// The command line of semfuse: parses, runs one command, and turns every failure into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "command.h"
#include "option_hint.h"
#include "processes.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

constexpr std::size_t kWidestHelp = 100;  // Longer lines are hard to read.
constexpr int kFailure = 2;
constexpr int kBrokenPipe = 141;  // What a shell reports of a program that SIGPIPE ended.

int fail(std::string_view message) {
  try {
    // The first of several processes says it, before a launcher ends it because another one has failed.
    if (is_follower()) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    } else {
      notify(message);
    }
  } catch (...) {  // There is nowhere left to say it; the exit code does.
  }
  return kFailure;
}

int run(int argc, char** argv, std::string& purpose) {
  const std::size_t width = std::min(Terminal(stdout).width(), kWidestHelp);
  CommandLine program("semfuse", "Trains, measures and runs small Transformer language models with readable controls.",
                      "semfuse " SEMFUSE_VERSION);
  program.footer(
      "Examples:\n"
      "  semfuse train --out run\n"
      "  semfuse train --resume run\n"
      "  semfuse generate run --n 5\n"
      "  semfuse inspect run\n"
      "  semfuse features \"Alice reviews the paper, very good!\"\n\n"
      "`semfuse COMMAND --help` explains a command.\n");
  const std::vector<Command> commands = {
      corpus_command(program),   features_command(program),  train_command(program),     inspect_command(program),
      generate_command(program), grammar_command(program),   reproduce_command(program), evaluate_command(program),
      compare_command(program),  audit_command(program),     words_command(program),     ablate_command(program),
      sweep_command(program),    log_command(program),       verify_command(program),    export_command(program),
      tagger_command(program),   tokenize_command(program),  data_command(program),      lexicon_command(program),
      judge_command(program),    calibrate_command(program), steer_command(program),     arena_command(program),
      import_command(program),   adapt_command(program),     serve_command(program),     score_command(program)};
  if (const std::optional<std::string> text = program.parse(argc, argv, width, option_hint)) {
    if (!is_follower()) Terminal(stdout).print(*text);
    return 0;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    purpose = command.purpose;
    return command.run();
  }
  if (!is_follower()) Terminal(stdout).print(program.help(width));
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
  } catch (const std::filesystem::filesystem_error& error) {
    // Where nobody expected it to fail; what() would name C++ functions.
    const std::string path = error.path1().empty() ? "a file" : semfuse::printable(error.path1().string());
    return semfuse::fail(fmt::format("{}: {}; check the path and its permissions", path, error.code().message()));
  } catch (const std::exception& error) {
    return semfuse::fail(error.what());
  }
}
