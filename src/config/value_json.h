// A value of a configuration as JSON.
#pragma once

#include "config/value.h"
#include "io/json_writer.h"

namespace semfuse {

Json to_json(const Value& value);

}  // namespace semfuse
