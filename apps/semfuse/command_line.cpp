#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <utility>

#include "command_help.h"
#include "core/nearest_word.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// The library takes an argument in brackets for a list. One more character behind it, which no argument can hold, keeps
// it whole.
constexpr char kLiteral = '\0';

std::string without_mark(std::string argument) {
  if (argument.ends_with(kLiteral)) argument.pop_back();
  return argument;
}

// The innermost command that was given: `add` of `semfuse words add run`.
const CLI::App& given_command(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// `arguments` begin with the option.
std::string unknown_option(const CLI::App& app, std::span<const std::string> arguments, const CommandLine::Hint& hint) {
  const std::size_t equals = arguments.front().find('=');
  const std::string name = arguments.front().substr(0, equals);
  std::vector<std::string> known;
  for (const CLI::Option* candidate : app.get_options()) {
    for (const std::string& long_name : candidate->get_lnames()) known.push_back("--" + long_name);
  }
  std::string advice;
  if (std::find(known.begin(), known.end(), "--set") != known.end()) {
    const std::string value = equals != name.npos    ? arguments.front().substr(equals + 1)
                              : arguments.size() > 1 ? arguments[1]
                                                     : std::string();
    advice = hint(name, value);
  }
  if (advice.empty()) advice = did_you_mean(name, known);
  if (advice.empty()) advice = fmt::format("; see `{} --help`", full_name(app));
  return fmt::format("unknown option {}{}", quoted_text(name), advice);
}

// Why an argument is not understood, or nothing if all are.
std::string unknown_argument(const CLI::App& program, const CommandLine::Hint& hint) {
  std::vector<std::string> unknown = program.remaining(true);
  std::transform(unknown.begin(), unknown.end(), unknown.begin(), without_mark);
  std::erase(unknown, "--");  // Only ends the options.
  if (unknown.empty()) return {};
  const CLI::App& app = given_command(program);
  const auto option =
      std::find_if(unknown.begin(), unknown.end(), [](const auto& word) { return word.starts_with('-'); });
  if (option != unknown.end()) return unknown_option(app, std::span(option, unknown.end()), hint);
  const std::vector<const CLI::App*> commands = commands_of(app);
  if (commands.empty()) return fmt::format("unexpected argument {}; is a quote missing?", quoted_text(unknown.front()));
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  std::string suggestion = did_you_mean(unknown.front(), names);
  if (suggestion.empty()) suggestion = fmt::format("; commands are {}", fmt::join(names, ", "));
  return fmt::format("unknown command {}{}", quoted_text(unknown.front()), suggestion);
}

}  // namespace

CommandOption* CommandOption::required() {
  option_->required();
  return this;
}

CommandOption* CommandOption::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

CommandOption* CommandOption::choices(const std::vector<std::string>& values) {
  option_->type_name(fmt::format("{}", fmt::join(values, "|")))->check(CLI::IsMember(values).description(""));
  return this;
}

CommandOption* CommandOption::several() {
  option_->allow_extra_args(true);
  return this;
}

CommandOption* CommandOption::excludes(CommandOption* other) {
  option_->excludes(other->option_);
  return this;
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& version)
    : program_(std::make_unique<CLI::App>(description, name)), app_(program_.get()) {
  app_->set_version_flag("-v,--version", version, "Print the version");
  // Extra arguments are found by parse, before a missing option is complained of: one is often the other, misspelt.
  app_->allow_extras();
  app_->set_help_flag("-h,--help", "Print this help");
}

CommandLine::CommandLine(CLI::App* command) : app_(command) {}

CommandLine::~CommandLine() = default;

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& description) {
  return &commands_.emplace_back(app_->add_subcommand(name, description));
}

void CommandLine::require_subcommand() {
  app_->require_subcommand(1);
}

CommandOption* CommandLine::keep(CLI::Option* option) {
  if (!heading_.empty()) option->group(heading_);
  return &options_.emplace_back(option->transform(without_mark));
}

CommandOption* CommandLine::add_option(const std::string& name, std::string& value, const std::string& description) {
  return keep(app_->add_option(name, value, description));
}

CommandOption* CommandLine::add_option(const std::string& name, std::optional<std::string>& value,
                                       const std::string& description) {
  return keep(app_->add_option(name, value, description));
}

CommandOption* CommandLine::add_option(const std::string& name, std::vector<std::string>& values,
                                       const std::string& description) {
  CLI::Option* option = app_->add_option(name, values, description);
  if (name.starts_with('-')) option->allow_extra_args(false);
  return keep(option);
}

CommandOption* CommandLine::add_flag(const std::string& name, bool& value, const std::string& description) {
  return keep(app_->add_flag(name, value, description));
}

void CommandLine::footer(const std::string& text) {
  app_->footer(text);
}

std::optional<std::string> CommandLine::parse(int argc, char** argv, std::size_t width, const Hint& hint) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  for (std::string& argument : arguments) {
    if (argument.starts_with('[') && argument.ends_with(']')) argument += kLiteral;
  }
  std::reverse(arguments.begin(), arguments.end());  // The library takes them from the end.
  const auto refuse_unknown = [&] {
    if (const std::string unknown = unknown_argument(*app_, hint); !unknown.empty()) throw Error(unknown);
  };
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    if (app_->get_subcommands().empty()) refuse_unknown();
    return help_text(given_command(*app_), width);
  } catch (const CLI::CallForVersion& version) {
    return fmt::format("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    refuse_unknown();
    throw Error(fmt::format("{}; see `{} --help`", error.what(), full_name(given_command(*app_))));
  }
  refuse_unknown();
  return std::nullopt;
}

bool CommandLine::parsed() const {
  return app_->parsed();
}

std::string CommandLine::help(std::size_t width) const {
  return help_text(*app_, width);
}

}  // namespace semfuse
