// How each method of an arena writes: what it needs, and what a generator is then asked for.
#pragma once

#include <string_view>

#include "semfuse/generator.h"
#include "semfuse/steering.h"
#include "study/arena_parts.h"

namespace semfuse {

// How a method writes texts that should have the label to some degree, at some strength.
struct Writer {
  const LanguageModel* model = nullptr;
  GenerationRequest request;  // Without prompt and index.
  std::size_t best_of = 1;
  TextJudge judge = {};
};

// A method on the parts of one seed, ready to write. Parts and judge must outlive it.
class ArenaWriter {
 public:
  // Makes what the method needs. `name` is one of arena_methods() that writes; `judge_a` says how probable the label of
  // a text is.
  ArenaWriter(std::string_view name, ArenaParts& parts, TextJudge judge_a);

  Writer writer(double target, double strength);

  // More than the model itself has, and that making it took.
  std::size_t parameters() const { return parameters_; }
  double seconds() const { return seconds_; }

 private:
  struct Way;
  static const Way& way_of(std::string_view name);
  void use_head(SteeringMethod method, const ArenaParts::Model& of);
  void use_model(const ArenaParts::Model& model, const std::string& part);
  Writer plain(const ArenaParts::Model& model) const;
  Writer steered(const ArenaParts::Model& model, double target, double strength) const;
  Writer asked(const ArenaParts::Model& model, double target, double guidance) const;

  const Way& way_;
  ArenaParts& parts_;
  TextJudge judge_a_;
  const SteeringHead* head_ = nullptr;
  std::size_t parameters_ = 0;
  double seconds_ = 0.0;
};

}  // namespace semfuse
