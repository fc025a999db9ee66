// What the fuzzer does with bytes as jsonl; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/delimited_table_entry.h"
#include "io/json.h"

namespace semfuse {

// Is the line an object that the library's other reader of JSON takes?
inline bool fuzz_is_object(std::string_view line) {
  try {
    return parse_json(line, "fuzz", 5000).is_object();
  } catch (const Error&) {
    return false;
  }
}

// True if every row is good. Only Error may escape; a line without an end is good exactly if it is a JSON object.
inline bool fuzz_json_table(std::span<const std::uint8_t> input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    std::size_t num_faults = 0;
    const FuzzRows rows = fuzz_rows(bytes, TableFormat::jsonl, num_faults);
    const bool one_line = bytes.find_first_of("\r\n") == bytes.npos && !bytes.starts_with("\xEF\xBB\xBF");
    // Keys that come twice deep inside are no concern of a table.
    if (one_line && !bytes.empty() && bytes.size() < 4000 && fuzz_is_object(bytes)) fuzz_require(rows.size() == 1);
    return num_faults == 0 && !rows.empty();
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
