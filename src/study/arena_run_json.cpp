#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/json.h"
#include "io/json_writer.h"
#include "semfuse/error.h"
#include "study/arena.h"

namespace semfuse {
namespace {

constexpr std::pair<const char*, double ArenaEnd::*> kFields[] = {{"control", &ArenaEnd::control},
                                                                  {"flip", &ArenaEnd::flip},
                                                                  {"perplexity", &ArenaEnd::perplexity},
                                                                  {"length", &ArenaEnd::length}};

Json json_of(const ArenaEnd& end) {
  Json json = Json::object();
  for (const auto& [name, field] : kFields) json[name] = end.*field;
  json["distinct"] = end.distinct;
  return json;
}

ArenaEnd end_of(const nlohmann::json& json) {
  ArenaEnd end;
  for (const auto& [name, field] : kFields) end.*field = json.at(name).get<double>();
  end.distinct = json.at("distinct").get<std::array<double, 3>>();
  return end;
}

}  // namespace

std::string to_json(const ArenaRun& run) {
  Json points = Json::array();
  for (const ArenaPoint& point : run.points) {
    points.push_back({{"strength", point.strength},
                      {"microseconds", point.microseconds},
                      {"positive", json_of(point.positive)},
                      {"negative", json_of(point.negative)}});
  }
  Json json = {{"method", run.method},
               {"seed", run.seed},
               {"judge", run.judge},
               {"parameters", run.parameters},
               {"training_seconds", run.training_seconds},
               {"points", std::move(points)}};
  if (run.levels) json["levels"] = Json{{"asked", run.levels->asked}, {"got", run.levels->got}};
  return json.dump(1) + '\n';
}

ArenaRun parse_arena_run(std::string_view text, std::string_view origin) {
  try {
    const nlohmann::json json = parse_json(text, origin, 6);
    ArenaRun run{.method = json.at("method").get<std::string>(),
                 .seed = json.at("seed").get<std::uint64_t>(),
                 .judge = json.at("judge").get<std::string>(),
                 .parameters = json.at("parameters").get<std::size_t>(),
                 .training_seconds = json.at("training_seconds").get<double>()};
    for (const nlohmann::json& point : json.at("points")) {
      run.points.push_back({.strength = point.at("strength").get<double>(),
                            .positive = end_of(point.at("positive")),
                            .negative = end_of(point.at("negative")),
                            .microseconds = point.at("microseconds").get<double>()});
    }
    if (json.contains("levels")) {
      const nlohmann::json& levels = json.at("levels");
      run.levels =
          ArenaLevels{levels.at("asked").get<std::vector<double>>(), levels.at("got").get<std::vector<double>>()};
      if (run.levels->asked.size() != run.levels->got.size())
        throw nlohmann::json::other_error::create(501, "", nullptr);
    }
    return run;
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: not the metrics of an arena; remove the file to measure it again", origin));
  }
}

}  // namespace semfuse
