// The processes of a training as MPI has them. The one place that knows MPI; built where it is found (SEMFUSE_MPI).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "training/exchange.h"

namespace semfuse {

// Once in a program. Calls come from the thread that made it.
class MpiExchange final : public Exchange {
 public:
  // Joins the processes that mpirun or srun started together. Throws Error if MPI does not start.
  MpiExchange();
  ~MpiExchange() override;  // Waits for the others.

  std::size_t rank() const override;
  std::size_t size() const override;
  std::string host(std::size_t rank) const override;
  void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) override;
  void poll() override;

  // What each process says at its end, by rank; nothing if not all of them do while is_patient(seconds so far). It may
  // be called whatever the others do, even while they wait for something else.
  std::optional<std::vector<std::string>> last_words(const std::string& own,
                                                     const std::function<bool(double seconds)>& is_patient);

  // From now on a thread of its own looks whether another process of this machine has ended, whatever this one does in
  // the meantime, and calls back once. `speaks`: this is the first of those that see it. Processes of other machines,
  // and of containers that cannot be seen from here, are the launcher's to watch.
  void watch(std::function<void(std::size_t lost, bool speaks)> on_end);

  // From now on a wait that lasts calls back again and again, with a process that has not sent yet and that nobody
  // watches, because it is alone on another machine.
  void on_long_wait(std::function<void(std::size_t awaited)> call);

  // Ends all processes, which is no end that watch() tells of. From the program's first thread.
  [[noreturn]] void abort(int exit_code);

 protected:
  void finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
