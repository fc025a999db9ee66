// The processor's own tiles for products of bytes (AMX), where it has them.
#pragma once

namespace semfuse {

// Whether they are there and the system lets this process use them; asks once.
bool has_matrix_tiles();

}  // namespace semfuse
