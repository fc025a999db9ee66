#include "study/arena_writers.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace semfuse {

// What a method makes ready, and how it writes.
struct ArenaWriter::Way {
  std::string_view name;
  void (*prepare)(ArenaWriter& self);
  Writer (*write)(ArenaWriter& self, double target, double strength);
};

namespace {

std::size_t num_parameters(const SteeringHead& head) {
  std::size_t count = 0;
  for (const SteeringHead::Tensor& tensor : head.tensors) count += tensor.values.size();
  return count;
}

}  // namespace

const ArenaWriter::Way& ArenaWriter::way_of(std::string_view name) {
  using Self = ArenaWriter;
  constexpr auto nothing = [](Self&) {};
  // Of the field's methods, on the model with a control code.
  constexpr auto steers_ctrl = [](Self& self, double target, double strength) {
    return self.steered(self.parts_.ctrl(), target, strength);
  };
  constexpr auto asks_ctrl = [](Self& self, double target, double strength) {
    return self.asked(self.parts_.ctrl(), target, strength);
  };
  constexpr auto asks_ours = [](Self& self, double target, double strength) {
    return self.asked(self.parts_.semfuse(), target, strength);
  };
  static constexpr std::array kWays = {
      Way{"unconditional", nothing, [](Self& self, double, double) { return self.plain(self.parts_.ctrl()); }},
      Way{"ctrl", nothing, asks_ctrl},
      Way{"guidance", nothing, asks_ctrl},
      Way{"gedi", [](Self& self) { self.use_model(self.parts_.guide(), "guide"); },
          [](Self& self, double target, double strength) {
            const ArenaParts::Model& model = self.parts_.ctrl();
            Writer writer = self.plain(model);
            writer.request.source =
                posterior_source(self.parts_.guide(), *model, model->options().knobs.front().name, target, strength);
            return writer;
          }},
      Way{"dexperts",
          [](Self& self) {
            self.use_model(self.parts_.expert(true), "expert");
            self.use_model(self.parts_.expert(false), "anti-expert");
          },
          [](Self& self, double target, double strength) {
            const ArenaParts::Model& model = self.parts_.ctrl();
            const bool positive = target > 0.5;
            Writer writer = self.plain(model);
            writer.request.source =
                experts_source(*model, self.parts_.expert(positive), self.parts_.expert(!positive), strength);
            return writer;
          }},
      Way{"fudge", [](Self& self) { self.use_head(SteeringMethod::fudge, self.parts_.ctrl()); }, steers_ctrl},
      Way{"lm-steer", [](Self& self) { self.use_head(SteeringMethod::lm_steer, self.parts_.ctrl()); }, steers_ctrl},
      Way{"pplm", [](Self& self) { self.use_head(SteeringMethod::pplm, self.parts_.ctrl()); }, steers_ctrl},
      Way{"best-of", nothing,
          [](Self& self, double target, double strength) {
            Writer writer = self.plain(self.parts_.ctrl());
            writer.best_of = static_cast<std::size_t>(std::max(strength, 1.0));
            writer.judge = [&self, target](std::span<const std::string> texts) {
              std::vector<double> values = self.judge_a_(texts);
              for (double& value : values) value = target > 0.5 ? value : 1.0 - value;
              return values;
            };
            return writer;
          }},
      Way{"knob", nothing, asks_ours},
      Way{"knob-guided", nothing, asks_ours},
      Way{"value", [](Self& self) { self.use_head(SteeringMethod::value, self.parts_.semfuse()); },
          [](Self& self, double target, double strength) {
            return self.steered(self.parts_.semfuse(), target, strength);
          }},
      Way{"calibrated",
          [](Self& self) {
            self.use_head(SteeringMethod::value, self.parts_.semfuse());
            self.seconds_ += self.parts_.seconds("calibration");
          },
          [](Self& self, double target, double strength) {
            Writer writer = self.asked(self.parts_.semfuse(), target, strength);
            writer.request.calibrated = writer.request.heads = true;
            return writer;
          }},
  };
  const auto* found = std::ranges::find(kWays, name, &Way::name);
  assert(found != kWays.end());
  return *found;
}

ArenaWriter::ArenaWriter(std::string_view name, ArenaParts& parts, TextJudge judge_a)
    : way_(way_of(name)), parts_(parts), judge_a_(std::move(judge_a)) {
  way_.prepare(*this);
}

Writer ArenaWriter::writer(double target, double strength) {
  return way_.write(*this, target, strength);
}

void ArenaWriter::use_head(SteeringMethod method, const ArenaParts::Model& of) {
  head_ = &parts_.head(method, of);
  parameters_ = num_parameters(*head_);
  seconds_ = parts_.seconds(std::string(to_string(method)));
}

void ArenaWriter::use_model(const ArenaParts::Model& model, const std::string& part) {
  for (const NamedParameter& parameter : model->parameters()) parameters_ += parameter.values.size();
  seconds_ += parts_.seconds(part);
}

Writer ArenaWriter::plain(const ArenaParts::Model& model) const {
  Writer writer{.model = model.get()};
  writer.request.calibrated = writer.request.heads = false;
  return writer;
}

Writer ArenaWriter::steered(const ArenaParts::Model& model, double target, double strength) const {
  Writer writer = plain(model);
  writer.request.source = steering_source(*model, *head_, target, strength);
  return writer;
}

Writer ArenaWriter::asked(const ArenaParts::Model& model, double target, double guidance) const {
  Writer writer = plain(model);
  writer.request.knobs = {{.knob = model->options().knobs.front().name, .values = {target}}};
  writer.request.guidance = guidance;
  return writer;
}

}  // namespace semfuse
