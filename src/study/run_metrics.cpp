#include "study/run_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "io/json.h"
#include "paper/published.h"
#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/paper_controls.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {

namespace {

constexpr std::size_t kTrials = 200;
constexpr std::size_t kSamples = 3;  // Different ones of
constexpr std::size_t kSampleTries = 30;
constexpr const char* kPrompt = "Carol starts the model,";

using SharedGrammar = std::shared_ptr<const CompiledGrammar>;

// The grammar of the paper's tables in the model's words; null if they cannot complete a sentence of it.
SharedGrammar paper_grammar(const LanguageModel& model) {
  try {
    return std::make_shared<CompiledGrammar>(Grammar::builtin("one-clause", words_of(model.feature_bank().lexicon())),
                                             token_surfaces(model));
  } catch (const Error&) {  // A lexicon of one's own may lack a class.
    return nullptr;
  }
}

GenerationRequest request_of(const GenerationPreset& preset, const LanguageModel& model, const SharedGrammar& grammar,
                             std::uint64_t seed) {
  GenerationRequest request = request_of(preset, model, grammar);
  request.seed = seed;
  return request;
}

bool may_begin_with(const CompiledGrammar& grammar, const Vocabulary& vocabulary, std::string_view prompt) {
  GrammarCursor cursor = grammar.begin();
  for (const std::string& word : split_words(prompt)) {
    const auto id = vocabulary.find(word);
    if (!id || !cursor.advance(*id)) return false;
  }
  return true;
}

ControlMetrics measure_controls(const Generator& generator, const LanguageModel& model, const SharedGrammar& grammar,
                                std::uint64_t seed, const std::vector<std::string>& held_out) {
  const auto counts = [&](const std::string& name, Nucleus nucleus) {
    GenerationPreset preset = generation_preset(name);
    preset.sampling.nucleus = nucleus;
    const GenerationRequest request = request_of(preset, model, grammar, seed);
    return count_controls(model.feature_bank().lexicon(), generate_many(generator, request, kTrials), held_out);
  };
  const ControlCounts positive = counts("paper-positive", Nucleus::paper);  // Its polarity and its mark are hard.
  return {.hard_positive = positive,
          .hard_negative = counts("paper-negative-question", Nucleus::paper),
          .positive = positive,
          .negative = counts("paper-negative", Nucleus::paper),
          .positive_usual_nucleus = counts("paper-positive", Nucleus::usual),
          .negative_usual_nucleus = counts("paper-negative", Nucleus::usual)};
}

std::vector<SampleSet> draw_samples(const Generator& generator, const LanguageModel& model,
                                    const SharedGrammar& grammar, std::uint64_t seed) {
  const std::vector<std::string> settings =
      model.options().fusion ? std::vector<std::string>{"paper-neutral", "paper-positive", "paper-negative-question"}
                             : std::vector<std::string>{"paper-baseline-fair"};
  std::vector<SampleSet> samples;
  for (const char* prompt : {"", kPrompt}) {
    if (!may_begin_with(*grammar, model.vocabulary(), prompt)) continue;
    for (const std::string& setting : settings) {
      GenerationRequest request = request_of(generation_preset(setting), model, grammar, seed);
      request.prompt = prompt;
      if (*prompt != '\0') request.sampling.temperature = 0.7;  // Of every prompted sample of the paper.
      SampleSet set{.setting = setting, .prompt = prompt, .texts = {}};
      for (const Generation& generation : generate_many(generator, request, kSampleTries)) {
        const bool is_new = std::ranges::find(set.texts, generation.text) == set.texts.end();
        if (is_new && set.texts.size() < kSamples) set.texts.push_back(generation.text);
      }
      samples.push_back(std::move(set));
    }
  }
  return samples;
}

// Best of some rounds, so that a busy moment of the machine does not count.
double microseconds_per_token(const LanguageModel& model, const SharedGrammar& grammar, std::uint64_t seed) {
  constexpr int kRounds = 5;
  const Generator generator(model, 1);
  const GenerationRequest request = request_of(generation_preset("paper-neutral"), model, grammar, seed);
  double best = INFINITY;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t tokens = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      GenerationRequest one = request;
      one.index = i;
      tokens += generator.generate(one).tokens.size();
    }
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
    best = std::min(best, elapsed.count() / static_cast<double>(tokens));
  }
  return best;
}

