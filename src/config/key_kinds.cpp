#include "config/key_kinds.h"

#include <fmt/format.h>

#include <utility>

#include "io/quoted_text.h"

namespace semfuse::keys {

Key new_key(std::string_view section, std::string_view name, std::string_view explanation) {
  return {.section = std::string(section), .name = std::string(name), .explanation = std::string(explanation)};
}

Complaint wants(std::string_view what, const Value& value) {
  return fmt::format("wants {}, got {}", what, describe(value));
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = value.as<double>()) return *number;
  if (const auto* number = value.as<std::int64_t>()) return static_cast<double>(*number);
  return std::nullopt;
}

std::string Interval::text() const {
  return fmt::format("{}{}, {}{}", open, low, high, close);
}

Key whole_number(std::string_view section, std::string_view name, std::uint64_t low, std::uint64_t high,
                 Field<std::uint64_t> field, std::string_view explanation) {
  const auto complain = [=](auto number) {
    return fmt::format("is {}; it must be a whole number from {} to {}", number, low, high);
  };
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{static_cast<std::int64_t>(read(field, experiment))}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* number = value.as<std::int64_t>();
    if (number == nullptr) return wants("a whole number", value);
    if (*number < 0) return complain(*number);
    field(experiment) = static_cast<std::uint64_t>(*number);
    return std::nullopt;
  };
  key.check = [=](const Experiment& experiment) -> Complaint {
    const auto number = read(field, experiment);
    if (number < low || number > high) return complain(number);
    return std::nullopt;
  };
  return key;
}

Key number(std::string_view section, std::string_view name, Interval interval, Field<double> field,
           std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{read(field, experiment)}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const std::optional<double> wanted = number_of(value);
    if (!wanted) return wants("a number", value);
    field(experiment) = *wanted;
    return std::nullopt;
  };
  key.check = [=](const Experiment& experiment) -> Complaint {
    const double x = read(field, experiment);
    if (!interval.contains(x)) return fmt::format("is {}; it must be in {}", x, interval.text());
    // The arithmetic is in single precision, where 0.9999999999 is 1 and 1e-60 is 0.
    const auto rounded = static_cast<float>(x);
    if (interval.rounded().contains(rounded)) return std::nullopt;
    return fmt::format("is {}, in single precision {}; it must be in {}", x, rounded, interval.text());
  };
  return key;
}

Key boolean(std::string_view section, std::string_view name, Field<bool> field, std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{read(field, experiment)}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* truth = value.as<bool>();
    if (truth == nullptr) return wants("true or false", value);
    field(experiment) = *truth;
    return std::nullopt;
  };
  key.check = [](const Experiment&) -> Complaint { return std::nullopt; };
  return key;
}

Key text(std::string_view section, std::string_view name, Field<std::string> field, std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{read(field, experiment)}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* wanted = value.as<std::string>();
    if (wanted == nullptr) return wants("a text", value);
    field(experiment) = *wanted;
    return std::nullopt;
  };
  key.check = [](const Experiment&) -> Complaint { return std::nullopt; };
  return key;
}

Key texts(std::string_view section, std::string_view name, Field<std::vector<std::string>> field,
          std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) {
    std::vector<Value> list;
    for (const std::string& item : read(field, experiment)) list.push_back({item});
    return Value{std::move(list)};
  };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* list = value.as<std::vector<Value>>();
    std::vector<std::string> wanted;
    for (const Value& item : list == nullptr ? std::vector<Value>{value} : *list) {
      const auto* one = item.as<std::string>();
      if (one == nullptr) return wants("an array of texts", item);
      wanted.push_back(*one);
    }
    field(experiment) = std::move(wanted);
    return std::nullopt;
  };
  key.check = [=](const Experiment& experiment) -> Complaint {
    for (const std::string& item : read(field, experiment)) {
      if (item.empty()) return "has an empty text; leave it out";
      if (item.find('\0') != item.npos) return fmt::format("has {}, which is no name", quoted_text(item));
    }
    return std::nullopt;
  };
  return key;
}

Key source(std::string_view section, std::string_view name, std::string_view builtin, Field<std::string> field,
           std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{read(field, experiment)}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* text = value.as<std::string>();
    if (text == nullptr) return wants(fmt::format("the name of a {} or its file", name), value);
    field(experiment) = *text;
    return std::nullopt;
  };
  key.check = [=](const Experiment& experiment) -> Complaint {
    const std::string& text = read(field, experiment);
    if (text.empty()) return fmt::format("is empty; it must be \"{}\" or the name of a file", builtin);
    // One with a zero byte is no name of a file.
    if (text.find('\0') == std::string::npos) return std::nullopt;
    return fmt::format("is {}, which is no name of a file", quoted_text(text));
  };
  return key;
}

}  // namespace semfuse::keys
