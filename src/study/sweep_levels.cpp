#include "study/sweep_levels.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/checksum.h"
#include "io/file.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using ReadJson = nlohmann::json;

std::vector<double> read_numbers(const ReadJson& json) {
  std::vector<double> values;
  for (const ReadJson& value : json.get_ref<const ReadJson::array_t&>())
    values.push_back(value.is_null() ? NAN : value.get<double>());
  return values;
}

std::vector<Realised> read_realised(const ReadJson& json) {
  std::vector<Realised> all;
  for (const ReadJson& one : json.get_ref<const ReadJson::array_t&>())
    all.push_back({.values = read_numbers(one.at("values")),
                   .half_widths = read_numbers(one.at("half_widths")),
                   .distance = one.at("distance").is_null() ? NAN : one.at("distance").get<double>(),
                   .deviation = one.at("deviation").is_null() ? NAN : one.at("deviation").get<double>()});
  return all;
}

std::string line_of(const std::string& level, const std::vector<Realised>& realised) {
  Json all = Json::array();
  for (const Realised& one : realised) {
    all.push_back({{"values", one.values},
                   {"half_widths", one.half_widths},
                   {"distance", one.distance},
                   {"deviation", one.deviation}});
  }
  return Json{{"level", level}, {"realised", std::move(all)}}.dump() + '\n';
}

}  // namespace

std::string sweep_identity(const LanguageModel& model, const SweepOptions& options) {
  Crc32 weights;
  for (const NamedParameter& parameter : model.parameters()) {
    weights.add(parameter.name);
    weights.add({reinterpret_cast<const char*>(parameter.values.data()), parameter.values.size_bytes()});
  }
  for (const std::string& word : model.vocabulary().entries()) weights.add(word + '\n');
  for (const auto& [name, map] : model.calibration()) {
    if (!options.calibrated) break;
    weights.add(name);
    for (const std::vector<CalibrationPoint>& points : map.values) {
      for (const CalibrationPoint& point : points)
        weights.add(fmt::format(" {} {} {}", point.asked, point.request, point.guidance));
    }
  }
  const SamplingOptions& sampling = options.sampling;
  return fmt::format(
      R"({{"sweep":3,"model":"{:08x}","n":{},"levels":{},"seed":{},"guidance":{},"temperature":{},"top_k":{},"top_p":{}}})",
      weights.value(), options.n, options.levels, options.seed, options.guidance, sampling.temperature, sampling.top_k,
      sampling.top_p);
}

std::map<std::string, std::vector<Realised>> parse_sweep_levels(std::string_view text, std::string_view identity,
                                                                const std::filesystem::path& origin) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != identity) {
    throw Error(fmt::format("{}: is already there, with another sweep in it; choose another --out",
                            origin.parent_path().string()));
  }
  std::map<std::string, std::vector<Realised>> levels;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    const std::string place = fmt::format("{}:{}", origin.string(), number);
    try {
      const ReadJson json = parse_json(line, place, 8);
      levels[json.at("level").get<std::string>()] = read_realised(json.at("realised"));
    } catch (const ReadJson::exception&) {
      throw Error(fmt::format("{}: not a level of a sweep; remove the file to sweep anew", place));
    }
  }
  return levels;
}

SweepLevels::SweepLevels(std::filesystem::path path, std::string identity)
    : path_(std::move(path)), identity_(std::move(identity)) {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored)) levels_ = parse_sweep_levels(read_text(path_), identity_, path_);
}

std::optional<std::vector<Realised>> SweepLevels::find(const std::string& level) const {
  const auto found = levels_.find(level);
  if (found == levels_.end()) return std::nullopt;
  return found->second;
}

void SweepLevels::keep(const std::string& level, const std::vector<Realised>& realised) {
  levels_[level] = realised;
  std::string text = identity_ + '\n';
  for (const auto& [name, values] : levels_) text += line_of(name, values);
  write_atomically(path_, text);
}

}  // namespace semfuse
