#include "command_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "terminal.h"

namespace semfuse {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;  // A name and what it means.

struct OptionGroup {
  std::string heading;
  Entries entries;
};

// Of all headings, in the order of their first options.
Entries& entries_under(std::vector<OptionGroup>& groups, const std::string& heading) {
  const auto found = std::ranges::find(groups, heading, &OptionGroup::heading);
  return found != groups.end() ? found->entries : groups.emplace_back(OptionGroup{heading, {}}).entries;
}

// Names in a column of their own; a name too long for it has a line of its own.
std::string section(const std::string& title, const Entries& entries, std::size_t width) {
  constexpr std::size_t kIndent = 2;
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kLongestName = 24;
  if (entries.empty()) return {};
  std::size_t longest = 0;
  for (const auto& [name, meaning] : entries) {
    if (name.size() <= kLongestName) longest = std::max(longest, name.size());
  }
  const std::size_t column = kIndent + longest + kGap;
  std::string text = fmt::format("\n{}:\n", title);
  for (const auto& [name, meaning] : entries) {
    std::string line = std::string(kIndent, ' ') + name;
    if (line.size() + kGap > column) {
      text += line + '\n';
      line.clear();
    }
    line.resize(column, ' ');
    text += line + broken(meaning, width, column, column) + '\n';
  }
  return text;
}

// At spaces outside of quotes; an option and its value stay together.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
    const bool has_value = words.back().find(' ') != std::string::npos;
    if (c == ' ' && quote == 0 && (has_value || !words.back().starts_with("--"))) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string example(const std::string& line, std::size_t width) {
  if (num_characters(line) <= width) return line + '\n';
  constexpr std::size_t kIndent = 6;
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::string text(begin, ' ');
  std::size_t column = begin;
  bool first = true;
  for (const std::string& word : shell_words(line.substr(begin))) {
    const std::size_t length = num_characters(word);
    if (!first && column + 1 + length + 2 > width) {
      text += " \\\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (!first) {
      text += ' ';
      ++column;
    }
    first = false;
    text += word;
    column += length;
  }
  return text + '\n';
}

std::string footer(const std::string& source, std::size_t width) {
  std::istringstream lines(source);
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += broken(paragraph, width) + '\n';
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with(' ')) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    text += line.empty() ? "\n" : example(line, width);
  }
  end_paragraph();
  return text;
}

}  // namespace

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : fmt::format("{} {}", full_name(*parent), app.get_name());
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string help_text(const CLI::App& app, std::size_t width) {
  Entries arguments, options, commands;
  std::vector<OptionGroup> groups;
  const std::string no_heading = app.get_help_ptr()->get_group();
  std::string usage = fmt::format("Usage: {} [OPTIONS]", full_name(app));
  for (const CLI::Option* option : app.get_options()) {
    const std::string meaning = option->get_description() + (option->get_required() ? " (required)" : "");
    if (option->get_positional()) {
      const bool several = option->get_expected_max() > 1;
      const std::string name = option->get_name() + (several ? "..." : "");
      usage += option->get_required() ? ' ' + name : fmt::format(" [{}]", name);
      arguments.emplace_back(name, option->get_description());
    } else {
      std::string name = fmt::format("{}", fmt::join(CLI::detail::split(option->get_name(false, true), ','), ", "));
      const std::string value = option->get_type_name();
      if (option->get_expected_max() > 0 && !value.empty()) name += ' ' + value;
      Entries& list = option->get_group() == no_heading ? options : entries_under(groups, option->get_group());
      list.emplace_back(name, meaning);
    }
  }
  for (const CLI::App* command : commands_of(app))
    commands.emplace_back(command->get_name(), command->get_description());
  if (!commands.empty()) usage += " COMMAND";
  std::string text = broken(app.get_description(), width) + "\n\n" + broken(usage, width, 2) + '\n';
  text += section("Commands", commands, width);
  text += section("Arguments", arguments, width);
  for (const OptionGroup& group : groups) text += section(group.heading, group.entries, width);
  text += section(groups.empty() ? "Options" : "Other options", options, width);
  if (!app.get_footer().empty()) text += '\n' + footer(app.get_footer(), width);
  return text;
}

}  // namespace semfuse
