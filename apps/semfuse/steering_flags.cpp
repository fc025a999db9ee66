#include "steering_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "io/quoted_text.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"
#include "settings.h"

namespace semfuse {
namespace {

// What a method needs, and what its strength is without --strength.
struct Method {
  std::string_view name;
  double strength;
  bool steer;   // --steer
  bool head;    // --head
  bool models;  // --expert and --anti
};
constexpr std::array kMethods = {
    Method{.name = "guidance", .strength = 2.0, .steer = false, .head = false, .models = false},
    Method{.name = "value", .strength = 3.0, .steer = true, .head = true, .models = false},
    Method{.name = "fudge", .strength = 3.0, .steer = true, .head = true, .models = false},
    Method{.name = "lm-steer", .strength = 1.0, .steer = true, .head = true, .models = false},
    Method{.name = "pplm", .strength = 1.0, .steer = true, .head = true, .models = false},
    Method{.name = "gedi", .strength = 20.0, .steer = true, .head = false, .models = false},
    Method{.name = "dexperts", .strength = 1.0, .steer = false, .head = false, .models = true},
    Method{.name = "best-of", .strength = 8.0, .steer = true, .head = true, .models = false}};

std::shared_ptr<const LanguageModel> load_model(const std::string& path) {
  return std::make_shared<const LanguageModel>(load_checkpoint(path).model);
}

struct Target {
  std::string knob;
  double value = 0.0;
};

Target parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Error(fmt::format("--steer {}: write NAME=VALUE, as polarity=1", quoted_text(text)));
  }
  const std::string name = text.substr(0, equals);
  const double value = parse_number("--steer " + name, text.substr(equals + 1)).value();
  if (value < 0.0 || value > 1.0) throw Error(fmt::format("--steer {}: must be from 0 to 1", name));
  return {.knob = name, .value = value};
}

}  // namespace

void SteeringFlags::add_to(CommandLine& app) {
  app.heading("Other methods of steering");
  std::vector<std::string> names;
  names.reserve(kMethods.size());
  for (const Method& each : kMethods) names.emplace_back(each.name);
  app.add_option("--method", method, "How the model is steered beside what it is asked (docs/steering.md)")
      ->choices(names);
  app.add_option("--steer", steer, "NAME=VALUE, towards what: polarity=1, polarity=0")->type_name("SETTING");
  app.add_option("--strength", strength, "How strongly; of best-of the number of texts")->type_name("W");
  app.add_option("--head", head, "A file of `semfuse steer train`: for value, fudge, lm-steer, pplm and best-of")
      ->type_name("FILE");
  app.add_option("--knob-model", knob_model, "The model that gedi asks (the model itself)")->type_name("RUN");
  app.add_option("--expert", expert, "Of dexperts: the model trained further on what is wanted")->type_name("RUN");
  app.add_option("--anti", anti, "The one trained further on what is not")->type_name("RUN");
}

SteeringFlags::Generate SteeringFlags::apply_to(GenerationRequest& request, const LanguageModel& model,
                                                const Generator& generator) const {
  Generate plain = [&generator](std::span<const GenerationRequest> requests) { return generator.generate(requests); };
  const bool any = steer || strength || head || knob_model || expert || anti;
  if (!method) {
    if (any) throw Error("--steer, --strength, --head, --knob-model, --expert and --anti are for --method; add it");
    return plain;
  }
  const Method& chosen = *std::ranges::find(kMethods, *method, &Method::name);
  const auto need = [&](bool needed, const std::optional<std::string>& given, std::string_view option,
                        std::string_view what) {
    if (needed && !given) throw Error(fmt::format("--method {} needs {}; add {}", *method, what, option));
    if (!needed && given) throw Error(fmt::format("--method {} does not read {}; leave it out", *method, option));
  };
  need(chosen.steer, steer, "--steer", "to know where to, as --steer polarity=1");
  need(chosen.head, head, "--head", "a file of `semfuse steer train`");
  need(chosen.models, expert, "--expert", "a model trained further on what is wanted");
  need(chosen.models, anti, "--anti", "a model trained further on what is not wanted");
  if (knob_model && *method != "gedi") need(false, knob_model, "--knob-model", "");
  const double weight = parse_number("--strength", strength).value_or(chosen.strength);
  if (*method == "guidance") {
    if (request.guidance != 1.0 || !request.knob_guidance.empty()) {
      throw Error("--guidance is --method guidance with that strength; leave one out");
    }
    if (request.knobs.empty()) throw Error("--method guidance goes past what knobs are set to; add --knob");
    request.guidance = weight;
    request.heads = false;
    return plain;
  }
  if (*method == "dexperts") {
    request.source = experts_source(model, load_model(*expert), load_model(*anti), weight);
    return plain;
  }
  const Target target = parse_target(*steer);
  if (*method == "gedi") {
    request.source =
        posterior_source(knob_model ? load_model(*knob_model) : nullptr, model, target.knob, target.value, weight);
    return plain;
  }
  const SteeringHead read = load_steering(*head);
  if (read.knob != target.knob) {
    throw Error(fmt::format("{}: steers {}, not {}; write --steer {}={}", *head, read.knob, quoted_text(target.knob),
                            read.knob, target.value));
  }
  try {
    if (*method == "best-of") {
      if (weight < 1.0 || weight > 1000.0 || weight != std::floor(weight)) {
        throw Error("--strength of best-of is a number of texts, from 1 to 1000");
      }
      const TextJudge judge = head_judge(model, read, target.value);
      return [&generator, judge, n = static_cast<std::size_t>(weight)](std::span<const GenerationRequest> requests) {
        return best_of(generator, requests, n, judge);
      };
    }
    if (to_string(read.method) != *method) {
      throw Error(
          fmt::format("is a head of the method {}; write --method {}", to_string(read.method), to_string(read.method)));
    }
    request.source = steering_source(model, read, target.value, weight);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", *head, error.what()));
  }
  return plain;
}

}  // namespace semfuse
