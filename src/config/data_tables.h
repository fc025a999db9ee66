// How the files of an experiment are read, and which knobs their columns give.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/table_reader.h"
#include "semfuse/experiment.h"

namespace semfuse {

// As data.format and data.heading say. Throws Error for a format that there is not.
TableOptions table_options(const DataOptions& data);

struct ColumnKnobs {
  std::vector<Knob> knobs;
  std::vector<std::string> left_out;  // Columns that would be knobs too, but for kMaxKnobs.
};

// Reads all files and makes a knob of each column that data.labels names, or, if it names none, of each that can be
// one. Throws Error if a label's column is not there or can be none, and for files that cannot be read. `progress`
// is told the share that is read, now and then.
ColumnKnobs column_knobs(const DataOptions& data, const std::function<void(double done)>& progress = {});

// How many texts there are to train on: exact of small files, by the size of the files and their first texts else.
// Throws Error as RecordReader does, but for rows at fault.
std::uint64_t estimated_texts(const DataOptions& data);

// What a training on so many texts needs. Small files take smaller batches and are read more often, or nothing would be
// learned from them; what is read often needs dropout.
struct DataFit {
  std::size_t batch;
  std::size_t epochs;             // As many as usual, or more.
  std::optional<double> dropout;  // Nothing: as usual.
};
DataFit fit_for(std::uint64_t texts, const TrainingOptions& usual);

}  // namespace semfuse
