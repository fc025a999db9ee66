// How the processes that train one model together hand bytes to each other. The form for one process is here; src/mpi
// has the one for many, and tests one between threads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "semfuse/error.h"

namespace semfuse {

// Another process has failed, so that this one cannot go on either.
class LostProcess : public Error {
 public:
  using Error::Error;
};

// One of the processes that take part. All of them call the same functions in the same order. Not to be shared between
// threads. Functions that hand over bytes throw LostProcess if that fails.
class Exchange {
 public:
  struct Outgoing {
    std::size_t to;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    std::size_t from;
    std::span<std::byte> bytes;
  };

  virtual ~Exchange() = default;

  virtual std::size_t rank() const = 0;  // Of this process, from 0; that one alone prints and writes.
  virtual std::size_t size() const = 0;
  // Where a process runs, for messages.
  virtual std::string host(std::size_t rank) const = 0;

  // Begins to send and to receive. The memory is not touched before wait() returns, and what is sent has to stay.
  // Between two processes messages arrive in the order in which they were begun, so sizes have to agree one by one.
  virtual void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) = 0;
  // Lets what was begun go on, if it can.
  virtual void poll() {}
  // Returns when all that was begun is done.
  void wait();

  double seconds_waited() const { return seconds_waited_; }  // In wait(), so far.

 protected:
  virtual void finish() = 0;

 private:
  double seconds_waited_ = 0.0;
};

// A process by itself.
class LocalExchange final : public Exchange {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  std::string host(std::size_t) const override { return "this machine"; }
  void start(std::span<const Outgoing>, std::span<const Incoming>) override {}

 protected:
  void finish() override {}
};

// The texts of all processes, by rank.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own);
// The largest of the numbers of all processes.
int largest(Exchange& exchange, int own);
// What rank 0 has, everywhere.
void broadcast(Exchange& exchange, std::span<std::byte> bytes);
void broadcast(Exchange& exchange, std::string& text);

}  // namespace semfuse
