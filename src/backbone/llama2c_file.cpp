#include "backbone/llama2c_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>

#include "backbone/backbone_tensors.h"
#include "io/byte_reader.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::uint32_t kMagic = 0x616B3432;
constexpr std::size_t kHeaderSize = 256;  // Of versions 1 and 2.

// Sizes as all versions have them, version 0 with the sign of the vocabulary's telling whether there is a head.
BackboneSpec read_sizes(ByteReader& reader, bool signed_vocabulary) {
  const auto size = [&](const char* what) {
    const auto value = reader.number<std::int32_t>(what);
    if (value <= 0) reader.fail(fmt::format("{} is {}", what, value), "this is no llama2.c model, or it is damaged");
    return static_cast<std::size_t>(value);
  };
  BackboneSpec spec;
  spec.model_width = size("dim");
  spec.hidden_width = size("hidden_dim");
  spec.num_layers = size("n_layers");
  spec.num_heads = size("n_heads");
  spec.num_key_heads = size("n_kv_heads");
  const std::int64_t vocabulary = reader.number<std::int32_t>("vocab_size");
  if (vocabulary == 0 || (vocabulary < 0 && !signed_vocabulary)) {
    reader.fail(fmt::format("vocab_size is {}", vocabulary), "this is no llama2.c model, or it is damaged");
  }
  spec.tied = vocabulary > 0;
  spec.vocab_size = static_cast<std::size_t>(vocabulary < 0 ? -vocabulary : vocabulary);
  spec.context = size("seq_len");
  if (spec.model_width % spec.num_heads != 0) {
    reader.fail(fmt::format("dim {} is no multiple of n_heads {}", spec.model_width, spec.num_heads),
                "this is no llama2.c model, or it is damaged");
  }
  spec.head_width = spec.model_width / spec.num_heads;
  // A text begins with <s>, and another <s> after it means that it has ended.
  if (spec.vocab_size > 2) spec.bos = 1, spec.eos = {1, 2}, spec.adds_bos = true;
  return spec;
}

class Llama2cReader {
 public:
  Llama2cReader(ForeignModel& model, ByteReader& reader) : model_(model), spec_(model.spec), reader_(reader) {}

  void vector(const std::string& name) { add(name, 1, spec_.model_width, false); }
  void matrix(const std::string& name, std::size_t rows, std::size_t columns) { add(name, rows, columns, true); }
  void layers(const char* name, const std::function<void(const std::string&)>& read) {
    for (std::size_t layer = 0; layer < spec_.num_layers; ++layer) read(fmt::format("layers.{}.{}", layer, name));
  }
  // All layers' queries, then all layers' keys and so on.
  void attention() {
    const std::size_t width = spec_.model_width;
    layers("query", [&](const std::string& name) { matrix(name, spec_.query_width(), width); });
    layers("key", [&](const std::string& name) { matrix(name, spec_.key_width(), width); });
    layers("value", [&](const std::string& name) { matrix(name, spec_.key_width(), width); });
    layers("output", [&](const std::string& name) { matrix(name, width, spec_.query_width()); });
  }
  void hidden() {
    layers("gate", [&](const std::string& name) { matrix(name, spec_.hidden_width, spec_.model_width); });
    layers("down", [&](const std::string& name) { matrix(name, spec_.model_width, spec_.hidden_width); });
    layers("up", [&](const std::string& name) { matrix(name, spec_.hidden_width, spec_.model_width); });
  }
  void norms(const char* name) {
    layers(name, [&](const std::string& of_layer) { vector(of_layer + ".weight"); });
  }
  void embedding() { matrix("embedding", spec_.vocab_size, spec_.model_width); }
  void head() {
    if (!spec_.tied) matrix("head", spec_.vocab_size, spec_.model_width);
  }
  void group_matrices(std::size_t group) { group_ = group; }

 private:
  void add(const std::string& name, std::size_t rows, std::size_t columns, bool is_matrix) {
    ForeignTensor tensor;
    tensor.name = name;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.is_matrix = is_matrix;
    const std::size_t size = rows * columns;  // At most 2^44, as check() sees to.
    if (is_matrix && group_ > 0) {
      if (size % group_ != 0) reader_.fail(fmt::format("{} is not whole groups of {}", name, group_));
      tensor.group = group_;
      tensor.bytes = reader_.take(size, name);
      tensor.scales = reader_.take(size / group_ * sizeof(float), name + "'s scales");
    } else {
      tensor.bytes = reader_.take(size * sizeof(float), name);
    }
    model_.tensors.push_back(std::move(tensor));
  }

  ForeignModel& model_;
  const BackboneSpec& spec_;
  ByteReader& reader_;
  std::size_t group_ = 0;
};

void read_version_0(ForeignModel& model, ByteReader& bytes) {
  Llama2cReader reader(model, bytes);
  reader.embedding();
  reader.norms("attention_norm");
  reader.attention();
  reader.norms("hidden_norm");
  reader.hidden();
  reader.vector("final_norm.weight");
  bytes.take(model.spec.context * model.spec.head_width * sizeof(float), "the tables of rotary positions");
  reader.head();
}

void read_later_version(ForeignModel& model, ByteReader& bytes, std::size_t group) {
  Llama2cReader reader(model, bytes);
  reader.norms("attention_norm");
  reader.norms("hidden_norm");
  reader.vector("final_norm.weight");
  reader.group_matrices(group);
  reader.embedding();
  reader.attention();
  reader.hidden();
  reader.head();
}

}  // namespace

bool has_llama2c_magic(std::span<const std::byte> file) {
  return file.size() >= sizeof(kMagic) && std::memcmp(file.data(), &kMagic, sizeof(kMagic)) == 0;
}

ForeignModel parse_llama2c(std::span<const std::byte> file, const std::string& origin) {
  ByteReader reader(file, origin);
  ForeignModel model;
  if (!has_llama2c_magic(file)) {
    model.spec = read_sizes(reader, true);
    model.kind = "llama2.c version 0";
    check(model.spec, origin);
    read_version_0(model, reader);
  } else {
    reader.number<std::uint32_t>("magic");
    const auto version = reader.number<std::int32_t>("version");
    if (version != 1 && version != 2) {
      reader.fail(fmt::format("is a llama2.c file of version {}", version), "versions 0, 1 and 2 can be read");
    }
    model.kind = fmt::format("llama2.c version {}", version);
    model.spec = read_sizes(reader, false);
    const auto tied = reader.number<std::uint8_t>("shared_classifier");
    if (tied > 1) reader.fail(fmt::format("shared_classifier is {}", tied));
    model.spec.tied = tied == 1;
    const auto group = version == 2 ? reader.number<std::int32_t>("group_size") : 0;
    if (version == 2 && (group < 1 || group > 1 << 20)) reader.fail(fmt::format("group_size is {}", group));
    reader.take(kHeaderSize - reader.place(), "the header");
    check(model.spec, origin);
    read_later_version(model, reader, static_cast<std::size_t>(group));
  }
  if (reader.left() > 0) reader.fail(fmt::format("{} bytes after the last tensor", reader.left()));
  return model;
}

}  // namespace semfuse
