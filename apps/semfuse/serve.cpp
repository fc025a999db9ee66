#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "command.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "semfuse/error.h"
#include "serve/server.h"
#include "settings.h"
#include "terminal.h"

namespace semfuse {
namespace {

constexpr std::chrono::seconds kPatience(9);  // For what is under way when the server is to end.
constexpr std::chrono::seconds kFarewell(1);  // For clients to read that it ended.

struct ServeFlags {
  std::vector<std::string> models;
  std::optional<std::string> port;
  std::string host = "127.0.0.1";
  std::optional<std::string> threads;
  std::optional<std::string> key_file;
  bool no_key = false;
  std::optional<std::string> max_requests;
  std::optional<std::string> max_tokens;
  std::optional<std::string> timeout;
  std::vector<std::string> cors;
  bool json_log = false;
};

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "::1";
}

void log_line(const ApiOptions::Record& record) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const Json json = {{"time", now},         {"client", record.client}, {"method", record.method},
                     {"path", record.path}, {"status", record.status}, {"seconds", record.seconds}};
  const std::string line = json.dump() + '\n';
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // A log that nobody reads any more must not end the server.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

ServerOptions server_options(const ServeFlags& options) {
  ServerOptions server;
  server.models.assign(options.models.begin(), options.models.end());
  server.host = options.host;
  server.port = static_cast<std::uint16_t>(parse_whole_number("--port", options.port, 0, 65535).value_or(8080));
  server.threads = parse_threads(options.threads);
  server.context = parse_whole_number("--max-tokens", options.max_tokens, 1, 1 << 20).value_or(server.context);
  server.api.max_requests =
      parse_whole_number("--max-requests", options.max_requests, 1, 1 << 20).value_or(server.api.max_requests);
  server.api.timeout =
      std::chrono::seconds(parse_whole_number("--timeout", options.timeout, 1, 24 * 3600).value_or(120));
  server.api.access.host = options.host;
  for (const std::string& origin : options.cors) check_origin_name(origin);
  server.api.access.origins = options.cors;
  if (options.key_file) server.api.access.keys = parse_keys(read_text(*options.key_file, 1 << 20), *options.key_file);
  if (options.key_file && options.no_key) throw Error("--no-key and --api-key-file exclude each other; leave one out");
  if (!is_loopback(options.host) && server.api.access.keys.empty() && !options.no_key) {
    throw Error(
        fmt::format("--host {}: others could use the server; give it keys with --api-key-file, or --no-key if "
                    "everyone may",
                    printable(options.host)));
  }
  if (options.json_log) server.api.log = log_line;
  return server;
}

// What a long text took goes back to the system when it ends: glibc by itself keeps blocks of up to 32 MB once it has
// freed one.
void give_back_memory() {
#ifdef M_MMAP_THRESHOLD
  constexpr int kLargeBlock = 1 << 18;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBlock);
#endif
}

// The next of these signals, or 0 if none came in time.
int next_signal(const sigset_t& signals, std::chrono::milliseconds patience) {
  const timespec time{.tv_sec = patience.count() / 1000, .tv_nsec = patience.count() % 1000 * 1'000'000};
  const int number = ::sigtimedwait(&signals, nullptr, &time);
  return number > 0 ? number : 0;
}

int serve(const ServeFlags& options) {
  give_back_memory();
  // Blocked before the first thread begins, so that all of them leave signals to this one.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Server server(server_options(options));
  std::thread thread([&] { server.run(); });
  const auto end = [&] {
    server.stop();
    thread.join();
  };
  try {
    Terminal(stdout).print(fmt::format("serving {} at {}\n", fmt::join(server.model_names(), ", "), server.address()));
    while (true) {
      const int number = next_signal(signals, std::chrono::seconds(1));
      if (number == SIGHUP) {
        try {
          server.reload();
          notify("the models were loaded again");
        } catch (const Error& error) {
          notify(fmt::format("going on with the models as they were: {}", error.what()));
        }
      }
      if (number == SIGTERM || number == SIGINT) break;
    }
    server.close_when_answered();
    const auto wait_until_idle = [&](std::chrono::seconds patience) {
      const auto deadline = std::chrono::steady_clock::now() + patience;
      while (!server.is_idle() && std::chrono::steady_clock::now() < deadline) {
        const int number = next_signal(signals, std::chrono::milliseconds(20));
        if (number == SIGTERM || number == SIGINT) ::_exit(0);
      }
    };
    wait_until_idle(kPatience);
    server.end_completions();
    wait_until_idle(kFarewell);
    // What is still under way cannot be told to stop, and ending in order would wait for it.
    if (!server.is_idle()) ::_exit(0);
  } catch (...) {
    end();
    throw;
  }
  end();
  return 0;
}

}  // namespace

Command serve_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("serve", "Answer over HTTP, with a page to play with the knobs");
  const auto options = std::make_shared<ServeFlags>();
  app->add_option("MODEL", options->models, "Run folders or .safetensors files; the first answers unless one is named")
      ->required();
  app->add_option("--port", options->port, "Where to listen; 0 takes any that is free (8080)")->type_name("N");
  app->add_option("--host", options->host, "The address to listen on (127.0.0.1: this machine alone)")
      ->type_name("ADDRESS");
  app->add_option("--threads", options->threads, "That write texts (one for each processor)")->type_name("N");
  app->heading("Who may ask");
  app->add_option("--api-key-file", options->key_file, "Keys, one a line; requests then need one of them")
      ->type_name("FILE");
  app->add_flag("--no-key", options->no_key, "Everyone who reaches the address may");
  app->add_option("--cors", options->cors,
                  "A page's origin, as https://example.org, that may; may be repeated; * is all")
      ->type_name("ORIGIN");
  app->heading("Limits");
  app->add_option("--max-requests", options->max_requests, "Texts at a time; more are answered with 429 (256)")
      ->type_name("N");
  app->add_option("--max-tokens", options->max_tokens, "Most tokens of a text, the prompt included (2048)")
      ->type_name("N");
  app->add_option("--timeout", options->timeout, "Seconds for a whole answer (120)")->type_name("S");
  app->heading("");
  app->add_flag("--json-log", options->json_log, "A line of JSON on standard error for each answer");
  app->footer(
      "Speaks OpenAI's API (/v1/completions, /v1/chat/completions, /v1/models), with \"knobs\", \"guidance\",\n"
      "\"grammar\" and \"explain\" in the same requests; docs/serving.md has all of it. The page is at /.\n"
      "SIGTERM finishes what is under way (10 s at most), a second one does not. SIGHUP loads the models again.\n\n"
      "Examples:\n"
      "  semfuse serve run\n"
      "  semfuse serve run other-run --port 9000 --threads 2\n"
      "  semfuse serve run --host 0.0.0.0 --api-key-file keys.txt\n");
  return {.app = app, .purpose = "the models", .run = [options] { return serve(*options); }};
}

}  // namespace semfuse
