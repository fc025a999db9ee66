#include "config/training_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "backbone/adapted_model.h"
#include "config/data_tables.h"
#include "config/feature_sources.h"
#include "config/key_options.h"
#include "data/builtin_corpora.h"
#include "data/data_description.h"
#include "data/held_out_words.h"
#include "data/knob_proposals.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr const char* kTextPreset = "text";        // Of a person's own texts,
constexpr const char* kAdapterPreset = "adapter";  // beside an imported model.

// A run can then be gone on with from any folder.
std::vector<std::string> absolute(const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files) {
    if (file.empty()) throw Error("--data and --val want the name of a file, not an empty text");
    paths.push_back(absolute_data_name(file));
  }
  return paths;
}

// Whether --set names the key.
bool says(const TrainingRequest& request, std::string_view key) {
  return std::any_of(request.settings.begin(), request.settings.end(), [&](std::string_view setting) {
    setting = setting.substr(0, setting.find_first_of(" ="));
    return setting == key;
  });
}

// Columns become knobs unless it is said which knobs there are. A configuration of a run says it, if none too.
bool makes_knobs(const TrainingRequest& request, const Experiment& experiment) {
  const bool asked = !request.data.empty() || !experiment.data.labels.empty();
  return experiment.data.kind == DataKind::files && experiment.model.knobs.empty() && experiment.init.empty() &&
         asked && !says(request, "model.knobs");
}

// Few texts are read often enough for an adapter to learn of them; a single knob is always stated.
void fit_adapter_to_data(const TrainingRequest& request, Experiment& experiment) {
  constexpr std::uint64_t kFewestSteps = 600;
  constexpr std::uint64_t kMostAdapterEpochs = 100;
  TrainingOptions& training = experiment.training;
  if (experiment.model.knobs.size() == 1 && !says(request, "training.knob_share")) training.knob_share = 1.0;
  if (says(request, "training.epochs") || says(request, "training.steps")) return;
  const std::uint64_t texts = std::max<std::uint64_t>(1, estimated_size(experiment.data).texts);
  const std::uint64_t wanted = (kFewestSteps * training.batch + texts - 1) / texts;
  training.epochs = std::max<std::size_t>(training.epochs, std::min(wanted, kMostAdapterEpochs));
}

// What the model is, the backbone says.
void use_backbone(const TrainingRequest& request, Experiment& experiment) {
  for (const std::string& setting : request.settings) {
    const auto is_free = [&](const char* key) { return setting.starts_with(key); };
    if (!setting.starts_with("model.") || is_free("model.knobs") || is_free("model.gate") ||
        is_free("model.feature_head")) {
      continue;
    }
    throw Error(fmt::format("--set {}: the backbone says what the model is; leave it out", setting));
  }
  const Backbone backbone(experiment.adapter.backbone);
  ModelOptions model = options_of(backbone.spec());
  model.fusion = true;
  model.gate = experiment.model.gate;
  model.feature_head = experiment.model.feature_head;
  model.knobs = experiment.model.knobs;
  experiment.model = model;
  experiment.training.count_end = false;
  // <bos> is read and <eos> is not.
  experiment.data.max_length = std::min(experiment.data.max_length, backbone.spec().context + 1);
}

void require_knobs(const Experiment& experiment) {
  if (!experiment.model.knobs.empty()) return;
  throw Error(
      "an adapter is for knobs, and the data have no column that could be one; name a file with labels, or say what "
      "texts show with --set model.knobs");
}

// The preset for texts of one's own knows no file, so what depends on the texts follows from the file, unless somebody
// says it.
bool is_fitted(const TrainingRequest& request) {
  return !request.data.empty() && !request.preset && !request.config && !request.init && !request.backbone;
}

void fit_to_data(const TrainingRequest& request, Experiment& experiment) {
  if (!is_fitted(request)) return;
  const DataFit fit = fit_for(estimated_size(experiment.data), experiment.training, experiment.data.max_length);
  const bool needs_words = experiment.model.output_features || experiment.model.open_vocabulary;
  if (!says(request, "text.tokenizer") && !says(request, "text.vocabulary") && !needs_words) {
    experiment.text.tokenizer = TokenizerKind::pieces;
    experiment.text.vocabulary = fit.vocabulary;
  }
  if (!says(request, "training.optimizer")) experiment.training.optimizer = fit.optimizer;
  const bool causal = experiment.model.attention == AttentionMask::causal;
  if (!says(request, "model.distance_bias")) experiment.model.distance_bias = fit.distance_bias && causal;
  if (says(request, "training.epochs") || says(request, "training.steps")) return;
  experiment.training.epochs = fit.epochs;
  if (!says(request, "training.batch")) experiment.training.batch = fit.batch;
  if (fit.dropout && !says(request, "model.dropout")) experiment.model.dropout = *fit.dropout;
}

