// What the fuzzer does with bytes as the columns of a dataset: a columns.json up to its line end, then the other files
// end to end. The unit tests replay it over the seed corpus.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "data/column_dataset.h"
#include "fuzz/require.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {

// True if the bytes are a dataset whose every text can be read. Only Error may escape, in one line.
inline bool fuzz_columns(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const std::size_t line = std::min(text.find('\n'), text.size());
  std::string_view rest = text.substr(std::min(line + 1, text.size()));
  try {
    const ColumnSizes sizes = parse_column_sizes(text.substr(0, line), "fuzz");
    if (sizes.knobs > 3) return false;
    static const TemporaryFolder folder;
    const auto write = [&](const char* name, std::string_view bytes) {
      std::ofstream(folder / name, std::ios::binary) << bytes;
    };
    const auto take = [&](const char* name, std::uint64_t size) {
      write(name, rest.substr(0, size));
      rest.remove_prefix(std::min<std::uint64_t>(size, rest.size()));
    };
    write("columns.json", text.substr(0, line));
    take("ends.u64", sizes.texts * 8);
    take("ids.i32", sizes.ids * 4);
    take("row_of.u32", sizes.features == 0 ? 0 : sizes.ids * 4);
    take("rows.f32", sizes.rows * sizes.features * 4);
    take("labels.u32", sizes.texts * sizes.knobs * 4);
    const std::vector<Knob> knobs = {parse_knob("a: scalar of column a from 0 to 1"),
                                     parse_knob("b: probability of column b"),
                                     parse_knob("c: distribution of column c over x, y")};
    const ColumnDataset dataset(folder.path(), std::span(knobs).first(sizes.knobs));
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      const std::span<const TokenId> ids = dataset.ids(i);
      fuzz_require(ids.size() >= 2);
      for (const TokenId id : ids) fuzz_require(static_cast<std::uint64_t>(id) < sizes.vocabulary);
      std::vector<float> rows(ids.size() * dataset.num_features());
      dataset.copy_features(i, rows);
      for (std::size_t k = 0; k < sizes.knobs; ++k) dataset.label(i, k);
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
