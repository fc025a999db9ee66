#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.h"
#include "io/json_writer.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "study/ablation.h"

namespace semfuse {
namespace {

template <typename Measured>
struct Field {
  const char* name;
  double Measured::*value;
};

constexpr Field<Evaluation> kEvaluation[] = {{"ppl", &Evaluation::perplexity},
                                             {"seen_only_ppl", &Evaluation::seen_only_perplexity},
                                             {"feature_mse", &Evaluation::feature_mse},
                                             {"held_out_ce", &Evaluation::held_out_cross_entropy},
                                             {"after_held_out_ce", &Evaluation::after_held_out_cross_entropy}};

constexpr Field<EntropyFloor> kFloor[] = {{"floor_nats", &EntropyFloor::nats},
                                          {"floor_positions", &EntropyFloor::positions},
                                          {"floor_ppl", &EntropyFloor::perplexity},
                                          {"seen_only_floor_ppl", &EntropyFloor::seen_only_perplexity},
                                          {"held_out_floor_ce", &EntropyFloor::held_out_cross_entropy},
                                          {"after_held_out_floor_ce", &EntropyFloor::after_held_out_cross_entropy}};

// Not in files that are older than they.
constexpr Field<AblationRun> kInterval[] = {{"ppl_over_floor_low", &AblationRun::over_floor_low},
                                            {"ppl_over_floor_high", &AblationRun::over_floor_high}};

}  // namespace

std::string to_json(const AblationRun& run) {
  Json json = {{"seed", run.seed}, {"positions", run.evaluation.num_positions}};
  for (const auto& field : kEvaluation) json[field.name] = run.evaluation.*field.value;
  for (const auto& field : kFloor) json[field.name] = run.floor.*field.value;
  for (const auto& field : kInterval) json[field.name] = run.*field.value;
  return json.dump(1) + '\n';
}

AblationRun parse_ablation_run(std::string_view text, std::string_view origin) {
  using ReadJson = nlohmann::json;
  try {
    const ReadJson json = parse_json(text, origin, 4);
    const auto count = [&](const char* name) { return json.at(name).get_ref<const ReadJson::number_unsigned_t&>(); };
    const auto number = [&](const char* name) {
      const ReadJson& value = json.at(name);
      return value.is_null() ? NAN : value.get<double>();
    };
    AblationRun run{.seed = count("seed"), .evaluation = {}, .floor = {}};
    run.evaluation.num_positions = count("positions");
    for (const auto& field : kEvaluation) run.evaluation.*field.value = number(field.name);
    for (const auto& field : kFloor) run.floor.*field.value = number(field.name);
    for (const auto& field : kInterval) run.*field.value = json.contains(field.name) ? number(field.name) : NAN;
    return run;
  } catch (const ReadJson::exception&) {
    throw Error(fmt::format("{}: not the metrics of a run; remove the file to train it again", origin));
  }
}

}  // namespace semfuse
