// The table of all configuration keys: reading, setting, printing, checking and suggesting all follow it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "semfuse/experiment.h"

namespace semfuse {

// What is wrong with a value, to be read after the key's name: "wants a whole number, got true".
using Complaint = std::optional<std::string>;

struct Key {
  std::string section;  // Empty for the top level.
  std::string name;
  std::string explanation;
  std::function<Value(const Experiment&)> get = nullptr;

  // Complains of a wrong type, and then changes nothing.
  std::function<Complaint(Experiment&, const Value&)> assign = nullptr;

  // Complains of a value out of range.
  std::function<Complaint(const Experiment&)> check = nullptr;

  // Whether the key means something: those of files do not to the synthetic corpus, nor the other way round.
  bool matters(const Experiment& experiment) const;

  // As on the command line: "model.width".
  std::string full_name() const { return section.empty() ? name : section + "." + name; }
};

// In the order in which they are printed: the top level, then section by section.
const std::vector<Key>& experiment_keys();

// nullptr if there is no such key.
const Key* find_key(std::string_view full_name);

}  // namespace semfuse
