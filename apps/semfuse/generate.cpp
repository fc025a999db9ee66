#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "generation/inexact_settings.h"
#include "generation_text.h"
#include "grammar_file.h"
#include "io/quoted_text.h"
#include "live_text.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "semfuse/paper_controls.h"
#include "settings.h"
#include "steering_flags.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct GenerateFlags {
  std::string run;
  std::string n = "1";
  std::string seed = "1";
  std::string prompt;
  std::optional<std::string> preset;
  std::optional<std::string> grammar;
  std::optional<std::string> temperature;
  std::optional<std::string> top_k;
  std::optional<std::string> top_p;
  std::optional<std::string> nucleus;
  std::optional<std::string> repetition_penalty;
  std::optional<std::string> last_k;
  std::vector<std::string> knobs;
  std::optional<std::string> guidance;
  bool uncalibrated = false;
  SteeringFlags steering;
  std::vector<std::string> controls;
  bool soft_only = false;
  std::optional<std::string> alpha;
  std::optional<std::string> mixture_temperature;
  std::optional<std::string> mixture_top_p;
  std::optional<std::string> max_tokens;
  std::optional<std::string> threads;
  bool from_input = false;
  bool greedy = false;
  bool json = false;
  bool explain = false;
};

// Says what one of the paper's names became.
KnobSetting read_knob(std::span<const Knob> knobs, const std::string& text) {
  const std::optional<KnobSetting> control = control_as_knob(knobs, text);
  if (!control) return parse_setting(knobs, text);
  notify(fmt::format("{} is read as {}", printable(text), to_string(knobs, *control)));
  return *control;
}

// An option that would change nothing is a misunderstanding: it is refused, with what it needs.
void refuse_ignored(const GenerateFlags& options, const GenerationRequest& request, const ControlOptions& controls) {
  const auto refuse = [](bool given, std::string_view message) {
    if (given) throw Error(std::string(message));
  };
  const bool greedy = request.sampling.temperature == 0.0;
  refuse(options.from_input && !options.prompt.empty(),
         "--stdin reads the prompts, so --prompt is not needed; leave one out");
  refuse(options.greedy && options.temperature,
         "--greedy is --temperature 0, so it and --temperature exclude each other; leave one out");
  refuse(greedy && (options.top_k || options.top_p),
         "without temperature the most probable token is taken, whatever --top-k and --top-p keep; leave them out");
  refuse(options.last_k && request.repetition.penalty == 1.0,
         "--last-k says how many tokens --repetition-penalty is for; add --repetition-penalty");
  refuse(options.soft_only && !controls.active(), "--soft-only is for controls; add --control");
  const bool mixes = !controls.soft_only && std::abs(controls.polarity()) > controls.hard_above;
  refuse(!mixes && (options.alpha || options.mixture_temperature || options.mixture_top_p),
         "--alpha, --mixture-temperature and --mixture-top-p shape how adjectives of a hard request are drawn; add "
         "--control pos_high=0.95 or neg_high=0.95 (above 0.6), without --soft-only");
  const ClassMixture& mixture = controls.polarity() > 0.0 ? controls.positive : controls.negative;
  refuse(options.nucleus && (greedy || request.sampling.top_p == 1.0) && !(mixes && mixture.top_p < 1.0),
         "--nucleus says how --top-p is read; add --top-p");
}

// Each control once, and of two that work against each other only one.
void read_controls(const std::vector<std::string>& assignments, ControlOptions& controls) {
  std::vector<std::string> given;
  for (const std::string& assignment : assignments) {
    set_control(controls, assignment);
    const std::string name = assignment.substr(0, assignment.find('='));
    if (std::ranges::find(given, name) != given.end()) {
      throw Error(fmt::format("control {} is set twice; set it once", name));
    }
    given.push_back(name);
  }
  const auto both = [&](const char* a, const char* b) {
    return std::ranges::find(given, a) != given.end() && std::ranges::find(given, b) != given.end();
  };
  if (both("pos_high", "neg_high") && controls.pos_high > 0.0 && controls.neg_high > 0.0) {
    throw Error(fmt::format("of pos_high and neg_high only the difference counts; set one of them, here {}={:.4g}",
                            controls.polarity() >= 0.0 ? "pos_high" : "neg_high", std::abs(controls.polarity())));
  }
  if (both("str_high", "str_med") && controls.str_high > 0.0 && controls.str_med > 0.0) {
    throw Error("of str_high and str_med only the larger counts; set one of them");
  }
}

