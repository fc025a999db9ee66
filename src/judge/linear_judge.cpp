#include "judge/linear_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "data/text_hash.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr const char* kFormat = "semfuse-judge-1";

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw Error(fmt::format("{}: {}; it is damaged or no judge, make one with `semfuse judge train`", origin, what));
}

std::size_t size_of(const TensorArchive& archive, const char* key, std::size_t low, std::size_t high,
                    const std::string& origin) {
  const auto found = archive.metadata().find(key);
  const std::string text = found == archive.metadata().end() ? "" : found->second;
  std::size_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    refuse(origin, fmt::format("metadata {} is no whole number from {} to {}", key, low, high));
  }
  return number;
}

std::vector<float> floats_of(const TensorArchive& archive, const char* name, const std::vector<std::size_t>& shape,
                             const std::string& origin) {
  const TensorInfo* info = archive.find(name);
  if (info == nullptr || info->shape != shape) refuse(origin, fmt::format("tensor {} has not the shape", name));
  const std::span<const float> values = archive.floats(name);
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    refuse(origin, fmt::format("tensor {} holds numbers that are not finite", name));
  }
  return {values.begin(), values.end()};
}

}  // namespace

void to_values(const Knob& knob, std::span<double> z) {
  switch (knob.kind) {
    case KnobKind::scalar:
      z[0] = std::clamp(z[0], knob.low, knob.high);
      break;
    case KnobKind::distribution: {
      const double most = *std::ranges::max_element(z);
      double sum = 0.0;
      for (double& value : z) sum += value = std::exp(value - most);
      for (double& value : z) value /= sum;
      break;
    }
    default:
      z[0] = 1.0 / (1.0 + std::exp(-z[0]));
  }
}

LinearJudge::LinearJudge(JudgeWeights weights)
    : weights_(std::move(weights)), row_of_(std::size_t{1} << weights_.slots.bits, -1) {
  for (std::size_t row = 0; row < weights_.known.size(); ++row) {
    row_of_[static_cast<std::size_t>(weights_.known[row])] = static_cast<std::int32_t>(row);
  }
}

LinearJudge LinearJudge::load(const std::filesystem::path& path) {
  return parse(TensorArchive::load(path), path.string());
}

LinearJudge LinearJudge::parse(const TensorArchive& archive, const std::string& origin) {
  const auto text = [&](const char* key) {
    const auto found = archive.metadata().find(key);
    return found == archive.metadata().end() ? std::string() : found->second;
  };
  if (text("format") != kFormat) refuse(origin, fmt::format("its metadata does not say format {}", kFormat));
  JudgeWeights weights;
  try {
    weights.knob = parse_knob(text("knob"));
  } catch (const Error& error) {
    refuse(origin, fmt::format("metadata knob: {}", error.what()));
  }
  weights.slots = {.bits = size_of(archive, "bits", kFewestSlotBits, kMostSlotBits, origin),
                   .order = size_of(archive, "order", 1, kMostSlotOrder, origin)};
  const TensorInfo* known = archive.find("slots");
  if (known == nullptr || known->shape.size() != 1 || archive.tensors().size() != 3) {
    refuse(origin, "it has not the tensors slots, weights and bias");
  }
  const std::span<const std::int32_t> slots = archive.ints("slots");
  const std::int32_t num_slots = std::int32_t{1} << weights.slots.bits;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] < 0 || slots[i] >= num_slots || (i > 0 && slots[i] <= slots[i - 1])) {
      refuse(origin, "tensor slots is no ascending list of slots");
    }
  }
  weights.known = {slots.begin(), slots.end()};
  const std::size_t num_values = weights.knob.num_values();
  weights.weights = floats_of(archive, "weights", {slots.size(), num_values}, origin);
  weights.bias = floats_of(archive, "bias", {num_values}, origin);
  return LinearJudge(std::move(weights));
}

std::string LinearJudge::bytes() const {
  TensorArchiveWriter writer;
  writer.set_metadata("format", kFormat);
  writer.set_metadata("knob", to_string(weights_.knob));
  writer.set_metadata("bits", std::to_string(weights_.slots.bits));
  writer.set_metadata("order", std::to_string(weights_.slots.order));
  writer.add("slots", {weights_.known.size()}, std::span<const std::int32_t>(weights_.known));
  writer.add("weights", {weights_.known.size(), weights_.bias.size()}, std::span<const float>(weights_.weights));
  writer.add("bias", {weights_.bias.size()}, std::span<const float>(weights_.bias));
  writer.add_checksum();
  return writer.encode();
}

std::string LinearJudge::fingerprint() const {
  return fmt::format("{:016x}", text_hash(bytes()));
}

void LinearJudge::judge(std::span<const std::uint32_t> slots, std::span<double> values) const {
  std::ranges::fill(values, 0.0);
  std::size_t num_known = 0;
  for (const std::uint32_t slot : slots) {
    if (row_of_[slot] < 0) continue;
    ++num_known;
    const float* row = weights_.weights.data() + static_cast<std::size_t>(row_of_[slot]) * values.size();
    for (std::size_t v = 0; v < values.size(); ++v) values[v] += static_cast<double>(row[v]);
  }
  const double scale = num_known > 0 ? 1.0 / std::sqrt(static_cast<double>(num_known)) : 0.0;
  for (std::size_t v = 0; v < values.size(); ++v) values[v] = values[v] * scale + static_cast<double>(weights_.bias[v]);
  to_values(weights_.knob, values);
}

std::vector<double> LinearJudge::judge(std::span<const std::string> texts) const {
  const std::size_t num_values = weights_.bias.size();
  std::vector<double> values(texts.size() * num_values);
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    read_slots(texts[i], weights_.slots, slots);
    judge(slots, std::span(values).subspan(i * num_values, num_values));
  }
  return values;
}

}  // namespace semfuse
