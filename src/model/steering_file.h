// A steering head as a safetensors file.
#pragma once

#include <string>

#include "io/tensor_archive.h"
#include "semfuse/steering_head.h"

namespace semfuse {

// The bytes of the file. Throws Error if a number is not finite.
std::string steering_bytes(const SteeringHead& head);

// Throws Error that begins with the origin. Every number of the head is then finite; whether it fits a model is checked
// where it meets one.
SteeringHead parse_steering(const TensorArchive& archive, const std::string& origin);

}  // namespace semfuse
