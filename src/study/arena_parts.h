// The models and heads of one seed of an arena: trained when a method first needs them, and kept in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "semfuse/experiment.h"
#include "semfuse/language_model.h"
#include "semfuse/steering.h"
#include "study/arena_texts.h"

namespace semfuse {

class ArenaParts {
 public:
  // Told what is made and which share of it is done; false ends it with an Error.
  using Progress = std::function<bool(const std::string& what, double done)>;

  // `experiment` says sizes and training of a model; its data and knobs are set here. All must outlive it. Throws Error
  // if the folder has parts of another experiment.
  ArenaParts(std::filesystem::path folder, const ArenaTexts& texts, const LinearJudge& judge_a, Experiment experiment,
             std::uint64_t seed, std::size_t threads, Progress progress);

  std::uint64_t seed() const { return seed_; }

  using Model = std::shared_ptr<const LanguageModel>;
  // Learned hard labels, always stated or not at all: the model with a control code.
  const Model& ctrl();
  // Learned requests of every degree from soft labels, has a value head, and was calibrated with it by judge A.
  const Model& semfuse();
  // Gone on from ctrl(), always asked for the text's own label: what GeDi asks.
  const Model& guide();
  // Gone on from ctrl(), nothing asked, with texts of one label.
  const Model& expert(bool positive);
  // Trained on `of`, one of the above, frozen.
  const SteeringHead& head(SteeringMethod method, const Model& of);

  // That making all of them took, when they were made.
  double seconds(const std::string& part) const;

 private:
  Model trained(const std::string& name, const Experiment& experiment);
  // Of the model's own steps.
  std::uint64_t part_of_steps(double part) const;
  Experiment with_data(const std::string& file, std::optional<bool> positive) const;

  std::filesystem::path folder_;
  const ArenaTexts& texts_;
  const LinearJudge& judge_a_;
  Experiment experiment_;
  std::uint64_t seed_;
  std::size_t threads_;
  Progress progress_;
  Model ctrl_, semfuse_, guide_, expert_, anti_;
  std::map<SteeringMethod, SteeringHead> heads_;
  std::map<std::string, double> seconds_;
};

}  // namespace semfuse
