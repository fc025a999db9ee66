#include "mpi/mpi_exchange.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

constexpr std::size_t kLargestMessage = std::size_t{1} << 30;  // MPI counts in int.
constexpr double kSpin = 2e-3;                                 // Seconds of a wait before it sleeps in between,
constexpr auto kSleep = std::chrono::microseconds(50);         // so long.
constexpr auto kLook = std::chrono::milliseconds(200);         // From one look at the others to the next.
constexpr std::size_t kLongestWords = 1000;
constexpr int kEndingTag = 1;  // To rank 0: the sender has said why, and ends all.

std::string text_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(error, text.data(), &size);
  return {text.data(), static_cast<std::size_t>(size)};
}

enum class Life { works, ends, ended };

// By this name of its first thread the others see that a process ends all on purpose.
constexpr const char* kEnding = "semfuse ending";

// Of a process on this machine. One that has ended stays in the list until its parent has asked for it.
Life life_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;  // "123 (name) S ..."
  if (!std::getline(file, text)) return Life::ended;
  const std::size_t name_end = text.rfind(") ");
  if (name_end != text.npos && (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X')) return Life::ended;
  return text.find(kEnding) == text.npos ? Life::works : Life::ends;
}

struct Place {
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  long pid = 0;
};

}  // namespace

struct MpiExchange::State {
  int rank = 0;
  int size = 1;
  MPI_Comm work = MPI_COMM_NULL;
  MPI_Comm words = MPI_COMM_NULL;  // For what processes say at their end.
  std::vector<Place> places;       // By rank.
  std::vector<bool> visible;       // At the start.
  std::vector<MPI_Request> requests;
  std::vector<std::size_t> partners;  // Of each request.
  std::function<void(std::size_t)> on_long_wait;

  std::thread watcher;
  std::mutex mutex;
  std::condition_variable woken;
  bool watches = true;  // Guarded by the mutex.

  void check(int code) const {
    if (code != MPI_SUCCESS) throw LostProcess("MPI failed: " + text_of(code));
  }

  bool test() {
    if (requests.empty()) return true;
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done == 0) return false;
    requests.clear();
    partners.clear();
    return true;
  }

  // On this machine, and not in a container where it cannot be seen.
  bool is_visible(std::size_t other) const {
    const Place& own = places[static_cast<std::size_t>(rank)];
    return std::strcmp(places[other].host.data(), own.host.data()) == 0 && life_of(places[other].pid) != Life::ended;
  }

  std::vector<std::size_t> all_that(Life life) const {
    std::vector<std::size_t> ranks;
    for (std::size_t other = 0; other < places.size(); ++other) {
      if (visible[other] && life_of(places[other].pid) == life) ranks.push_back(other);
    }
    return ranks;
  }

  bool is_alone(std::size_t other) const {
    return std::ranges::count_if(places, [&](const Place& place) { return place.host == places[other].host; }) == 1;
  }

  void tell_of_wait() {
    int is_ending = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kEndingTag, words, &is_ending, MPI_STATUS_IGNORE);
    if (is_ending != 0) on_long_wait = nullptr;
    for (std::size_t i = 0; on_long_wait && i < requests.size(); ++i) {
      int done = 0;
      MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
      if (done == 0 && is_alone(partners[i])) return on_long_wait(partners[i]);
    }
  }

  bool is_first_without(std::size_t lost) const {
    std::size_t first = 0;
    while (!visible[first] || first == lost) ++first;
    return first == static_cast<std::size_t>(rank);
  }

  void watch(const std::function<void(std::size_t, bool)>& on_end) {
    std::unique_lock lock(mutex);
    while (!woken.wait_for(lock, kLook, [&] { return !watches; })) {
      if (!all_that(Life::ends).empty()) return;  // That one has said why, and the launcher ends this one.
      const std::vector<std::size_t> lost = all_that(Life::ended);
      // Of several most were ended because of the one of which another process has told.
      if (!lost.empty()) return on_end(lost.front(), lost.size() == 1 && is_first_without(lost.front()));
    }
  }

  void stop_watching() {
    if (!watcher.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      watches = false;
    }
    woken.notify_all();
    watcher.join();
  }

  // Without a processor's whole time: rank 0 may have much to do before it comes here.
  void wait_for_all() const {
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(words, &request) != MPI_SUCCESS) return;
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;) {
      std::this_thread::sleep_for(kSleep);
    }
  }
};

