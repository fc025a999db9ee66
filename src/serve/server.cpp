#include "serve/server.h"

#include <fmt/format.h>

namespace semfuse {

Server::Server(ServerOptions options)
    : host_(options.host),
      http_(std::make_unique<HttpServer>(
          options.host, options.port, options.limits,
          [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
            api_.handle(request, exchange);
          })),
      models_(std::move(options.models), options.threads, options.context),
      api_(models_, std::move(options.api)) {
  http_->every(std::chrono::milliseconds(200), [this] { api_.tick(http_->num_connections()); });
}

Server::~Server() = default;

std::string Server::address() const {
  const bool is_v6 = host_.find(':') != host_.npos;
  return fmt::format("http://{}:{}", is_v6 ? '[' + host_ + ']' : host_, http_->port());
}

std::vector<std::string> Server::model_names() const {
  std::vector<std::string> names;
  for (const auto& model : models_.all()) names.push_back(model->id());
  return names;
}

void Server::run() {
  http_->run();
}

void Server::reload() {
  models_.reload();
}

void Server::close_when_answered() {
  http_->close_when_answered();
}

void Server::end_completions() {
  api_.end_completions();
}

bool Server::is_idle() const {
  return api_.is_idle() && http_->num_connections() == 0;
}

void Server::stop() {
  http_->stop();
}

}  // namespace semfuse