// Whoever has such a column wonders why it is no knob. A first look finds it, since labels come again and again.
void tell_column_faults(const TrainingRequest& request, const DataOptions& data) {
  if (!request.on_note) return;
  constexpr std::uint64_t kLook = std::uint64_t{4} << 20;
  const TableOptions table = table_options(data);
  std::vector<std::filesystem::path> files;
  for (const std::string& name : data.train) {
    if ((table.format ? *table.format : table_format_of(name)) != TableFormat::txt) files.emplace_back(name);
  }
  if (files.empty()) return;
  const DataDescription look =
      describe_data(files, {.text_column = data.text, .table = table, .columns_only = true, .most_bytes = kLook});
  for (const ColumnFault& fault : column_faults(look)) {
    request.on_note(fmt::format("column {} is no knob: {}", quoted_text(fault.column), fault.why));
  }
}

void fit_to_knobs(const TrainingRequest& request, Experiment& experiment) {
  if (!is_fitted(request) || experiment.model.knobs.size() != 1 || says(request, "training.knob_share")) return;
  experiment.training.knob_share = kShareOfOneKnob;
}

// What a label asks for is measured by a judge, which must be trained on texts that the model never sees.
void keep_judge_texts(const TrainingRequest& request, Experiment& experiment) {
  constexpr double kShare = 0.1, kMostShare = 0.3;
  constexpr double kTexts = 1500.0;             // That a judge learns enough of.
  constexpr std::uint64_t kFewestTexts = 2000;  // Of fewer a judge learns too little, and the model needs them all.
  if (request.data.empty() || request.config || request.init || !request.calibrate) return;
  if (says(request, "data.judge_share")) return;
  const auto is_label = [](const Knob& knob) { return knob.of_column; };
  if (std::none_of(experiment.model.knobs.begin(), experiment.model.knobs.end(), is_label)) return;
  const std::uint64_t texts = estimated_size(experiment.data).texts;
  if (texts < kFewestTexts) return;
  const double share = std::clamp(kTexts / static_cast<double>(texts), kShare, kMostShare);
  experiment.data.judge_share = std::round(100.0 * share) / 100.0;
}

// Of files it is a file too, of a word a line, which the configuration then lists.
void hold_out(const TrainingRequest& request, Experiment& experiment) {
  const bool none = request.held_out == "none";
  if (experiment.data.kind != DataKind::files) {
    set_from_option(experiment, "--held-out", "corpus.held_out",
                    none ? std::optional<std::string>("[]") : request.held_out);
  } else if (request.held_out) {
    experiment.data.held_out = none ? std::vector<std::string>() : load_held_out_words(*request.held_out);
  }
}

}  // namespace

std::string preset_of(const TrainingRequest& request) {
  const char* usual = request.backbone ? kAdapterPreset : kTextPreset;
  return request.preset.value_or(request.data.empty() ? TrainingRequest::kDefaultPreset : usual);
}

Experiment resolve(const TrainingRequest& request) {
  Experiment experiment = request.config ? load_experiment(*request.config) : preset_experiment(preset_of(request));
  if (!request.data.empty()) {
    experiment.data.kind = DataKind::files;
    experiment.data.train = absolute(request.data);
  }
  if (!request.val.empty()) experiment.data.val = absolute(request.val);
  if (request.init) {
    if (request.init->empty()) throw Error("--init is empty; name a run folder or a .safetensors file");
    experiment.init = *request.init;
    for (const std::string& setting : request.settings) {
      if (setting.starts_with("model.") || setting.starts_with("features."))
        throw Error(
            fmt::format("--set {}: with --init the keys of model and features are those of the model that is "
                        "gone on from; leave it out",
                        setting));
    }
  }
  if (request.backbone) {
    if (request.backbone->empty()) throw Error("the model is empty; name what `semfuse import` wrote");
    experiment.adapter.backbone = std::filesystem::absolute(*request.backbone).lexically_normal().string();
  }
  apply_settings(experiment, request.settings);
  set_from_option(experiment, "--rank", "adapter.rank", request.rank);
  const bool is_adapter = !experiment.adapter.backbone.empty();
  if (is_adapter) use_backbone(request, experiment);
  set_from_option(experiment, "--seed", "seed", request.seed);
  hold_out(request, experiment);
  if (vector_source(experiment) == VectorSource::file) experiment.vectors = absolute({experiment.vectors}).front();
  if (request.lexicon) experiment.lexicon = *request.lexicon;
  if (!request.val.empty() && experiment.data.kind != DataKind::files)
    throw Error("--val names texts to measure with beside those of --data; add --data");
  if (experiment.data.kind != DataKind::files) request.table.require_none();
  request.table.apply_to(experiment.data);
  validate(experiment);
  fit_to_data(request, experiment);
  if (makes_knobs(request, experiment)) {
    const ColumnKnobs found = column_knobs(experiment.data, request.on_columns);
    if (request.on_columns) request.on_columns(1.0);
    experiment.model.knobs = found.knobs;
    if (experiment.data.labels.empty()) tell_column_faults(request, experiment.data);
    if (!found.left_out.empty() && request.on_note) {
      request.on_note(
          fmt::format("more than {} columns could be knobs, so {} {} not one; choose with --set data.labels", kMaxKnobs,
                      fmt::join(found.left_out, ", "), found.left_out.size() == 1 ? "is" : "are"));
    }
    validate(experiment);
  }
  fit_to_knobs(request, experiment);
  if (is_adapter) require_knobs(experiment);
  if (is_adapter && !request.config) fit_adapter_to_data(request, experiment);
  keep_judge_texts(request, experiment);
  return experiment;
}

}  // namespace semfuse
