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

// How much there is to train on.
struct DataSize {
  std::uint64_t texts = 0;
  std::uint64_t bytes = 0;  // Of the texts.
};

// Exact of small files, by the size of the files and their first texts else. Throws Error as RecordReader does, but for
// rows at fault.
DataSize estimated_size(const DataOptions& data);

// What a training on so much text needs. A step reads about as many tokens whatever the length of the texts. Small
// files are read more often, and in smaller batches, or nothing would be learned from them; what is read often needs
// dropout.
// The less text, the fewer pieces: each has to be seen often enough to be learned. Muon learns faster, but what is
// read often AdamW learns better, in smaller steps. In long texts near words are read first.
struct DataFit {
  std::size_t vocabulary;  // Of pieces.
  std::size_t batch;
  std::size_t epochs;             // As many as usual, or more.
  std::optional<double> dropout;  // Nothing: as usual.
  OptimizerKind optimizer;
  bool distance_bias;
};
DataFit fit_for(const DataSize& size, const TrainingOptions& usual, std::size_t max_length);

// How often a knob is stated in training if it is the only one: what is stated is learned, and enough texts are left
// that state nothing. Each of several is stated less often, or hardly any would.
constexpr double kShareOfOneKnob = 0.75;

}  // namespace semfuse
