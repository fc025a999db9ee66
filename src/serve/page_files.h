// The files of web/, which the build puts into the library: the page that the server shows.
#pragma once

#include <string_view>
#include <vector>

#include "core/embedded_text.h"
#include "serve/http_exchange.h"

namespace semfuse {

// By their names with extension.
const std::vector<EmbeddedText>& embedded_page();

// The answer to GET of that path, "/" being index.html; status 404 if there is no such file.
HttpAnswer page_answer(std::string_view path);

}  // namespace semfuse