// "2" for all knobs, or "polarity=2,length=1" for some; those of rules of a grammar are not known here.
void read_guidance(const std::optional<std::string>& text, bool has_grammar, GenerationRequest& request) {
  if (!text || text->find('=') == std::string::npos) {
    request.guidance = parse_number("--guidance", text).value_or(request.guidance);
    return;
  }
  for (const std::string& part : split_at_commas({*text})) {
    const std::size_t equals = part.find('=');
    const std::string knob = part.substr(0, equals);
    const bool is_set = std::ranges::find(request.knobs, knob, &KnobSetting::knob) != request.knobs.end();
    if (equals == std::string::npos || !(is_set || has_grammar)) {
      throw Error(fmt::format("--guidance: {} is no weight of a knob that is set; write a number for all, or {}=2",
                              quoted_text(part), request.knobs.empty() ? "NAME" : request.knobs.front().knob));
    }
    request.knob_guidance.push_back(
        {.knob = knob, .weight = parse_number("--guidance " + knob, part.substr(equals + 1)).value()});
  }
}

GenerationRequest request_of(const GenerateFlags& options, const LanguageModel& model, const Generator& generator) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t kMostTokens = 100'000;
  GenerationRequest request;
  ControlOptions controls;
  std::optional<std::string> grammar = options.grammar;
  if (options.preset) {
    const GenerationPreset& preset = generation_preset(*options.preset);
    request.sampling = preset.sampling;
    request.repetition = preset.repetition;
    controls = preset.controls;
    if (!grammar) grammar = "one-clause";
  }
  request.prompt = options.prompt;
  request.seed = parse_whole_number("--seed", options.seed, 0, kMost).value();
  request.explain = options.explain;
  request.sampling.temperature =
      parse_number("--temperature", options.temperature).value_or(request.sampling.temperature);
  request.sampling.top_k = parse_whole_number("--top-k", options.top_k, 0, kMost).value_or(request.sampling.top_k);
  request.sampling.top_p = parse_number("--top-p", options.top_p).value_or(request.sampling.top_p);
  if (options.nucleus) request.sampling.nucleus = *options.nucleus == "paper" ? Nucleus::paper : Nucleus::usual;
  if (options.greedy) request.sampling.temperature = 0.0;
  request.repetition.penalty =
      parse_number("--repetition-penalty", options.repetition_penalty).value_or(request.repetition.penalty);
  request.repetition.last_k =
      parse_whole_number("--last-k", options.last_k, 0, kMost).value_or(request.repetition.last_k);
  request.max_tokens =
      parse_whole_number("--max-tokens", options.max_tokens, 1, kMostTokens).value_or(request.max_tokens);
  for (const std::string& text : options.knobs) request.knobs.push_back(read_knob(model.options().knobs, text));
  request_row(model.options().knobs, request.knobs);  // Throws if they do not fit together.
  read_guidance(options.guidance, grammar.has_value(), request);
  request.calibrated = !options.uncalibrated;
  read_controls(split_at_commas(options.controls), controls);
  controls.soft_only = options.soft_only;
  for (ClassMixture* mixture : {&controls.positive, &controls.negative}) {
    mixture->alpha = parse_number("--alpha", options.alpha).value_or(mixture->alpha);
    mixture->temperature =
        parse_number("--mixture-temperature", options.mixture_temperature).value_or(mixture->temperature);
    mixture->top_p = parse_number("--mixture-top-p", options.mixture_top_p).value_or(mixture->top_p);
  }
  refuse_ignored(options, request, controls);
  request.rules = control_rules(controls, request.sampling, model);
  if (!request.rules.empty() && !grammar) {
    throw Error(
        "--control acts where a grammar leaves a choice of adjectives, intensifiers or marks; add --grammar "
        "one-clause or a file of your own");
  }
  if (grammar) request.grammar = generator.compile(find_grammar(*grammar, model.feature_bank().lexicon()));
  const bool rules_ask = request.grammar && !request.grammar->grammar().settings().empty();
  if (options.guidance && request.knobs.empty() && !rules_ask) {
    throw Error("--guidance goes past what knobs are set to; add --knob, or settings in a grammar");
  }
  return request;
}

// The requests of one call, some at a time: n of the request, or of each prompt that standard input has.
class RequestSource {
 public:
  RequestSource(const GenerationRequest& request, std::uint64_t n, bool from_input)
      : request_(request), n_(n), from_input_(from_input), prompts_left_(!from_input) {}

  // False if there are no more.
  bool next(std::vector<GenerationRequest>& requests) {
    constexpr std::uint64_t kAtOnce = 512;  // Sentences appear while the next ones are in the making.
    requests.clear();
    while (requests.size() < kAtOnce && n_ > 0 && has_prompt()) {
      requests.push_back(request_);
      requests.back().index = made_++;
      if (made_ == n_) prompts_left_ = false;
    }
    total_ += requests.size();
    return !requests.empty();
  }
  std::uint64_t total() const { return total_; }

