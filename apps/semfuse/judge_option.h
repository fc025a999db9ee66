// The option --judge: a judge's file, or a command.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "interrupt.h"
#include "judge/judge.h"

namespace semfuse {

// The judge that is named; `patience` is the text of --judge-timeout, in seconds. An interrupt ends a command that
// judges. `interrupt` must outlive it. Throws Error for an empty name, and for the judge of another knob.
std::unique_ptr<Judge> open_judge(const std::string& name, const std::optional<std::string>& patience, const Knob& knob,
                                  const InterruptGuard& interrupt);

}  // namespace semfuse
