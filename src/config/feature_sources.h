// The files that the features of an experiment may be made of: lexicon, declaration, tagger.
#pragma once

#include <string>
#include <vector>

#include "semfuse/experiment.h"

namespace semfuse {

// One of them, as the experiment names it.
struct FeatureSource {
  std::string Experiment::*name;
  const char* kept_as;  // What a run calls its copy, in its folder and in its config.toml.

  // Whether that is a file's name, and the features of the experiment are made of it.
  bool is_file(const Experiment& experiment) const;
};

const std::vector<FeatureSource>& feature_sources();

// Where the vectors of words come from. Texts of which they are made are not copied: the model has the vectors.
enum class VectorSource { none, data, file };
VectorSource vector_source(const Experiment& experiment);

}  // namespace semfuse
