// Trainings in several processes on this machine, as mpirun starts them.
#pragma once

#include <dirent.h>
#include <stdlib.h>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"

namespace semfuse {

// A test is left out where the programs were built without MPI.
#ifdef SEMFUSE_MPIEXEC
inline bool has_mpi() {
  return true;
}
inline const char* kMpirun = SEMFUSE_MPIEXEC;
#else
inline bool has_mpi() {
  return false;
}
inline const char* kMpirun = "/bin/false";
#endif
#define SKIP_WITHOUT_MPI() \
  if (!has_mpi()) GTEST_SKIP() << "semfuse is built without MPI; scripts/install-deps mpi installs it"

// The command that starts so many processes; with more of them than processors, and as root in a container.
inline Arguments in_processes(std::size_t number, const Arguments& arguments) {
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                           "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"}) {
    ::setenv(name, "1", 1);
  }
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  Arguments command = {kMpirun, "-n", std::to_string(number), SEMFUSE_BIN_DIR "/semfuse"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Lines of ours, not the launcher's.
inline std::vector<std::string> own_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("semfuse: ")) lines.push_back(line);
  }
  return lines;
}

// The process of a rank among those that train in this folder; 0 if there is none.
inline pid_t process_of_rank(const std::string& run, int rank) {
  pid_t found = 0;
  DIR* folder = ::opendir("/proc");
  while (const dirent* entry = ::readdir(folder)) {
    const std::string path = std::string("/proc/") + entry->d_name;
    const std::string command = Process::text(path + "/cmdline");
    if (command.find("bin/semfuse") == command.npos || command.find(run) == command.npos) continue;
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0';
    if (Process::text(path + "/environ").find(wanted) != std::string::npos) found = std::stoi(entry->d_name);
  }
  ::closedir(folder);
  return found;
}

}  // namespace semfuse
