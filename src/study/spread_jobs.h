// Jobs that need nothing of each other, spread over the processes that were started together.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "training/exchange.h"

namespace semfuse {

// In each round every process does one job: rank r the r-th of those that are left. run(job) gives its result as a
// text, or nothing if the process was asked to stop; keep(job, result) is called in rank 0 alone, in the order of the
// jobs. Returns false if a process was asked to stop; what the others had done by then is kept. A process by itself
// does one job after the other.
bool spread_jobs(Exchange& exchange, std::size_t num_jobs,
                 const std::function<std::optional<std::string>(std::size_t job)>& run,
                 const std::function<void(std::size_t job, const std::string& result)>& keep);

}  // namespace semfuse
