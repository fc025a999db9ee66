// What a person probably meant by an option that does not exist but is a setting of experiments.
#pragma once

#include <string>

namespace semfuse {

// "; set it with --set training.epochs=3" for "--epochs" and "3"; empty if no setting is called so.
std::string option_hint(const std::string& option, const std::string& value);

}  // namespace semfuse
