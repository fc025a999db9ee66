#include "data/json_table.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

using nlohmann::json;

}  // namespace

// Takes the values of one object while it is read. Each function returns false to stop.
class JsonTable::Handler : public nlohmann::json_sax<json> {
 public:
  explicit Handler(std::vector<std::string>& columns) : columns_(columns) {}

  void begin(Row& row) {
    row_ = &row;
    depth_ = 0;
    fault_.clear();
    ++turn_;
  }
  // Empty if the object was whole.
  const std::string& fault() const { return fault_; }

  // Texts are kept until the row is done; a cell points into them.
  void end() {
    for (std::size_t i = 0; i < row_->cells.size(); ++i) {
      Cell& cell = row_->cells[i];
      if (cell.kind != Cell::Kind::absent && cell.kind != Cell::Kind::nested) cell.text = texts_[i];
    }
  }

  bool null() override { return put(Cell::Kind::absent, {}); }
  bool boolean(bool value) override { return put(Cell::Kind::boolean, value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return put(Cell::Kind::number, fmt::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return put(Cell::Kind::number, fmt::to_string(value)); }
  bool number_float(double, const std::string& written) override { return put(Cell::Kind::number, written); }
  bool string(std::string& value) override { return put(Cell::Kind::text, std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // Text has none.
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (depth_ > 1) return true;
    const auto [place, added] = index_.try_emplace(name, columns_.size());
    if (added) {
      if (columns_.size() == kMostTableColumns) {
        index_.erase(place);
        return stop(fmt::format("has the key {}, and there are {} others before it; use the same few keys in every row",
                                quoted_text(name), kMostTableColumns));
      }
      columns_.push_back(name);
      texts_.emplace_back();
      turns_.push_back(0);
    }
    column_ = place->second;
    if (turns_[column_] == turn_) return stop(fmt::format("has the key {} twice; remove one", quoted_text(name)));
    turns_[column_] = turn_;
    if (row_->cells.size() <= column_) row_->cells.resize(column_ + 1);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    if (dynamic_cast<const json::parse_error*>(&error) != nullptr) {
      return stop(fmt::format("is no valid JSON from byte {} on; write an object a line, as {{\"text\": \"...\"}}",
                              byte == 0 ? 1 : byte));
    }
    return stop("has a number out of range; write it as a text or leave it out");
  }

 private:
  bool stop(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool not_an_object() { return stop("is no JSON object; write one a line, as {\"text\": \"...\"}"); }

  bool put(Cell::Kind kind, std::string text) {
    if (depth_ == 0) return not_an_object();
    if (depth_ > 1) return true;
    row_->cells[column_].kind = kind;
    texts_[column_] = std::move(text);
    return true;
  }
  bool open(bool object) {
    if (depth_ == 0 && !object) return not_an_object();
    if (depth_ == 1) row_->cells[column_].kind = Cell::Kind::nested;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::vector<std::string>& columns_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::string> texts_;    // By column.
  std::vector<std::uint64_t> turns_;  // The last row that had the column.
  std::uint64_t turn_ = 0;
  Row* row_ = nullptr;
  std::size_t depth_ = 0;
  std::size_t column_ = 0;
  std::string fault_;
};

JsonTable::JsonTable(std::unique_ptr<ByteSource> source, const TableOptions& options)
    : TableReader(std::move(source), TableFormat::jsonl, options), handler_(std::make_unique<Handler>(columns_)) {}

JsonTable::~JsonTable() = default;

void JsonTable::parse(Row& row) {
  handler_->begin(row);
  const std::string_view line = lines_.line();
  if (!json::sax_parse(line.begin(), line.end(), handler_.get())) {
    row.fault = {RowFault::Kind::bad_json, handler_->fault()};
    return;
  }
  handler_->end();
}

}  // namespace semfuse
