// The options of `generate` that choose a method of steering.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "command_line.h"
#include "semfuse/generator.h"

namespace semfuse {

struct SteeringFlags {
  std::optional<std::string> method;
  std::optional<std::string> steer;
  std::optional<std::string> strength;
  std::optional<std::string> head;
  std::optional<std::string> knob_model;
  std::optional<std::string> expert;
  std::optional<std::string> anti;

  void add_to(CommandLine& app);

  using Generate = std::function<std::vector<Generation>(std::span<const GenerationRequest> requests)>;
  // Lets the request be steered, and says how requests like it are generated. `generator` is of `model`; both must
  // outlive what it returns. Throws Error for a part that is missing, with what to add, and for one that means nothing.
  Generate apply_to(GenerationRequest& request, const LanguageModel& model, const Generator& generator) const;
};

}  // namespace semfuse
