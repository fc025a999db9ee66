#include "data/knob_proposals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/attribute_name.h"
#include "core/lower_case.h"
#include "core/number_text.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "semfuse/knobs.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostLabels = 20;
constexpr double kRareMark = 0.02;

// What a knob of the column may be called: "Star Rating" is star_rating. Every knob has another name.
std::string knob_name(std::string_view column, std::set<std::string>& taken) {
  std::string name;
  for (const char c : column.substr(0, 24)) {
    const char lower = lower_case(c);
    name += is_attribute_name(std::string_view(&lower, 1)) ? lower : '_';
  }
  if (name.empty() || name.find_first_not_of('_') == name.npos) name = "column";
  std::string free = name;
  for (int i = 2; !taken.insert(free).second; ++i) free = fmt::format("{}_{}", name, i);
  return free;
}

// Whole numbers of which each row has another, or that are called so, are rather names of the rows.
bool names_rows(const ColumnSummary& column) {
  if (!column.whole() || !column.values().empty()) return false;
  const std::string name = lower_case(column.name());
  const bool is_id = name == "id" || name.ends_with("_id") || name.ends_with(" id") || name.ends_with("index");
  return is_id || column.high() - column.low() + 1.0 == static_cast<double>(column.filled());
}

// What a probability is read from, as Knob has it: yes and no, by several names.
std::optional<bool> truth_of(std::string_view value) {
  constexpr std::array<std::string_view, 5> kYes = {"1", "true", "yes", "pos", "positive"};
  constexpr std::array<std::string_view, 5> kNo = {"0", "false", "no", "neg", "negative"};
  const std::string lower = lower_case(value);
  if (std::find(kYes.begin(), kYes.end(), lower) != kYes.end()) return true;
  if (std::find(kNo.begin(), kNo.end(), lower) != kNo.end()) return false;
  return std::nullopt;
}

// Whole numbers that stand for names, by what the column is called: what lies between two of them means nothing.
bool is_code(const ColumnSummary& column) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"label", "class", "category", "topic", "type", "genre", "intent", "domain",
                                       "cluster", "group", "source", "lang", "language"});
  const std::string name = lower_case(column.name());
  const auto ends_so = [&name](std::string_view word) {
    return name.ends_with(word) && (name.size() == word.size() || name[name.size() - word.size() - 1] == '_' ||
                                    name[name.size() - word.size() - 1] == ' ');
  };
  return column.kind() == ColumnKind::number && column.whole() && std::any_of(kNames.begin(), kNames.end(), ends_so);
}

