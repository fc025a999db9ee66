#include "model/stream_pass.h"

namespace semfuse {

void TokenStream::clear() {
  tokens.clear();
  features.clear();
  num_guesses = 0;
  num_unchanged = 0;
  num_certain = 0;
  num_shared = 1;
  request.clear();
  cache.set_length(0);
}

}  // namespace semfuse