EvaluationOptions options_of(const Experiment& experiment, std::size_t threads) {
  return {.held_out = synthetic_corpus_options(experiment).held_out,
          .count_end = experiment.training.count_end,
          .max_length = experiment.corpus.max_length,
          .threads = threads};
}

}  // namespace

RunMetrics measure_run(const LanguageModel& model, const Experiment& experiment, std::size_t threads) {
  SyntheticCorpusOptions corpus = synthetic_corpus_options(experiment);
  corpus.train = 0;
  const std::vector<Sentence> sentences = make_synthetic_corpus(corpus).val;
  return measure_run(model, experiment, sentences, evaluate(model, sentences, options_of(experiment, threads)),
                     threads);
}

RunMetrics measure_run(const LanguageModel& model, const Experiment& experiment, std::span<const Sentence> sentences,
                       const Evaluation& evaluation, std::size_t threads) {
  const EvaluationOptions options = options_of(experiment, threads);
  RunMetrics metrics{.seed = experiment.seed,
                     .attention = std::string(to_string(evaluation.attention)),
                     .held_out = options.held_out,
                     .ppl = evaluation.perplexity,
                     .seen_only_ppl = evaluation.seen_only_perplexity,
                     .feature_mse = evaluation.feature_mse,
                     .ppl_by_epoch = {},
                     .parameters = model.parameter_count(),
                     .token_us = NAN,
                     .focus = word_cross_entropies(model, sentences, focus_words(), options),
                     .controls = std::nullopt,
                     .samples = {}};
  const SharedGrammar grammar = paper_grammar(model);
  if (grammar == nullptr) return metrics;
  const Generator generator(model, threads);
  metrics.token_us = microseconds_per_token(model, grammar, experiment.seed);
  metrics.samples = draw_samples(generator, model, grammar, experiment.seed);
  if (model.options().fusion)
    metrics.controls = measure_controls(generator, model, grammar, experiment.seed, options.held_out);
  return metrics;
}

namespace {

// What is read back: each throws the parser's exception for another type.
using ReadJson = nlohmann::json;

double number_or_nan(const ReadJson& json) {
  return json.is_null() ? NAN : json.get<double>();
}

std::size_t whole_number(const ReadJson& json) {
  return json.get_ref<const ReadJson::number_unsigned_t&>();
}

const ReadJson::array_t& list(const ReadJson& json) {
  return json.get_ref<const ReadJson::array_t&>();
}

struct CountField {
  const char* name;
  std::size_t ControlCounts::*value;
};
constexpr CountField kCounts[] = {{"trials", &ControlCounts::trials},     {"positive", &ControlCounts::positive},
                                  {"negative", &ControlCounts::negative}, {"other", &ControlCounts::other},
                                  {"held_out", &ControlCounts::held_out}, {"exclamation", &ControlCounts::exclamation},
                                  {"question", &ControlCounts::question}};

struct ControlField {
  const char* name;
  ControlCounts ControlMetrics::*value;
};
constexpr ControlField kControlFields[] = {{"hard_positive", &ControlMetrics::hard_positive},
                                           {"hard_negative", &ControlMetrics::hard_negative},
                                           {"positive", &ControlMetrics::positive},
                                           {"negative", &ControlMetrics::negative},
                                           {"positive_usual_nucleus", &ControlMetrics::positive_usual_nucleus},
                                           {"negative_usual_nucleus", &ControlMetrics::negative_usual_nucleus}};

}  // namespace

