#include "study/spread_jobs.h"

#include <algorithm>
#include <vector>

#include "run/shared_run.h"

namespace semfuse {

bool spread_jobs(Exchange& exchange, std::size_t num_jobs,
                 const std::function<std::optional<std::string>(std::size_t job)>& run,
                 const std::function<void(std::size_t job, const std::string& result)>& keep) {
  for (std::size_t first = 0; first < num_jobs; first += exchange.size()) {
    const std::size_t own = first + exchange.rank();
    const std::optional<std::string> result = own < num_jobs ? run(own) : std::nullopt;
    const bool stopped = own < num_jobs && !result;
    const std::vector<std::string> results = gather_texts(exchange, result.value_or(""));
    const bool go_on = all_go_on(exchange, [&] {
      for (std::size_t i = 0; exchange.rank() == 0 && i < results.size(); ++i) {
        if (!results[i].empty()) keep(first + i, results[i]);
      }
      return !stopped;
    });
    if (!go_on) return false;
  }
  return true;
}

}  // namespace semfuse
