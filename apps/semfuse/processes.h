// The processes that mpirun or srun started this program in.
#pragma once

#include <functional>
#include <memory>

#include "training/exchange.h"

namespace semfuse {

// Whether this process is one of several and not the first: then it prints nothing.
bool is_follower();

// Runs a command in all processes that were started together, each with its exchange. Returns the exit code of this
// process. Whatever goes wrong, in whichever process, is one line and ends all of them. Throws Error as the command
// does if there is one process, and if there are several and this build has no MPI.
int run_in_processes(const std::function<int(std::shared_ptr<Exchange>)>& command);

}  // namespace semfuse
