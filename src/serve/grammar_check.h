// Says of a grammar that someone writes whether it is one, and where it is wrong.
#pragma once

#include "io/json_writer.h"
#include "serve/served_model.h"
#include "wire/completion_request.h"

namespace semfuse {

// {"ok":true,"matches":true} (only of a request with a text), or {"ok":false,"error":{"message","line","column"}}; the
// place is null where the error has none. May take seconds.
Json check_grammar(ServedModel& model, const GrammarRequest& request);

}  // namespace semfuse
