#include "parity_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr double kLargestSize = 1 << 24;                      // So that products of three sizes do not overflow.
constexpr double kLargestCount = 9007199254740992.0;          // 2^53: whole numbers up to here are exact.
constexpr std::size_t kTensorsOfLayer = std::size_t{3} * 12;  // param, grad and after of its parameters.

using Shape = std::vector<std::size_t>;

std::string to_text(const Shape& shape) {
  if (shape.size() > 4) return fmt::format("of {} dimensions", shape.size());
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Reads one case; every failure names the file.
class CaseReader {
 public:
  explicit CaseReader(ParityCase& target) : c_(target) {}

  void read() {
    read_model();
    read_constants();
    check_parameters();
    read_batch();
    check_outputs();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}; write the case again with scripts/make_golden", c_.origin, what));
  }

  // ---- metadata ----

  std::string word(const std::string& key, std::initializer_list<std::string_view> allowed) const {
    const std::string& value = c_.archive.metadata(key);
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      refuse(fmt::format("metadata {} is {}, not {}", key, quoted_text(value), fmt::join(allowed, " or ")));
    return value;
  }

  double number(const std::string& key) const {
    const std::string& text = c_.archive.metadata(key);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      refuse(fmt::format("metadata {} is {}, not a number", key, quoted_text(text)));
    return value;
  }

  // `range` says in words what `allowed` tests.
  double number(const std::string& key, bool (*allowed)(double), std::string_view range) const {
    const double value = number(key);
    if (!allowed(value)) refuse(fmt::format("metadata {} is {}, but must be {}", key, value, range));
    return value;
  }

  double not_negative(const std::string& key) const {
    return number(
        key, [](double value) { return value >= 0.0; }, "0 or above");
  }
  double positive(const std::string& key) const {
    return number(
        key, [](double value) { return value > 0.0; }, "above 0");
  }
  double below_one(const std::string& key) const {
    return number(
        key, [](double value) { return value >= 0.0 && value < 1.0; }, "0 or above and below 1");
  }

  std::uint64_t whole(const std::string& key, double smallest, double largest) const {
    const double value = number(key);
    if (value < smallest || value > largest || value != std::floor(value))
      refuse(fmt::format("metadata {} is {}, not a whole number in {:.0f} ... {:.0f}", key,
                         quoted_text(c_.archive.metadata(key)), smallest, largest));
    return static_cast<std::uint64_t>(value);
  }
  std::size_t size(const std::string& key, double smallest = 1.0) const { return whole(key, smallest, kLargestSize); }

  // ---- tensors ----

  const TensorInfo& tensor(const std::string& name) const {
    const TensorInfo* info = c_.archive.find(name);
    if (!info) refuse(fmt::format("tensor {} is missing", name));
    return *info;
  }

  void require_shape(const std::string& name, const Shape& shape) const {
    if (const TensorInfo& info = tensor(name); info.shape != shape)
      refuse(fmt::format("tensor {} has shape {}, not {}", name, to_text(info.shape), to_text(shape)));
  }

  // The tensor is F32 and all of its numbers are finite.
  std::span<const float> finite(const std::string& name) const {
    const std::span<const float> values = c_.archive.floats(name);
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (bad != values.end())
      refuse(fmt::format("tensor {} holds {} at place {}, not a finite number", name, *bad, bad - values.begin()));
    return values;
  }

  std::span<const float> finite(const std::string& name, const Shape& shape) const {
    require_shape(name, shape);
    return finite(name);
  }

  std::span<const TokenId> tokens(const std::string& name) const {
    const std::span<const TokenId> ids = c_.archive.ints(name);
    for (const TokenId id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= c_.vocab_size)
        refuse(fmt::format("tensor {} holds the id {}, not in 0 ... {}", name, id, c_.vocab_size - 1));
    }
    return ids;
  }

  // ---- the parts of a case ----

  void read_model() {
    const bool pre_norm = word("norm", {"post", "pre"}) == "pre";
    word("activation", {"relu"});
    const bool causal = word("attention", {"causal", "bidirectional"}) == "causal";
    c_.vocab_size = size("vocab");
    c_.num_features = size("features", 0.0);
    c_.model = {.width = size("d_model"),
                .layers = size("layers"),
                .heads = size("heads"),
                .feed_forward = size("d_ff"),
                .dropout = 0.0,
                .attention = causal ? AttentionMask::causal : AttentionMask::bidirectional,
                .norm = pre_norm ? NormPlace::pre : NormPlace::post,
                .fusion = c_.num_features > 0};
    if (c_.model.width % c_.model.heads != 0) refuse("metadata d_model is not a multiple of heads");
    if (size("pad_id", 0.0) >= c_.vocab_size) refuse("metadata pad_id is not below vocab");
    if (c_.num_features > 0) {
      const TensorInfo& head = tensor("param.aux_head.0.bias");
      if (head.shape.size() != 1 || head.shape[0] == 0)
        refuse(fmt::format("tensor {} has shape {}, not one size above 0", head.name, to_text(head.shape)));
      c_.model.feature_head = head.shape[0];
    } else {
      for (const char* name : {"in.features", "out.features"}) {
        if (c_.archive.find(name)) refuse(fmt::format("metadata features is 0, but there is a tensor {}", name));
      }
    }
  }

  void read_constants() {
    c_.losses = {.label_smoothing = below_one("label_smoothing"),
                 .feature_loss = not_negative("lambda_aux"),
                 .uniformity_loss = not_negative("lambda_uni"),
                 .classes = {}};
    c_.optimizer = {.beta1 = below_one("beta1"),
                    .beta2 = below_one("beta2"),
                    .epsilon = positive("eps"),
                    .weight_decay = not_negative("weight_decay"),
                    .clip_norm = positive("clip_norm")};
    c_.highest_rate = not_negative("lr");
    c_.warmup_steps = whole("warmup_steps", 0.0, kLargestCount);
    c_.total_steps = whole("total_steps", 1.0, kLargestCount);
    c_.num_steps = whole("steps", 1.0, kLargestCount);
  }

  // The layout has an entry for each parameter of each layer, so the layers are counted before it is made.
  void check_parameters() const {
    if (c_.model.layers > c_.archive.tensors().size() / kTensorsOfLayer)
      refuse(fmt::format("metadata layers is {}, but there are only {} tensors", c_.model.layers,
                         c_.archive.tensors().size()));
    const Network network(c_.model, c_.vocab_size, c_.num_features);
    std::set<std::string, std::less<>> known;
    for (const ParameterInfo& info : network.layout().entries()) {
      for (const char* kind : {"param.", "grad.", "after."}) require_shape(kind + info.name, info.shape);
      known.insert("param." + info.name);
    }
    for (const TensorInfo& info : c_.archive.tensors()) {
      if (info.name.starts_with("param.") && !known.contains(info.name))
        refuse(fmt::format("tensor {} is no parameter of the model", quoted_text(info.name)));
    }
    for (const ParameterInfo& info : network.layout().entries()) {
      for (const char* kind : {"param.", "grad.", "after."}) finite(kind + info.name);
    }
  }

  void read_batch() {
    const TensorInfo& ids = tensor("in.ids");
    if (ids.shape.size() != 2 || ids.size() == 0)
      refuse(fmt::format("tensor in.ids has shape {}, not [batch, length]", to_text(ids.shape)));
    c_.num_rows = ids.shape[0];
    c_.row_length = ids.shape[1];
    require_shape("in.targets", ids.shape);
    require_shape("in.lengths", {c_.num_rows});
    for (const char* name : {"in.class0", "in.class1"}) {
      if (const TensorInfo& info = tensor(name); info.shape.size() != 1)
        refuse(fmt::format("tensor {} has shape {}, not one size", name, to_text(info.shape)));
      const std::span<const TokenId> members = tokens(name);
      c_.losses.classes.emplace_back(members.begin(), members.end());
    }
    std::span<const float> features;
    if (c_.num_features > 0) features = finite("in.features", {c_.num_rows, c_.row_length, c_.num_features});
    const std::span<const TokenId> inputs = tokens("in.ids");
    const std::span<const TokenId> targets = tokens("in.targets");
    const std::span<const std::int32_t> lengths = c_.archive.ints("in.lengths");
    BatchPacker packer(c_.num_features);
    for (std::size_t r = 0; r < c_.num_rows; ++r) {
      if (lengths[r] < 1 || static_cast<std::size_t>(lengths[r]) > c_.row_length)
        refuse(fmt::format("in.lengths[{}] is {}, not in 1 ... {}", r, lengths[r], c_.row_length));
      const auto count = static_cast<std::size_t>(lengths[r]);
      const std::size_t first = r * c_.row_length;
      packer.add(inputs.subspan(first, count), targets.subspan(first, count),
                 features.empty() ? features : features.subspan(first * c_.num_features, count * c_.num_features));
    }
    c_.batch = packer.take();
  }

  void check_outputs() const {
    finite("out.logits", {c_.num_rows, c_.row_length, c_.vocab_size});
    if (c_.num_features > 0) finite("out.features", {c_.num_rows, c_.row_length, c_.num_features});
    for (std::size_t s = 0; s < c_.num_steps; ++s) {  // Ends at the first step that the file does not have.
      finite(fmt::format("out.losses.{}", s), {4});
      const std::string norm = fmt::format("out.gradnorm.{}", s);
      if (!tensor(norm).shape.empty()) require_shape(norm, {1});  // A scalar will do.
      finite(norm);
    }
  }

  ParityCase& c_;
};

}  // namespace

ParityCase::ParityCase(const std::filesystem::path& path) : ParityCase(TensorArchive::load(path), path.string()) {}

ParityCase::ParityCase(TensorArchive content, std::string name) : origin(std::move(name)), archive(std::move(content)) {
  CaseReader(*this).read();
}

}  // namespace semfuse
