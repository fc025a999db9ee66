// Runs a program and keeps what it printed.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/temporary_folder.h"

namespace semfuse {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal if a signal ended it, -1 if it did not end in time.
  std::string out;
  std::string err;
};

// A program that runs. Its output goes to files, so that it never waits for us.
class Process {
 public:
  // `stdout_path`: where its standard output goes instead; result().out is then empty.
  explicit Process(const std::vector<std::string>& command, const std::string& stdout_path = "") {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string out = stdout_path.empty() ? folder_ / "out" : stdout_path;
    const std::string err = folder_ / "err";
    id_ = ::fork();
    if (id_ < 0) throw std::runtime_error("cannot fork");
    if (id_ > 0) return;
    // Tests in the background of a shell or under nohup inherit ignored signals.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
    const int out_file = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int err_file = ::open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    const int in_file = ::open("/dev/null", O_RDONLY);
    ::dup2(in_file, 0);
    ::dup2(out_file, 1);
    ::dup2(err_file, 2);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Process() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const { ::kill(id_, number); }

  bool running() {
    if (id_ > 0 && ::wait4(id_, &status_, WNOHANG, &usage_) == id_) id_ = 0;
    return id_ > 0;
  }

  // What its threads have computed until now, or did in all if it has ended. Other programs do not slow this clock.
  std::chrono::microseconds processor_time() const {
    const auto sum = [](auto seconds, auto microseconds) {
      return std::chrono::seconds(seconds) + std::chrono::microseconds(microseconds);
    };
    if (id_ == 0) {
      return sum(usage_.ru_utime.tv_sec, usage_.ru_utime.tv_usec) +
             sum(usage_.ru_stime.tv_sec, usage_.ru_stime.tv_usec);
    }
    clockid_t clock = 0;
    timespec now{};
    if (::clock_getcpuclockid(id_, &clock) != 0 || ::clock_gettime(clock, &now) != 0)
      throw std::runtime_error("cannot read the process's clock");
    return sum(now.tv_sec, now.tv_nsec / 1000);
  }

  // Most memory that it had at a time. Of one that has ended.
  double peak_megabytes() const { return static_cast<double>(usage_.ru_maxrss) * 1024.0 / 1e6; }

  // Whether it waits for something other than a processor. Of one that is ready but gets none it is not true.
  bool is_asleep() const {
    const std::string stat = text("/proc/" + std::to_string(id_) + "/stat");  // "123 (name) S ..."
    const std::size_t name_end = stat.rfind(") ");
    return name_end != stat.npos && stat[name_end + 2] == 'S';
  }

  ProcessResult result(std::chrono::seconds patience = std::chrono::seconds(120)) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (running() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ProcessResult result{.out = text(folder_ / "out"), .err = text(folder_ / "err")};
    if (id_ == 0) result.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return result;
  }

  static std::string text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TemporaryFolder folder_;
  pid_t id_ = 0;
  int status_ = 0;
  rusage usage_{};
};

inline ProcessResult run_process(const std::vector<std::string>& command, const std::string& stdout_path = "") {
  return Process(command, stdout_path).result();
}

// Asks until the answer is true; false after a minute.
template <class Condition>
bool wait_until(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace semfuse
