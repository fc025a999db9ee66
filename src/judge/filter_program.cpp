#include "judge/filter_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "semfuse/error.h"

extern char** environ;

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

std::array<Descriptor, 2> make_pipe(const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(fmt::format("{}: cannot be started: {}; try again later", name, std::strerror(errno)));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A program that stops reading must be no end of ours: SIGPIPE is held back in this thread, and taken away if it came.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
};

// The program with all that it starts: a group of processes, which ends with this object.
class Running {
 public:
  Running(const std::string& command, int in, int out, const std::string& name) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t usual, none;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGXFSZ}) ::sigaddset(&usual, number);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const char* arguments[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    const int code =
        ::posix_spawn(&id_, "/bin/sh", &actions, &attributes, const_cast<char* const*>(arguments), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (code != 0) {
      id_ = -1;
      throw Error(fmt::format("{}: cannot be started: {}; try again later", name, std::strerror(code)));
    }
  }
  ~Running() {
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // True when it has ended; `status` is then as waitpid() has it.
  bool ended(int& status) {
    if (::waitpid(id_, &status, WNOHANG) != id_) return false;
    ::kill(-std::exchange(id_, -1), SIGKILL);  // What it has left behind.
    return true;
  }

 private:
  pid_t id_ = -1;
};

}  // namespace

std::string run_filter(const std::string& command, std::string_view input, const FilterOptions& options) {
  constexpr int kPollMilliseconds = 100;
  const NoBrokenPipe no_broken_pipe;
  auto [program_in, to_program] = make_pipe(options.name);
  auto [from_program, program_out] = make_pipe(options.name);
  ::fcntl(to_program.get(), F_SETFL, O_NONBLOCK);
  Running program(command, program_in.get(), program_out.get(), options.name);
  program_in.close();
  program_out.close();
  if (input.empty()) to_program.close();
  const Clock::time_point deadline = Clock::now() + options.patience;
  const auto check = [&] {
    if (options.go_on && !options.go_on()) throw Error(fmt::format("{}: was stopped", options.name));
    if (Clock::now() < deadline) return;
    throw Error(fmt::format("{}: has not ended after {:.4g} s; mend it, or give it more time (--judge-timeout)",
                            options.name, std::chrono::duration<double>(options.patience).count()));
  };
  std::string output;
  for (bool is_open = true; is_open;) {
    check();
    std::array<pollfd, 2> waiting = {pollfd{from_program.get(), POLLIN, 0}, pollfd{to_program.get(), POLLOUT, 0}};
    if (::poll(waiting.data(), waiting.size(), kPollMilliseconds) <= 0) continue;
    if (waiting[1].revents != 0) {
      const ssize_t written = ::write(to_program.get(), input.data(), input.size());
      if (written > 0) input.remove_prefix(static_cast<std::size_t>(written));
      // It may need no more of its input; whether it did its work, its output says.
      if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) to_program.close();
    }
    if (waiting[0].revents == 0) continue;
    std::array<char, 65536> bytes;
    const ssize_t size = ::read(from_program.get(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    is_open = size > 0;
    if (is_open) output.append(bytes.data(), static_cast<std::size_t>(size));
    if (output.size() > options.most_output) {
      throw Error(
          fmt::format("{}: writes more than numbers for its texts; it must write one line for each", options.name));
    }
  }
  to_program.close();
  int status = 0;
  while (!program.ended(status)) {
    check();
    const timespec moment{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&moment, nullptr);
  }
  if (WIFSIGNALED(status)) {
    throw Error(fmt::format("{}: was ended by signal {}; see what it says", options.name, WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    throw Error(fmt::format("{}: failed with exit code {}; see what it says", options.name, WEXITSTATUS(status)));
  }
  return output;
}

}  // namespace semfuse
