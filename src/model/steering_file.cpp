#include "model/steering_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "io/file.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"

namespace semfuse {

namespace {

constexpr const char* kFormat = "semfuse-steering-1";
constexpr std::array kMethods = {SteeringMethod::value, SteeringMethod::fudge, SteeringMethod::lm_steer,
                                 SteeringMethod::pplm};

[[noreturn]] void refuse(const std::string& origin, std::string_view what) {
  throw Error(fmt::format("{}: is no head of `semfuse steer train`: {}; train it again", origin, what));
}

}  // namespace

std::string steering_bytes(const SteeringHead& head) {
  TensorArchiveWriter writer;
  writer.set_metadata("format", kFormat);
  writer.set_metadata("method", std::string(to_string(head.method)));
  writer.set_metadata("knob", head.knob);
  writer.set_metadata("model", head.model);
  writer.set_metadata("share", fmt::format("{}", head.share));
  for (const SteeringHead::Tensor& tensor : head.tensors) {
    if (!std::ranges::all_of(tensor.values, [](float value) { return std::isfinite(value); })) {
      throw Error(
          fmt::format("{} of the head holds a number that is not finite, so it is not saved; try a lower "
                      "learning rate",
                      tensor.name));
    }
    writer.add(tensor.name, tensor.shape, std::span(tensor.values));
  }
  writer.add_checksum();
  return writer.encode();
}

void save_steering(const std::filesystem::path& path, const SteeringHead& head) {
  write_atomically(path, steering_bytes(head));
}

SteeringHead load_steering(const std::filesystem::path& path) {
  return parse_steering(TensorArchive::load(path), path.string());
}

SteeringHead parse_steering(const TensorArchive& archive, const std::string& origin) {
  const auto format = archive.metadata().find("format");
  if (format == archive.metadata().end() || format->second != kFormat) {
    refuse(origin, fmt::format("its metadata does not say format {}", kFormat));
  }
  SteeringHead head;
  const auto method =
      std::ranges::find(kMethods, archive.metadata("method"), [](SteeringMethod each) { return to_string(each); });
  if (method == kMethods.end()) refuse(origin, "it is of a method that this version does not know");
  head.method = *method;
  head.knob = archive.metadata("knob");
  head.model = archive.metadata("model");
  const std::string& share = archive.metadata("share");
  const char* last = share.data() + share.size();
  const auto [end, code] = std::from_chars(share.data(), last, head.share);
  if (code != std::errc() || end != last || !(head.share > 0.0 && head.share < 1.0)) {
    refuse(origin, "its share is no number between 0 and 1");
  }
  for (const TensorInfo& info : archive.tensors()) {
    const std::span<const float> values = archive.floats(info.name);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      refuse(origin, fmt::format("tensor {} holds numbers that are not finite", info.name));
    }
    head.tensors.push_back({.name = info.name, .shape = info.shape, .values = {values.begin(), values.end()}});
  }
  return head;
}

}  // namespace semfuse
