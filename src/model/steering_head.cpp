#include <fmt/format.h>

#include <algorithm>

#include "io/checksum.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"

namespace semfuse {

std::string_view to_string(SteeringMethod method) {
  switch (method) {
    case SteeringMethod::value:
      return "value";
    case SteeringMethod::fudge:
      return "fudge";
    case SteeringMethod::lm_steer:
      return "lm-steer";
    case SteeringMethod::pplm:
      return "pplm";
  }
  return "?";
}

const SteeringHead::Tensor& SteeringHead::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  if (found == tensors.end()) throw Error(fmt::format("the head has no tensor {}; train it again", name));
  return *found;
}

std::string steering_fingerprint(const LanguageModel& model) {
  Crc32 tokens;
  for (const std::string& entry : model.vocabulary().entries()) tokens.add(entry + '\n');
  Crc32 weights;
  const PretrainedNetwork* network = ModelAccess::pretrained(model);
  if (network != nullptr) weights.add(network->fingerprint());
  const bool has_own = network == nullptr || network->layout() != nullptr;
  for (const NamedParameter& parameter : has_own ? model.parameters() : std::vector<NamedParameter>()) {
    weights.add({reinterpret_cast<const char*>(parameter.values.data()), parameter.values.size_bytes()});
  }
  return fmt::format("{:08x}{:08x}", tokens.value(), weights.value());
}

}  // namespace semfuse