bool can_be_parsed(const std::string& knob) {
  try {
    parse_knob(knob);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Why a declaration, where a name of several words stands in quotes and labels between commas, cannot hold the text;
// empty if it can.
std::string fault_of(std::string_view text) {
  for (const auto& [character, name] :
       {std::pair{',', "a comma"}, std::pair{'"', "a quotation mark"}, std::pair{'\\', "a backslash"}}) {
    if (text.find(character) != text.npos) return fmt::format("holds {}", name);
  }
  if (text.empty()) return "is empty";
  if (text.front() == ' ' || text.back() == ' ') return "begins or ends with a space";
  return quoted_text(text, text.size()) == fmt::format("\"{}\"", text) ? "" : "holds a control character";
}

// A number not above (direction -1) or not below (+1) the given one, with three digits of the range that it bounds.
double rounded(double number, double range, double direction) {
  const double step = std::pow(10.0, std::floor(std::log10(range)) - 2.0);
  const double result = direction < 0.0 ? std::floor(number / step) * step : std::ceil(number / step) * step;
  return number_of(fmt::format("{:.12g}", result)).value_or(std::numeric_limits<double>::quiet_NaN());
}

// The knob of one column, if its values are such as knobs have; whether it can be declared is another question.
std::optional<KnobProposal> proposal(const ColumnSummary& column, std::set<std::string>& taken) {
  const std::string source = column_source(column.name());
  const auto values = column.values();
  if (values.size() == 2) {
    const auto first = truth_of(values[0].first), second = truth_of(values[1].first);
    if (first && second && *first != *second) {
      return KnobProposal{fmt::format("{}: probability of {}", knob_name(column.name(), taken), source),
                          fmt::format("either {} or {}", values[0].first, values[1].first)};
    }
  }
  const bool code = is_code(column) && values.size() >= 2 && values.size() <= kMostLabels;
  if (column.kind() == ColumnKind::number && column.high() > column.low() && !code) {
    if (names_rows(column)) return std::nullopt;
    const double range = column.high() - column.low();
    const double low = column.whole() ? column.low() : rounded(column.low(), range, -1.0);
    const double high = column.whole() ? column.high() : rounded(column.high(), range, 1.0);
    return KnobProposal{
        fmt::format("{}: scalar of {} from {} to {}", knob_name(column.name(), taken), source, low, high),
        fmt::format("numbers from {} to {}", column.low(), column.high())};
  }
  if ((column.kind() != ColumnKind::label && !code) || values.size() < 2 || values.size() > kMostLabels)
    return std::nullopt;
  std::vector<std::string> labels;
  labels.reserve(values.size());
  for (const auto& [label, count] : values) labels.push_back(label);
  std::sort(labels.begin(), labels.end());
  return KnobProposal{
      fmt::format("{}: distribution of {} over {}", knob_name(column.name(), taken), source, fmt::join(labels, ", ")),
      fmt::format("one of {} labels", labels.size())};
}

// Why the knob of a column cannot be declared; empty if it can.
std::string fault_of(const ColumnSummary& column, const KnobProposal& proposal) {
  if (const std::string fault = fault_of(column.name()); !fault.empty()) return fmt::format("its name {}", fault);
  if (proposal.knob.find(": distribution of ") != std::string::npos) {
    for (const auto& [label, count] : column.values()) {
      if (const std::string fault = fault_of(label); !fault.empty())
        return fmt::format("its label {} {}", quoted_text(label, 30), fault);
    }
  }
  if (can_be_parsed(proposal.knob)) return "";
  if (column.kind() == ColumnKind::number)
    return fmt::format("a model cannot tell its numbers from {:g} to {:g} apart", column.low(), column.high());
  return "its name or one of its labels cannot be written in a configuration";
}

}  // namespace

std::string column_source(std::string_view column) {
  const bool plain = column.find(' ') == column.npos;
  return plain ? fmt::format("column {}", column) : fmt::format("column \"{}\"", column);
}

std::vector<ColumnFault> column_faults(const DataDescription& description) {
  std::vector<ColumnFault> faults;
  std::set<std::string> taken;
  for (const ColumnSummary& column : description.columns) {
    const auto knob = proposal(column, taken);
    const std::string fault = knob ? fault_of(column, *knob) : "";
    if (!fault.empty()) faults.push_back({column.name(), fault});
  }
  return faults;
}

std::vector<KnobProposal> propose_knobs(const DataDescription& description) {
  std::vector<KnobProposal> knobs;
  std::set<std::string> taken = {"length", "mark"};
  for (const ColumnSummary& column : description.columns) {
    std::set<std::string> with_it = taken;
    auto knob = proposal(column, with_it);
    if (!knob || !fault_of(column, *knob).empty()) continue;
    taken = std::move(with_it);
    knob->column = column.name();
    knobs.push_back(std::move(*knob));
  }
  if (description.texts == 0) return knobs;
  const std::size_t low = description.lengths.quantile(0.05), high = description.lengths.quantile(0.95);
  if (high > low) {
    knobs.push_back({fmt::format("length: scalar of length from {} to {}", low, high), "words of nine texts in ten"});
  }
  std::vector<char> marks;
  for (std::size_t m = 0; m < kFinalMarks.size(); ++m) {
    const double share = static_cast<double>(description.final_marks[m]) / static_cast<double>(description.texts);
    if (share >= kRareMark) marks.push_back(kFinalMarks[m]);
  }
  if (marks.size() >= 2) {
    knobs.push_back(
        {fmt::format("mark: distribution of final_mark over {}", fmt::join(marks, " ")), "texts end in several marks"});
  }
  return knobs;
}

}  // namespace semfuse
