// A backbone with an adapter as a LanguageModel: what is trained of it is the adapter alone.
#pragma once

#include <string>

#include "backbone/backbone_network.h"
#include "semfuse/language_model.h"

namespace semfuse {

// The options of a model with this backbone; what can be asked for is left empty.
ModelOptions options_of(const BackboneSpec& spec);

// Weights are 0 but for the backbone's. Knobs, gate and feature head are those of the options, the rest is the
// backbone's. Throws Error if the backbone cannot be read or has no tokenizer.
LanguageModel adapted_model(const BackboneFile& file, const ModelOptions& options, FeatureBank bank, std::size_t rank);

// nullptr if the model has no adapter.
const BackboneNetwork* adapted_network(const LanguageModel& model);

// The metadata `adapter` of a model file, and back. Throws Error (origin: what; what to do).
struct AdapterRecord {
  BackboneFile file;
  std::size_t rank = 0;
};
std::string to_json(const AdapterRecord& record);
AdapterRecord parse_adapter_record(const std::string& text, const std::string& origin);

}  // namespace semfuse