 private:
  bool has_prompt() {
    if (prompts_left_) return true;
    if (!from_input_ || !std::getline(std::cin, request_.prompt)) return false;
    if (request_.prompt.ends_with('\r')) request_.prompt.pop_back();
    made_ = 0;  // A prompt is continued as by --prompt.
    return prompts_left_ = true;
  }

  GenerationRequest request_;
  std::uint64_t n_;
  bool from_input_;
  bool prompts_left_;  // Some of the n of this prompt are not made yet.
  std::uint64_t made_ = 0;
  std::uint64_t total_ = 0;
};

int generate(const GenerateFlags& options) {
  const Checkpoint checkpoint = load_checkpoint(options.run);
  const Generator generator(checkpoint.model, parse_threads(options.threads));
  GenerationRequest request = request_of(options, checkpoint.model, generator);
  const SteeringFlags::Generate generate_all = options.steering.apply_to(request, checkpoint.model, generator);
  for (const std::string& line : inexact_settings(checkpoint.model, request)) notify(line);
  RequestSource source(request,
                       parse_whole_number("--n", options.n, 0, std::numeric_limits<std::int64_t>::max()).value(),
                       options.from_input);
  const Terminal out(stdout);
  // A person sees a single text grow.
  const bool shows_live = out.is_terminal() && !options.json && !options.explain && !options.from_input &&
                          !options.steering.method && checkpoint.model.tokenizer() != nullptr;
  std::uint64_t cut = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t unmet = 0;
  std::uint64_t failed = 0;
  std::string error;
  std::vector<GenerationRequest> requests;
  for (bool first = true; source.next(requests); first = false) {
    std::optional<LiveText> live;
    if (shows_live && requests.size() == 1) live.emplace(checkpoint.model, out, requests.front().prompt);
    const auto show = [&](std::size_t, const GeneratedToken& token) {
      live->add(token);
      return true;
    };
    const std::vector<Generation> generations = live ? generator.generate(requests, show) : generate_all(requests);
    if (!options.from_input &&
        std::ranges::all_of(generations, [](const Generation& each) { return each.error.has_value(); })) {
      throw Error(*generations.front().error);
    }
    // Not before: bad input is one line, which says what is wrong with it.
    if (first && !request.grammar && checkpoint.model.options().attention == AttentionMask::bidirectional) {
      notify("this model reads both ways and was not trained to generate; use --grammar, or train the preset semfuse");
    }
    if (first && request.grammar && !request.grammar->promises_end()) {
      notify(
          "not every text can be searched for its end with this grammar and vocabulary; one may come to where no token "
          "goes on");
    }
    std::string text;
    for (const Generation& generation : generations) {
      if (generation.error) {
        error = *generation.error;
        ++failed;
        if (!options.json) continue;
      }
      text += options.json      ? json_line(generation, options.explain)
              : options.explain ? explained(out, generation)
              : live            ? live->rest(generation.text) + '\n'
                                : printable(generation.text) + '\n';
      if (generation.grammar == Generation::GrammarState::incomplete) {
        ++incomplete;
      } else if (generation.finish == Generation::Finish::out_of_tokens) {
        ++cut;
      }
      if (!generation.unmet.empty()) ++unmet;
    }
    out.print(text);
  }
  const std::uint64_t n = source.total();
  if (cut > 0) {
    notify(fmt::format("{} of {} sentences reached --max-tokens {} before their end", with_separators(cut),
                       with_separators(n), request.max_tokens));
  }
  if (incomplete > 0) {
    notify(
        fmt::format("{} of {} sentences are not in the language: --max-tokens {} ended them before the grammar "
                    "did; raise it",
                    with_separators(incomplete), with_separators(n), request.max_tokens));
  }
  if (unmet > 0) {
    notify(fmt::format("in {} of {} sentences the grammar allowed nothing of what a control asks for",
                       with_separators(unmet), with_separators(n)));
  }
  if (failed > 0) {
    notify(fmt::format("{} of {} sentences failed, the last one since {}", with_separators(failed), with_separators(n),
                       printable(error)));
  }
  return failed > 0 || incomplete > 0 ? 1 : 0;
}

}  // namespace

