// Kinds of configuration keys by what their values are: how one is read, set, printed and checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/keys.h"
#include "core/nearest_word.h"

namespace semfuse::keys {

// Where a field of an experiment is. A plain function, so that what is done with fields of one type is compiled once,
// not once a key.
template <typename T>
using Field = T& (*)(Experiment&);

template <typename T>
const T& read(Field<T> field, const Experiment& experiment) {
  return field(const_cast<Experiment&>(experiment));  // Nothing is written through it.
}

Key new_key(std::string_view section, std::string_view name, std::string_view explanation);
Complaint wants(std::string_view what, const Value& value);
// An integer counts as a number too.
std::optional<double> number_of(const Value& value);

// An interval, with its ends or without.
struct Interval {
  char open;  // '[' or '('.
  double low;
  double high;
  char close;  // ']' or ')'.

  // False for NaN.
  bool contains(double x) const { return (open == '[' ? x >= low : x > low) && (close == ']' ? x <= high : x < high); }
  // With ends as single precision has them.
  Interval rounded() const { return {open, static_cast<float>(low), static_cast<float>(high), close}; }
  std::string text() const;
};

Key whole_number(std::string_view section, std::string_view name, std::uint64_t low, std::uint64_t high,
                 Field<std::uint64_t> field, std::string_view explanation);
Key number(std::string_view section, std::string_view name, Interval interval, Field<double> field,
           std::string_view explanation);
Key boolean(std::string_view section, std::string_view name, Field<bool> field, std::string_view explanation);
Key text(std::string_view section, std::string_view name, Field<std::string> field, std::string_view explanation);
// A single text is a list of one.
Key texts(std::string_view section, std::string_view name, Field<std::vector<std::string>> field,
          std::string_view explanation);
// Something built in by its name, `builtin` for one, or a file of it.
Key source(std::string_view section, std::string_view name, std::string_view builtin, Field<std::string> field,
           std::string_view explanation);

// One of a few named values.
template <typename T, std::size_t size>
Key choice(std::string_view section, std::string_view name, std::array<T, size> choices,
           std::type_identity_t<Field<T>> field, std::string_view explanation) {
  Key key = new_key(section, name, explanation);
  key.get = [=](const Experiment& experiment) { return Value{std::string(to_string(read(field, experiment)))}; };
  key.assign = [=](Experiment& experiment, const Value& value) -> Complaint {
    const auto* text = value.as<std::string>();
    std::vector<std::string> names;
    std::string wanted;
    for (std::size_t i = 0; i < size; ++i) {
      names.emplace_back(to_string(choices[i]));
      if (text != nullptr && *text == names.back()) {
        field(experiment) = choices[i];
        return std::nullopt;
      }
      wanted += (i == 0 ? "\"" : i + 1 < size ? ", \"" : " or \"") + names.back() + "\"";
    }
    return *wants(wanted, value) + (text == nullptr ? "" : did_you_mean(*text, names));
  };
  key.check = [](const Experiment&) -> Complaint { return std::nullopt; };
  return key;
}

}  // namespace semfuse::keys
