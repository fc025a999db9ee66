#include "parity_case.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr double kLargestSize = 1 << 24;

[[noreturn]] void refuse(const ParityCase& c, const std::string& what) {
  throw Error(fmt::format("{}: {}; write the case again with scripts/make_golden", c.origin, what));
}

void require_shape(const ParityCase& c, const std::string& name, const std::vector<std::size_t>& shape) {
  const TensorInfo* info = c.archive.find(name);
  if (!info) refuse(c, fmt::format("tensor {} is missing", name));
  if (info->shape != shape)
    refuse(c, fmt::format("tensor {} has shape [{}], not [{}]", name, fmt::join(info->shape, ", "),
                          fmt::join(shape, ", ")));
}

std::span<const TokenId> tokens(const ParityCase& c, const std::string& name) {
  const std::span<const TokenId> ids = c.archive.ints(name);
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= c.vocab_size)
      refuse(c, fmt::format("{} holds the id {}, not in 0 ... {}", name, id, c.vocab_size - 1));
  }
  return ids;
}

Batch pack_rows(const ParityCase& c) {
  const TensorInfo* ids = c.archive.find("in.ids");
  if (!ids || ids->shape.size() != 2) refuse(c, "in.ids must have two dimensions");
  require_shape(c, "in.targets", ids->shape);
  require_shape(c, "in.lengths", {c.num_rows});
  std::span<const float> features;
  if (c.num_features > 0) {
    require_shape(c, "in.features", {c.num_rows, c.row_length, c.num_features});
    features = c.archive.floats("in.features");
  }
  const std::span<const TokenId> inputs = tokens(c, "in.ids");
  const std::span<const TokenId> targets = tokens(c, "in.targets");
  BatchPacker packer(c.num_features);
  for (std::size_t r = 0; r < c.num_rows; ++r) {
    const std::int32_t length = c.archive.ints("in.lengths")[r];
    if (length < 1 || static_cast<std::size_t>(length) > c.row_length)
      refuse(c, fmt::format("in.lengths[{}] is {}, not in 1 ... {}", r, length, c.row_length));
    const auto count = static_cast<std::size_t>(length);
    packer.add(
        inputs.subspan(r * c.row_length, count), targets.subspan(r * c.row_length, count),
        c.num_features > 0 ? features.subspan(r * c.row_length * c.num_features, count * c.num_features) : features);
  }
  return packer.take();
}

}  // namespace

ParityCase::ParityCase(const std::filesystem::path& path) : origin(path.string()), archive(TensorArchive::load(path)) {
  const auto word = [&](const std::string& key, std::initializer_list<const char*> allowed) {
    const std::string& value = archive.metadata(key);
    for (const char* choice : allowed) {
      if (value == choice) return value;
    }
    refuse(*this, fmt::format("metadata {} is \"{}\", not {}", key, value, fmt::join(allowed, " or ")));
  };
  word("norm", {"post"});
  word("activation", {"relu"});
  vocab_size = size("vocab");
  num_features = size("features");
  num_steps = size("steps");
  model = {.width = size("d_model"),
           .layers = size("layers"),
           .heads = size("heads"),
           .feed_forward = size("d_ff"),
           .dropout = 0.0,
           .attention = word("attention", {"causal", "bidirectional"}) == "causal" ? AttentionMask::causal
                                                                                   : AttentionMask::bidirectional,
           .fusion = num_features > 0};
  if (vocab_size == 0 || model.width == 0 || model.layers == 0 || model.heads == 0 || model.feed_forward == 0 ||
      num_steps == 0) {
    refuse(*this, "vocab, d_model, layers, heads, d_ff and steps must be above 0");
  }
  if (model.width % model.heads != 0) refuse(*this, "d_model must be a multiple of heads");
  if (num_features > 0) {
    const TensorInfo* head = archive.find("param.aux_head.0.bias");
    if (!head || head->shape.size() != 1 || head->shape[0] == 0)
      refuse(*this, "tensor param.aux_head.0.bias must have one dimension");
    model.feature_head = head->shape[0];
  }
  losses = {.label_smoothing = number("label_smoothing"),
            .feature_loss = number("lambda_aux"),
            .uniformity_loss = number("lambda_uni"),
            .classes = {}};
  optimizer = {.beta1 = number("beta1"),
               .beta2 = number("beta2"),
               .epsilon = number("eps"),
               .weight_decay = number("weight_decay"),
               .clip_norm = number("clip_norm")};
  for (const char* name : {"in.class0", "in.class1"}) {
    if (!archive.find(name)) continue;
    const std::span<const TokenId> ids = tokens(*this, name);
    losses.classes.emplace_back(ids.begin(), ids.end());
  }
  const TensorInfo* ids = archive.find("in.ids");
  if (!ids || ids->shape.size() != 2) refuse(*this, "tensor in.ids must have two dimensions");
  num_rows = ids->shape[0];
  row_length = ids->shape[1];
  if (num_rows == 0) refuse(*this, "in.ids has no rows");
  batch = pack_rows(*this);
}

double ParityCase::number(const std::string& key) const {
  const std::string& text = archive.metadata(key);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse(*this, fmt::format("metadata {} is \"{}\", not a number", key, text));
  }
  return value;
}

std::size_t ParityCase::size(const std::string& key) const {
  const double value = number(key);
  if (value < 0.0 || value > kLargestSize || value != std::floor(value))
    refuse(*this, fmt::format("metadata {} is {}, not a size", key, value));
  return static_cast<std::size_t>(value);
}

}  // namespace semfuse
