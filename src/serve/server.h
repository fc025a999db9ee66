// A server of models: loaded, listening, answering.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "serve/api.h"
#include "serve/http_server.h"

namespace semfuse {

struct ServerOptions {
  std::vector<std::filesystem::path> models;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;   // 0: any that is free.
  std::size_t threads = 0;     // That write texts; 0: one for each processor.
  std::size_t context = 2048;  // Most tokens of a text, the prompt included.
  ApiOptions api = {};
  HttpLimits limits = {};
};

class Server {
 public:
  // Loads the models and listens. Throws Error.
  explicit Server(ServerOptions options);
  // Cuts what is still being answered.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address() const;  // "http://127.0.0.1:8080"
  std::vector<std::string> model_names() const;

  // Answers until stop().
  void run();

  // The rest may be called from any thread while run() runs.

  // Loads the models again; no request is dropped. Throws Error, and goes on with the old ones.
  void reload();
  // Takes no more requests; those that are being answered go on.
  void close_when_answered();
  // Answers what is under way with an error.
  void end_completions();
  bool is_idle() const;  // Nothing is being answered, and no connection is left.
  void stop();

 private:
  std::string host_;
  std::unique_ptr<HttpServer> http_;  // First: what is written goes there until its end.
  ModelRegistry models_;
  Api api_;
};

}  // namespace semfuse
