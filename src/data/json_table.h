// Tables with a JSON object a line; its keys are the columns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/table_reader.h"

namespace semfuse {

// Strings, numbers and booleans are cells, null is an absent one; an array or object is a cell of kind nested, without
// text. A row at fault is no object, no valid JSON, has a key twice, or a key beyond the 1,000th.
class JsonTable : public TableReader {
 public:
  JsonTable(std::unique_ptr<ByteSource> source, const TableOptions& options);
  ~JsonTable() override;

 private:
  class Handler;
  void parse(Row& row) override;

  std::unique_ptr<Handler> handler_;
};

}  // namespace semfuse