Command generate_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("generate", "Generate sentences with a trained model");
  const auto options = std::make_shared<GenerateFlags>();
  std::vector<std::string> presets;
  for (const GenerationPreset& preset : generation_presets()) presets.push_back(preset.name);
  app->add_option("RUN", options->run, "A run folder or a .safetensors file, or a model that was imported")->required();
  app->heading("What to generate");
  app->add_option("--n", options->n, "Number of sentences (1)")->type_name("N");
  app->add_option("--seed", options->seed, "Same seed, same sentences (1)")->type_name("N");
  app->add_option("--prompt", options->prompt, "How every sentence begins")->type_name("TEXT");
  app->add_flag("--stdin", options->from_input, "A prompt each line of standard input; --n sentences of each");
  app->add_option("--grammar", options->grammar, "A GBNF file, or a built-in grammar: one-clause, two-clause, json")
      ->type_name("FILE");
  app->add_option("--max-tokens", options->max_tokens,
                  "Most tokens of a sentence, prompt included; with a grammar it is closed in time (64)")
      ->type_name("N");
  app->heading("Knobs");
  app->add_option("--knob", options->knobs,
                  "NAME=VALUE, what the model is asked for: polarity=0.7, strength=0.35, mark=?:0.6,.:0.4; may be "
                  "repeated; `semfuse inspect RUN` lists a model's knobs")
      ->type_name("SETTING");
  app->add_option("--guidance", options->guidance,
                  "How far past the knobs' settings, 0 to 20; 1: as calibrated, 0: as if nothing were set (1); "
                  "polarity=2,length=1 gives knobs weights of their own")
      ->type_name("W");
  app->add_flag("--uncalibrated", options->uncalibrated,
                "Ask for the settings as they stand, whatever `semfuse calibrate` has found");
  options->steering.add_to(*app);
  app->heading("Sampling");
  app->add_option("--temperature", options->temperature, "Divides the logits; 0 is greedy (1)")->type_name("T");
  app->add_option("--top-k", options->top_k, "Keep the K most probable tokens; 0: all (0)")->type_name("K");
  app->add_option("--top-p", options->top_p, "Keep the nucleus of this mass (1)")->type_name("P");
  app->add_flag("--greedy", options->greedy, "Always the most probable token");
  app->add_option("--repetition-penalty", options->repetition_penalty,
                  "ln of it is taken off the logits of recent tokens (1: none)")
      ->type_name("X");
  app->add_option("--last-k", options->last_k, "How many tokens are recent (3)")->type_name("K");
  app->heading("The paper's controls");
  app->add_option("--preset", options->preset,
                  fmt::format("Settings of the paper's tables, with its grammar: {}", fmt::join(presets, ", ")))
      ->type_name("NAME");
  app->add_option("--control", options->controls,
                  fmt::format("NAME=VALUE,... from 0 to 1, with a grammar: {}", fmt::join(control_names(), ", ")))
      ->type_name("LIST");
  app->add_flag("--soft-only", options->soft_only, "Controls only shift probabilities; nothing is ruled out");
  app->add_option("--alpha", options->alpha, "Share of the uniform part in the class mixture of hard requests")
      ->type_name("A");
  app->add_option("--mixture-temperature", options->mixture_temperature, "Temperature of the class mixture")
      ->type_name("T");
  app->add_option("--mixture-top-p", options->mixture_top_p, "Nucleus of the class mixture")->type_name("P");
  app->add_option("--nucleus", options->nucleus, "usual: the token that crosses the mass stays; paper: it goes (usual)")
      ->choices({"usual", "paper"});
  app->heading("");
  app->add_flag("--json", options->json, "One JSON object a line: text, tokens, log_probabilities, grammar_state, ...");
  app->add_flag("--explain", options->explain, "Token by token: the model alone, grammar, controls, sampler");
  app->add_option("--threads", options->threads, "The result is the same for any number (one for each processor)")
      ->type_name("N");
  app->footer(
      "Without options the sentences follow the model's own distribution (<pad> and <bos> left out).\n"
      "Exit code 1 if a sentence failed, or --max-tokens ended it before the grammar did.\n\n"
      "Examples:\n"
      "  semfuse generate run --n 5 --seed 1\n"
      "  semfuse generate run --grammar one-clause --prompt \"Carol starts the model,\"\n"
      "  semfuse generate run --n 5 --knob polarity=0.7 --knob strength=0.35 --knob 'mark=?:0.6,.:0.4'\n"
      "  semfuse generate model --stdin <beginnings.txt\n"
      "  semfuse generate run --preset paper-positive --n 5\n"
      "  semfuse generate run --grammar one-clause --control neg_high=0.95,is_question=1 --explain\n");
  return {.app = app, .purpose = "generating", .run = [options] { return generate(*options); }};
}

}  // namespace semfuse
