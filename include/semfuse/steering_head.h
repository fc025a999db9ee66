// What was learned to steer a knob of a frozen model.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

enum class SteeringMethod {
  value,     // How probable the label is once the next token is this one, read off the model's hidden state.
  fudge,     // The same of a classifier of its own, which reads the last words and not the model's state.
  lm_steer,  // A linear map moves the hidden state before the output rows.
  pplm       // A classifier of the mean hidden state, whose gradient moves the keys and values of the past.
};

std::string_view to_string(SteeringMethod method);

// What was learned to steer one knob of one model: a few matrices. A value; save_steering() makes it a file.
struct SteeringHead {
  struct Tensor {
    std::string name;
    std::vector<std::size_t> shape;
    std::vector<float> values;  // Row-major.
  };

  SteeringMethod method = SteeringMethod::value;
  std::string knob;    // Its name.
  double share = 0.5;  // Mean label of the training texts.
  std::string model;   // steering_fingerprint() of the model; no other can be steered by it.
  std::vector<Tensor> tensors;

  const Tensor& tensor(std::string_view name) const;  // Throws Error if it is missing.
};

// Heads that turn knobs of a model instead of a request, by name of the knob.
using KnobHeads = std::map<std::string, SteeringHead>;

}  // namespace semfuse
