// The text of a value inside of JSON, as it was sent: a parser's values forget the order of members and round numbers.
#pragma once

#include <string_view>

namespace semfuse {

// Of the member of that name; empty if there is none. `object` must be the text of one JSON object that a parser has
// accepted.
std::string_view raw_member(std::string_view object, std::string_view name);

}  // namespace semfuse