MpiExchange::MpiExchange() : state_(std::make_unique<State>()) {
  State& s = *state_;
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    throw Error("MPI does not start; see what it said above");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.size);
  MPI_Comm_dup(MPI_COMM_WORLD, &s.work);
  MPI_Comm_dup(MPI_COMM_WORLD, &s.words);
  MPI_Comm_set_errhandler(s.work, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(s.words, MPI_ERRORS_RETURN);
  Place own;
  int length = 0;
  MPI_Get_processor_name(own.host.data(), &length);
  own.pid = ::getpid();
  s.places.resize(static_cast<std::size_t>(s.size));
  MPI_Allgather(&own, sizeof(Place), MPI_BYTE, s.places.data(), sizeof(Place), MPI_BYTE, s.work);
  for (std::size_t other = 0; other < s.places.size(); ++other) s.visible.push_back(s.is_visible(other));
}

MpiExchange::~MpiExchange() {
  // What a failure left behind.
  for (MPI_Request& request : state_->requests) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  // As long as one works the others watch; and none ends before all have stopped watching.
  state_->wait_for_all();
  state_->stop_watching();
  state_->wait_for_all();
  MPI_Comm_free(&state_->work);
  MPI_Finalize();
}

std::size_t MpiExchange::rank() const {
  return static_cast<std::size_t>(state_->rank);
}
std::size_t MpiExchange::size() const {
  return static_cast<std::size_t>(state_->size);
}
std::string MpiExchange::host(std::size_t rank) const {
  return state_->places[rank].host.data();
}

void MpiExchange::start(std::span<const Outgoing> sends, std::span<const Incoming> receives) {
  State& s = *state_;
  const auto begin = [&](std::size_t other, std::size_t size, const auto& call) {
    for (std::size_t first = 0; first < size; first += kLargestMessage) {
      s.requests.push_back(MPI_REQUEST_NULL);
      s.partners.push_back(other);
      s.check(call(first, static_cast<int>(std::min(kLargestMessage, size - first)), static_cast<int>(other),
                   &s.requests.back()));
    }
  };
  for (const Incoming& message : receives) {
    begin(message.from, message.bytes.size(), [&](std::size_t first, int count, int other, MPI_Request* request) {
      return MPI_Irecv(message.bytes.data() + first, count, MPI_BYTE, other, 0, s.work, request);
    });
  }
  for (const Outgoing& message : sends) {
    begin(message.to, message.bytes.size(), [&](std::size_t first, int count, int other, MPI_Request* request) {
      return MPI_Isend(message.bytes.data() + first, count, MPI_BYTE, other, 0, s.work, request);
    });
  }
}

void MpiExchange::poll() {
  state_->test();
}

void MpiExchange::finish() {
  const auto begin = Clock::now();
  auto next_call = begin + 2 * kLook;
  while (!state_->test()) {
    const auto now = Clock::now();
    if (duration<double>(now - begin).count() < kSpin) {
      ::sched_yield();
      continue;
    }
    std::this_thread::sleep_for(kSleep);
    if (now < next_call) continue;
    next_call = now + kLook;
    state_->tell_of_wait();
  }
}

void MpiExchange::on_long_wait(std::function<void(std::size_t awaited)> call) {
  state_->on_long_wait = std::move(call);
}

void MpiExchange::watch(std::function<void(std::size_t lost, bool speaks)> on_end) {
  state_->watcher = std::thread([this, call = std::move(on_end)] { state_->watch(call); });
}

// Both end their requests by MPI_Test, of which the checker knows nothing.
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
std::optional<std::vector<std::string>> MpiExchange::last_words(const std::string& own,
                                                                const std::function<bool(double seconds)>& is_patient) {
  State& s = *state_;
  std::array<char, kLongestWords + 1> text{};
  std::copy_n(own.begin(), std::min(own.size(), kLongestWords), text.begin());
  std::vector<char> all(static_cast<std::size_t>(s.size) * text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  const auto size = static_cast<int>(text.size());
  if (MPI_Iallgather(text.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, s.words, &request) != MPI_SUCCESS) {
    return std::nullopt;
  }
  const auto begin = Clock::now();
  for (int done = 0; done == 0;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return std::nullopt;
    if (done == 0 && !is_patient(duration<double>(Clock::now() - begin).count())) return std::nullopt;
    if (done == 0) std::this_thread::sleep_for(kSleep);
  }
  std::vector<std::string> words;
  for (std::size_t rank = 0; rank < this->size(); ++rank) words.emplace_back(all.data() + rank * text.size());
  return words;
}

void MpiExchange::abort(int exit_code) {
  ::prctl(PR_SET_NAME, kEnding);
  MPI_Request request = MPI_REQUEST_NULL;
  const char message = 0;
  if (state_->rank > 0) MPI_Isend(&message, 1, MPI_BYTE, 0, kEndingTag, state_->words, &request);
  for (const auto end = Clock::now() + 3 * kLook; Clock::now() < end;) {  // Until all have seen it.
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(kSleep);
  }
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  ::_exit(exit_code);
}
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

}  // namespace semfuse