void add_model_metrics(Json& json, const RunMetrics& metrics) {
  json["parameters"] = metrics.parameters;
  json["focus"] = Json::array();
  for (const WordCrossEntropy& word : metrics.focus) {
    json["focus"].push_back(
        {{"word", word.word}, {"occurrences", word.occurrences}, {"cross_entropy", word.cross_entropy}});
  }
  Json& controls = json["controls"];  // Null if there are none.
  for (const ControlField& field : kControlFields) {
    if (!metrics.controls) break;
    for (const CountField& count : kCounts)
      controls[field.name][count.name] = (*metrics.controls).*field.value.*count.value;
  }
  json["samples"] = Json::array();
  for (const SampleSet& set : metrics.samples)
    json["samples"].push_back({{"setting", set.setting}, {"prompt", set.prompt}, {"texts", set.texts}});
}

std::string to_json(const RunMetrics& metrics) {
  Json json = {{"seed", metrics.seed},
               {"attention", metrics.attention},
               {"held_out", metrics.held_out},
               {"ppl", metrics.ppl},
               {"seen_only_ppl", metrics.seen_only_ppl},
               {"feature_mse", metrics.feature_mse},
               {"ppl_by_epoch", metrics.ppl_by_epoch},
               {"step_ms", metrics.step_ms},
               {"token_us", metrics.token_us},
               {"seconds", metrics.seconds}};
  if (metrics.floor) {
    const auto& [ppl, over] = *metrics.floor;
    json["floor"] = {{"ppl", ppl}, {"ratio", over.ratio}, {"low", over.low}, {"high", over.high}};
  }
  add_model_metrics(json, metrics);
  return json.dump(1) + '\n';
}

RunMetrics parse_run_metrics(std::string_view text, std::string_view origin) {
  try {
    const ReadJson json = parse_json(text, origin);
    RunMetrics metrics{.seed = whole_number(json.at("seed")),
                       .attention = json.at("attention").get<std::string>(),
                       .held_out = json.at("held_out").get<std::vector<std::string>>(),
                       .ppl = number_or_nan(json.at("ppl")),
                       .seen_only_ppl = number_or_nan(json.at("seen_only_ppl")),
                       .feature_mse = number_or_nan(json.at("feature_mse")),
                       .ppl_by_epoch = {},
                       .parameters = whole_number(json.at("parameters")),
                       .step_ms = number_or_nan(json.at("step_ms")),
                       .token_us = number_or_nan(json.at("token_us")),
                       .seconds = number_or_nan(json.at("seconds")),
                       .focus = {},
                       .controls = std::nullopt,
                       .samples = {}};
    if (json.contains("floor")) {
      const ReadJson& floor = json.at("floor");
      metrics.floor = SampleFloor{.ppl = number_or_nan(floor.at("ppl")),
                                  .over = {.ratio = number_or_nan(floor.at("ratio")),
                                           .low = number_or_nan(floor.at("low")),
                                           .high = number_or_nan(floor.at("high"))}};
    }
    for (const ReadJson& ppl : list(json.at("ppl_by_epoch"))) metrics.ppl_by_epoch.push_back(number_or_nan(ppl));
    for (const ReadJson& word : list(json.at("focus"))) {
      metrics.focus.push_back({.word = word.at("word").get<std::string>(),
                               .occurrences = whole_number(word.at("occurrences")),
                               .cross_entropy = number_or_nan(word.at("cross_entropy"))});
    }
    if (const ReadJson& controls = json.at("controls"); !controls.is_null()) {
      metrics.controls.emplace();
      for (const ControlField& field : kControlFields) {
        for (const CountField& count : kCounts) {
          (*metrics.controls).*field.value.*count.value = whole_number(controls.at(field.name).at(count.name));
        }
      }
    }
    for (const ReadJson& set : list(json.at("samples"))) {
      metrics.samples.push_back({.setting = set.at("setting").get<std::string>(),
                                 .prompt = set.at("prompt").get<std::string>(),
                                 .texts = set.at("texts").get<std::vector<std::string>>()});
    }
    return metrics;
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: not the metrics of a run; remove the file to measure it again", origin));
  }
}

}  // namespace semfuse
