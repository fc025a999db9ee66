// The program's command line: commands with options, flags and positional arguments, all of them text. The library that
// parses it is seen by command_line.cpp alone, since its headers take seconds to compile; names are that library's.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace semfuse {

// One option, flag or positional argument; belongs to its CommandLine. Every function returns the option itself.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption* required();
  CommandOption* type_name(const std::string& name);               // What help calls the value: "FILE".
  CommandOption* choices(const std::vector<std::string>& values);  // Anything else is refused.
  CommandOption* several();                                        // Of a list: takes all values up to the next option.
  CommandOption* excludes(CommandOption* other);                   // Both together are refused.

 private:
  CLI::Option* option_;
};

// The whole program, or one command of it. Variables that options are bound to must live until parse returns.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  explicit CommandLine(CLI::App* command);
  CommandLine(const CommandLine&) = delete;
  ~CommandLine();

  CommandLine* add_subcommand(const std::string& name, const std::string& description);
  void require_subcommand();  // The command alone does nothing.

  // What help lists the options under that are added from here on. Those without a heading come last.
  void heading(const std::string& title) { heading_ = title; }

  // `name` is "--name", or "NAME" for a positional argument. An option bound to a list may be repeated, and takes one
  // value each time; a positional list takes all that is left.
  CommandOption* add_option(const std::string& name, std::string& value, const std::string& description);
  CommandOption* add_option(const std::string& name, std::optional<std::string>& value, const std::string& description);
  CommandOption* add_option(const std::string& name, std::vector<std::string>& values, const std::string& description);
  CommandOption* add_flag(const std::string& name, bool& value, const std::string& description);
  void footer(const std::string& text);

  // What to do instead of an unknown option, as "; set it with ..."; empty if that is not known.
  using Hint = std::function<std::string(const std::string& option, const std::string& value)>;

  // Of the whole program. Returns the text that was asked for instead of a command: help (`--help`, `help COMMAND`) in
  // lines of at most `width`, or the version. Throws Error for arguments that are not understood; `hint` is asked about
  // options of commands that have --set.
  std::optional<std::string> parse(int argc, char** argv, std::size_t width, const Hint& hint);
  bool parsed() const;  // Was this command given?
  std::string help(std::size_t width) const;

 private:
  CommandOption* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> program_;  // Empty in a command, which belongs to its program.
  CLI::App* app_;
  std::string heading_;
  std::list<CommandLine> commands_;
  std::list<CommandOption> options_;
};

}  // namespace semfuse
