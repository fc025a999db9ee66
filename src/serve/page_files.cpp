#include "serve/page_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace semfuse {

namespace {

std::string_view type_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".svg", "image/svg+xml"},
       {".png", "image/png"},
       {".json", "application/json"},
       {".txt", "text/plain; charset=utf-8"}}};
  const auto found = std::ranges::find_if(kTypes, [&](const auto& type) { return name.ends_with(type.first); });
  return found == kTypes.end() ? "application/octet-stream" : found->second;
}

}  // namespace

HttpAnswer page_answer(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  const auto found = std::ranges::find(embedded_page(), name, &EmbeddedText::name);
  if (found == embedded_page().end()) {
    // Browsers ask for it unasked.
    return {.status = name == "favicon.ico" ? 204U : 404U, .body = "", .content_type = ""};
  }
  return {.body = std::string(found->text),
          .content_type = std::string(type_of(name)),
          .headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy",
                       "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'"}}};
}

}  // namespace semfuse
