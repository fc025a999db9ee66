// Measures `semfuse serve` over loopback: streams against the library alone, the time to a first token, memory.
// bench/run calls it. Processor time stands beside the clock, since the clients run on the same machine.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "semfuse/checkpoint.h"
#include "semfuse/generator.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The server as a process of its own.
class Server {
 public:
  Server(const std::string& program, const std::string& run, std::size_t threads) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
    const std::string count = std::to_string(threads);
    id_ = ::fork();
    if (id_ == 0) {
      ::dup2(ends[1], 1);
      ::close(ends[0]);
      ::execl(program.c_str(), "semfuse", "serve", run.c_str(), "--port", "0", "--threads", count.c_str(),
              "--max-requests", "1024", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string line;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(ends[0]);
    const std::size_t colon = line.rfind(':');
    if (colon == line.npos) throw std::runtime_error("the server did not start");
    port_ = static_cast<std::uint16_t>(std::stoul(line.substr(colon + 1)));
    ::clock_getcpuclockid(id_, &clock_);
  }
  ~Server() {
    ::kill(id_, SIGTERM);
    ::waitpid(id_, nullptr, 0);
  }
  double processor_time() const { return processor_seconds(clock_); }
  double megabytes() const {
    std::ifstream status(fmt::format("/proc/{}/status", id_));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024.0 / 1e6;
    }
    return 0.0;
  }
  int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }

 private:
  pid_t id_;
  std::uint16_t port_ = 0;
  clockid_t clock_{};
};

// A client that asks for one streamed text after the other on one connection.
struct Client {
  int socket = -1;
  Clock::time_point began;
  bool has_first = false;
  std::string line;  // That came in part.
  std::string tail;  // The last bytes that came.

  void ask(std::uint64_t seed, std::size_t max_tokens, bool stream) {
    const std::string body = fmt::format(R"({{"seed":{},"max_tokens":{},"stream":{}}})", seed, max_tokens, stream);
    const std::string request = fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        "{}\r\n\r\n{}",
        body.size(), body);
    began = Clock::now();
    has_first = false;
    line.clear();
    tail.clear();
    if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      throw std::runtime_error("cannot send");
    }
  }
};

constexpr std::string_view kEvent = "data: {";
constexpr std::size_t kTail = 5;

// Reads the lines of what came; the number of those that are events. Looks at each byte once and copies none but those
// of lines that are cut: clients share the processors and should take little.
std::size_t read_lines(Client& client, std::string_view part) {
  client.tail += part.substr(part.size() - std::min(part.size(), kTail));
  client.tail.erase(0, client.tail.size() - std::min(client.tail.size(), kTail));
  std::size_t events = 0;
  for (std::size_t end = part.find('\n'); end != part.npos; end = part.find('\n')) {
    std::string_view line = part.substr(0, end);
    if (!client.line.empty()) line = client.line += line;
    if (line.starts_with(kEvent)) ++events;
    client.line.clear();
    part.remove_prefix(end + 1);
  }
  client.line += part;
  return events;
}

struct Load {
  double tokens = 0.0;
  double requests = 0.0;
  double seconds = 0.0;
  double server_seconds = 0.0;  // Of processor.
  double client_seconds = 0.0;
  std::vector<double> first_tokens;
};

// So many clients at a time until so many requests are answered.
Load load(const Server& server, std::size_t num_clients, std::size_t num_requests, std::size_t max_tokens,
          bool stream) {
  std::vector<Client> clients(num_clients);
  std::vector<epoll_event> events(num_clients);
  const int epoll = ::epoll_create1(0);  // Clients share the processors: they should take little.
  std::uint64_t next = 1;
  Load result;
  for (Client& client : clients) {
    client.socket = server.connect();
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &client}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, client.socket, &wanted);
  }
  const double before = server.processor_time();
  const double own_before = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto began = Clock::now();
  for (Client& client : clients) client.ask(next++, max_tokens, stream);
  std::size_t left = num_clients;
  std::string buffer(1 << 16, '\0');
  const std::string end = stream ? "0\r\n\r\n" : "}}";
  while (left > 0) {
    const int num_ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < num_ready; ++i) {
      Client& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
      const ssize_t size = ::recv(client.socket, buffer.data(), buffer.size(), 0);
      if (size <= 0) throw std::runtime_error("the server closed a connection");
      const std::string_view part(buffer.data(), static_cast<std::size_t>(size));
      const std::size_t tokens = read_lines(client, part);
      if (tokens > 0 && !client.has_first) {
        client.has_first = true;
        result.first_tokens.push_back(seconds_since(client.began));
      }
      result.tokens += static_cast<double>(tokens);
      if (!std::string_view(client.tail).ends_with(end)) continue;
      result.requests += 1.0;
      if (next <= num_requests) {
        client.ask(next++, max_tokens, stream);
      } else {
        --left;
      }
    }
  }
  result.seconds = seconds_since(began);
  result.server_seconds = server.processor_time() - before;
  result.client_seconds = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - own_before;
  ::close(epoll);
  for (const Client& client : clients) ::close(client.socket);
  return result;
}

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values.empty() ? 0.0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// Tokens and how fast they came, of each turn.
struct Speeds {
  double tokens = 0.0;
  std::vector<double> per_second;
  std::vector<double> per_processor_second;

