#include "option_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "config/keys.h"
#include "terminal.h"

namespace semfuse {
namespace {

// What other programs call a setting.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kOtherNames = {{
    {"lr", "training.learning_rate"},
    {"rate", "training.learning_rate"},
    {"batch_size", "training.batch"},
    {"epoch", "training.epochs"},
    {"num_epochs", "training.epochs"},
    {"hidden", "model.width"},
    {"dim", "model.width"},
    {"num_layers", "model.layers"},
    {"num_heads", "model.heads"},
    {"train", "corpus.train"},
    {"val", "corpus.val"},
}};

std::string setting_called(const std::string& name) {
  const auto other =
      std::find_if(kOtherNames.begin(), kOtherNames.end(), [&](const auto& o) { return o.first == name; });
  if (other != kOtherNames.end()) return std::string(other->second);
  for (const Key& key : experiment_keys()) {
    if (key.name == name || key.full_name() == name) return key.full_name();
  }
  return {};
}

}  // namespace

std::string option_hint(const std::string& option, const std::string& value) {
  std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  if (name == "corpus" || name == "data" || name == "dataset") {
    return "; the corpus is drawn: its settings are --set corpus.train=N, --lexicon FILE and the like";
  }
  const std::string setting = setting_called(name);
  if (setting.empty()) return {};
  const bool has_value = !value.empty() && !value.starts_with('-');
  return fmt::format("; set it with --set {}={}", setting, has_value ? printable(value) : "VALUE");
}

}  // namespace semfuse
