#include "backbone/model_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "backbone/backbone_tensors.h"
#include "backbone/imported_model.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kRowsAtOnce = 32;  // Enough for a transposed matrix to be read by cache lines.
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

StorageType quantised_type(const ForeignTensor& tensor, Quantisation quantisation) {
  const bool is_table = tensor.name == "embedding" || tensor.name == "head";
  return quantisation == Quantisation::q4 && !is_table ? StorageType::q4_1 : StorageType::q8_0;
}

// Positions are few and added to everything.
bool is_to_be_quantised(const ForeignTensor& tensor, Quantisation quantisation) {
  return quantisation != Quantisation::none && tensor.is_matrix && tensor.name != "positions" &&
         bits_a_value(tensor.lossless_type()) > bits_a_value(quantised_type(tensor, quantisation));
}

StorageType written_type(const ForeignTensor& tensor, Quantisation quantisation) {
  if (!is_to_be_quantised(tensor, quantisation)) return tensor.lossless_type();
  const StorageType type = quantised_type(tensor, quantisation);
  return tensor.columns % block_size(type) == 0 ? type : tensor.lossless_type();
}

// A row's values, then its scales.
void write_groups(const ForeignTensor& tensor, const ByteSink& sink) {
  const std::size_t num_scales = tensor.columns / tensor.group * sizeof(float);
  for (std::size_t row = 0; row < tensor.rows; ++row) {
    sink(as_text(tensor.bytes.subspan(row * tensor.columns, tensor.columns)));
    sink(as_text(tensor.scales.subspan(row * num_scales, num_scales)));
  }
}

void write_tensor(const ForeignTensor& tensor, StorageType type, const ByteSink& sink) {
  if (type == StorageType::q8_64) return write_groups(tensor, sink);
  if (tensor.group == 0 && !tensor.is_transposed && type == tensor.type) {
    for (std::span<const std::byte> left = tensor.bytes; !left.empty();) {
      const std::size_t size = std::min(left.size(), kBytesAtOnce);
      sink(as_text(left.first(size)));
      left = left.subspan(size);
    }
    return;
  }
  const std::size_t size = row_bytes(type, tensor.columns);
  const std::size_t at_once = std::min(kRowsAtOnce, tensor.rows);
  std::vector<float> numbers(at_once * tensor.columns);
  std::vector<std::byte> bytes(at_once * size);
  for (std::size_t row = 0; row < tensor.rows; row += at_once) {
    const std::size_t count = std::min(at_once, tensor.rows - row);
    tensor.read_rows(row, count, std::span(numbers).first(count * tensor.columns));
    for (std::size_t r = 0; r < count; ++r) {
      encode_row(type, std::span(numbers).subspan(r * tensor.columns, tensor.columns),
                 std::span(bytes).subspan(r * size, size));
    }
    sink(as_text(std::span(bytes).first(count * size)));
  }
}

DType dtype_of(StorageType type) {
  if (type == StorageType::f32) return DType::f32;
  if (type == StorageType::f16) return DType::f16;
  if (type == StorageType::bf16) return DType::bf16;
  return DType::u8;
}

std::vector<std::size_t> shape_of(const ForeignTensor& tensor, StorageType type) {
  if (!tensor.is_matrix) return {tensor.columns};
  return {tensor.rows, is_plain(type) ? tensor.columns : row_bytes(type, tensor.columns)};
}

}  // namespace

void check_tensors(const ForeignModel& model, const std::string& origin) {
  const auto refuse = [&](std::string_view what) {
    throw Error(fmt::format("{}: {}; fetch the model again, or convert it to Hugging Face's layout", origin, what));
  };
  check(model.spec, origin);
  std::map<std::string_view, const ForeignTensor*> left;
  for (const ForeignTensor& tensor : model.tensors) {
    if (!left.emplace(tensor.name, &tensor).second) refuse(fmt::format("two tensors are {}", quoted_text(tensor.name)));
  }
  const auto require = [&](const TensorNeed& need) {
    const auto found = left.find(need.name);
    if (found == left.end()) {
      if (!need.is_optional) refuse(fmt::format("no tensor for {}", need.name));
      return;
    }
    const ForeignTensor& tensor = *found->second;
    if (tensor.rows != need.rows || tensor.columns != need.columns || tensor.is_matrix != need.is_matrix) {
      refuse(fmt::format("the tensor for {} is {} x {} instead of {} x {}", need.name, tensor.rows, tensor.columns,
                         need.rows, need.columns));
    }
    left.erase(found);
  };
  for (const TensorNeed& need : outer_tensors(model.spec)) require(need);
  for (std::size_t layer = 0; layer < model.spec.num_layers; ++layer) {
    for (const TensorNeed& need : layer_tensors(model.spec, layer)) require(need);
  }
  if (!left.empty()) refuse(fmt::format("tensor {} is not known", quoted_text(left.begin()->first)));
  if (model.tokenizer && model.tokenizer->size() > model.spec.vocab_size) {
    refuse(fmt::format("the tokenizer has {} entries, but the model knows {}", model.tokenizer->size(),
                       model.spec.vocab_size));
  }
}

ImportReport import_model(const ForeignModel& model, const std::filesystem::path& folder, Quantisation quantisation,
                          const ImportProgress& progress, FileLayer& files) {
  check_tensors(model, model.spec.source);
  ImportReport report;
  TensorArchiveWriter writer;
  // Wider elements first, so that each begins at a multiple of its size.
  std::vector<const ForeignTensor*> order;
  for (const ForeignTensor& tensor : model.tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [&](const ForeignTensor* a, const ForeignTensor* b) {
    return size_of(dtype_of(written_type(*a, quantisation))) > size_of(dtype_of(written_type(*b, quantisation)));
  });
  Json types = Json::object();
  std::size_t done = 0;
  for (const ForeignTensor* tensor : order) {
    const StorageType type = written_type(*tensor, quantisation);
    report.num_parameters += tensor->rows * tensor->columns;
    report.num_bytes += tensor->rows * row_bytes(type, tensor->columns);
    if (tensor->is_matrix) ++report.num_types[type];
    if (is_to_be_quantised(*tensor, quantisation) && type == tensor->lossless_type()) ++report.num_kept;
    if (!is_plain(type)) {
      types[tensor->name] = {{"type", to_string(type)},
                             {"shape", std::vector<std::size_t>{tensor->rows, tensor->columns}}};
    }
    writer.add(tensor->name, shape_of(*tensor, type), dtype_of(type), [&, tensor, type](const ByteSink& sink) {
      write_tensor(*tensor, type, [&](std::string_view bytes) {
        sink(bytes);
        done += bytes.size();
        if (progress) progress(done, report.num_bytes);
      });
    });
  }
  BackboneSpec spec = model.spec;
  spec.source_sha256 = model.source_hash();
  writer.set_metadata(kBackboneKey, to_json(spec));
  writer.set_metadata(kTypesKey, types.dump());
  if (model.tokenizer) writer.set_metadata(kTokenizerKey, model.tokenizer->to_json());
  writer.save(folder / "model.safetensors", files);
  return report;
}

}  // namespace semfuse