  void add(double count, double seconds, double processor) {
    tokens = count;
    per_second.push_back(count / seconds);
    per_processor_second.push_back(count / processor);
  }
  json medians() const {
    return {{"tokens", tokens},
            {"tokens_per_second", percentile(per_second, 0.5)},
            {"tokens_per_processor_second", percentile(per_processor_second, 0.5)}};
  }
};

// The same texts by the library.
void alone(const Generator& generator, std::span<const GenerationRequest> requests, Speeds& speeds) {
  const double before = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto began = Clock::now();
  double tokens = 0.0;
  for (const Generation& each : generator.generate(requests)) tokens += static_cast<double>(each.words.size());
  const double seconds = seconds_since(began);
  speeds.add(tokens, seconds, processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - before);
}

int run(int argc, char** argv) {
  CLI::App app{"Measures `semfuse serve` over loopback; prints JSON."};
  std::string path, program;
  std::size_t threads = 2, streams = 64, num_requests = 4000, many = 20'000, max_tokens = 26, turns = 5;
  app.add_option("RUN", path, "A run folder")->required();
  app.add_option("PROGRAM", program, "The program semfuse")->required();
  app.add_option("--threads", threads, "That write texts");
  app.add_option("--streams", streams, "Clients at a time");
  app.add_option("--requests", num_requests, "Streamed in a turn");
  app.add_option("--turns", turns, "Of library and server, whose medians count");
  app.add_option("--many", many, "Requests that memory is watched over");
  CLI11_PARSE(app, argc, argv);

  json result;
  const Checkpoint checkpoint = load_checkpoint(path);
  const Generator generator(checkpoint.model, threads);
  std::vector<GenerationRequest> requests(num_requests);
  for (std::size_t i = 0; i < num_requests; ++i) {
    requests[i].seed = i + 1;
    requests[i].max_tokens = max_tokens;
  }
  const Server server(program, path, threads);
  result["megabytes_at_start"] = server.megabytes();
  generator.generate(std::span(requests).first(std::min<std::size_t>(num_requests, 128)));  // Warms up, as the next.
  load(server, streams, 2 * streams, max_tokens, true);
  // In turns, as a machine is not as fast at one time as at another.
  Speeds library, served;
  std::vector<double> first_tokens, client_shares;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    alone(generator, requests, library);
    const Load streamed = load(server, streams, num_requests, max_tokens, true);
    // The last event of a text is no token.
    served.add(streamed.tokens - streamed.requests, streamed.seconds, streamed.server_seconds);
    if (served.tokens != library.tokens) throw std::runtime_error("the server wrote other texts than the library");
    client_shares.push_back(streamed.client_seconds / (streamed.client_seconds + streamed.server_seconds));
    first_tokens.insert(first_tokens.end(), streamed.first_tokens.begin(), streamed.first_tokens.end());
  }
  result["library"] = library.medians();
  result["streams"] = served.medians();
  result["streams"]["client_share"] = percentile(client_shares, 0.5);
  result["streams"]["first_token_ms_median"] = 1e3 * percentile(first_tokens, 0.5);
  result["streams"]["first_token_ms_p99"] = 1e3 * percentile(first_tokens, 0.99);
  {
    const double before = server.megabytes();
    std::vector<int> idle;
    for (int i = 0; i < 1000; ++i) idle.push_back(server.connect());
    Client probe{.socket = server.connect()};
    std::string buffer(1 << 16, '\0');
    for (const int socket : idle) {  // Each has been answered once and is kept open.
      const std::string_view request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
      if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("cannot send");
      if (::recv(socket, buffer.data(), buffer.size(), 0) <= 0) throw std::runtime_error("no answer");
    }
    result["idle_1000_megabytes"] = server.megabytes() - before;
    for (const int socket : idle) ::close(socket);
    ::close(probe.socket);
  }
  json memory = json::array();
  for (int part = 0; part < 5; ++part) {
    load(server, streams, many / 5, 4, false);
    memory.push_back(server.megabytes());
  }
  result["requests_watched"] = many;
  result["megabytes_over_them"] = memory;
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace semfuse

int main(int argc, char** argv) {
  try {
    return semfuse::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_serving: {}\n", error.what());
    return 1;
  }
}
