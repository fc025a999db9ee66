// A value of a configuration as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "experiment/value.h"

namespace semfuse {

nlohmann::ordered_json to_json(const Value& value);

}  // namespace semfuse
