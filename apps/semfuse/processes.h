// The processes that mpirun or srun started this program in.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "training/exchange.h"

namespace semfuse {

// Whether this process is one of several and not the first: then it prints nothing.
bool is_follower();

// What to do after a process has died, for the line that says so. Called from another thread than the command.
using HowToGoOn = std::function<std::string()>;

// Runs a command in all processes that were started together, each with its exchange. Returns the exit code of this
// process: 75 if another one was lost, so that to try again may help, 2 if it may not. Whatever goes wrong, in
// whichever process, is one line and ends all of them. Throws Error as the command does if there is one process, and if
// there are several and this build has no MPI. Signals wait for an InterruptGuard of the command.
int run_in_processes(
    const std::function<int(std::shared_ptr<Exchange>)>& command,
    const HowToGoOn& how_to_go_on = [] { return std::string("the same command goes on"); });

}  // namespace semfuse
