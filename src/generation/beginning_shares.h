// How probable a knob's label is of a text that has not begun, where other knobs are asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "generation/text_reader.h"
#include "generation/value_reader.h"

namespace semfuse {

class ReadModel;

// As a head of the model finds it after <bos>. Remembers what it has read; may be used from several threads at once.
class BeginningShares {
 public:
  // `model` must outlive it.
  explicit BeginningShares(const ReadModel& model) : model_(model) {}

  // `request` is a row as request_row() has it.
  double of(const std::string& knob, const ValueReader& reader, const std::vector<float>& request);

 private:
  const ReadModel& model_;
  std::mutex mutex_;
  std::unique_ptr<StreamPass> pass_;     // Made when it is first needed,
  std::unique_ptr<StreamPool> streams_;  // and these.
  std::map<std::pair<std::string, std::vector<float>>, double> found_;
};

}  // namespace semfuse
