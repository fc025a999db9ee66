#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "backbone/adapted_model.h"
#include "command.h"
#include "core/thread_pool.h"
#include "evaluation/text_score.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "settings.h"
#include "study_progress.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct ScoreFlags {
  std::string model;
  std::optional<std::string> text;
  std::optional<std::string> file;
  std::vector<std::string> ids;
  std::optional<std::string> window;
  std::optional<std::string> threads;
  std::vector<std::string> knobs;
  bool uncalibrated = false;
  bool json = false;
};

ScoreRequest request_of(const LanguageModel& model, const ScoreFlags& options) {
  const std::vector<Knob>& knobs = model.options().knobs;
  std::vector<KnobSetting> settings;
  for (const std::string& text : options.knobs) settings.push_back(parse_setting(knobs, text));
  if (settings.empty()) return {};
  request_row(knobs, settings);  // Throws if they do not fit together.
  if (options.uncalibrated) return {.row = request_row(knobs, settings)};
  // Of what the model is asked for: heads, and what maps say of them, have no part in how probable a text is then.
  Calibration maps = model.calibration();
  std::erase_if(maps, [&](const auto& map) { return model.heads().contains(map.first); });
  const CalibratedRequest mapped = calibrated(knobs, maps, settings);
  if (std::ranges::any_of(mapped.each, [&](double each) { return each != mapped.guidance; })) {
    throw Error("score: the maps of these knobs take different guidance; score one at a time, or add --uncalibrated");
  }
  return {.row = request_row(knobs, mapped.settings), .guidance = mapped.guidance};
}

TextScore score(const ScoreFlags& options) {
  const int given = (options.text ? 1 : 0) + (options.file ? 1 : 0) + (options.ids.empty() ? 0 : 1);
  if (given != 1) throw Error("score: give one of --text, --file and --ids");
  const std::size_t window =
      parse_whole_number("--window", options.window, 2, std::numeric_limits<std::uint32_t>::max()).value_or(0);
  const std::size_t threads = thread_count(parse_threads(options.threads));
  std::vector<TokenId> ids;
  for (const std::string& id : split_at_commas(options.ids)) {
    ids.push_back(
        static_cast<TokenId>(parse_whole_number("--ids", id, 0, std::numeric_limits<TokenId>::max()).value_or(0)));
  }
  const std::string text = options.file ? read_text(*options.file) : options.text.value_or("");
  if (options.uncalibrated && options.knobs.empty()) {
    throw Error("--uncalibrated asks for knobs as they are set; add --knob");
  }
  const ScoreProgress progress = show_progress("reading the text");
  if (ImportedModel::is_at(options.model)) {
    if (!options.knobs.empty()) {
      throw Error(fmt::format("--knob: {} has no knobs; give it some with `semfuse adapt`", printable(options.model)));
    }
    const Backbone backbone(options.model);
    return ids.empty() ? score_text(backbone, text, window, threads, progress)
                       : score_ids(backbone, ids, window, threads, progress);
  }
  const Checkpoint checkpoint = load_checkpoint(options.model);
  const LanguageModel& model = checkpoint.model;
  const ScoreRequest request = request_of(model, options);
  if (adapted_network(model) != nullptr) {
    return ids.empty() ? score_adapted_text(model, text, window, threads, request, progress)
                       : score_adapted_ids(model, ids, window, threads, request, progress);
  }
  return ids.empty() ? score_text(model, text, window, request, progress)
                     : score_ids(model, ids, window, request, progress);
}

int run(const ScoreFlags& options) {
  const TextScore result = score(options);
  if (options.json) {
    const Json object = {{"ids", result.ids},
                         {"nll", result.nll},
                         {"bits_per_byte", result.bits_per_byte()},
                         {"last_logits", std::vector<double>(result.last_logits.begin(), result.last_logits.end())}};
    Terminal(stdout).print(object.dump() + '\n');
    return 0;
  }
  double sum = 0.0;
  for (const double nll : result.nll) sum += nll;
  const double mean = sum / static_cast<double>(result.nll.size());
  std::string line = fmt::format("{} tokens, {:.4f} nats a token (perplexity {:.4g})",
                                 with_separators(result.ids.size()), mean, std::exp(mean));
  if (result.nll.empty()) line = "1 token, and nothing before it to predict it from";
  if (result.num_bytes > 0) line += fmt::format(", {:.4f} bits a byte", result.bits_per_byte());
  Terminal(stdout).print(line + '\n');
  return 0;
}

}  // namespace

Command score_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("score", "How probable a model finds a text, token by token");
  const auto options = std::make_shared<ScoreFlags>();
  app->add_option("MODEL", options->model, "A run folder or its model.safetensors, or a model that was imported")
      ->required();
  app->add_option("--text", options->text, "The text itself")->type_name("TEXT");
  app->add_option("--file", options->file, "A file with the text")->type_name("FILE");
  app->add_option("--ids", options->ids, "Tokens by their ids, as 1,5,9")->type_name("IDS");
  app->add_option("--window", options->window,
                  "Tokens read at a time (default: the model's context); a longer text goes on in the next window")
      ->type_name("N");
  app->add_option("--knob", options->knobs, "What the model is asked for, as NAME=VALUE; may be repeated")
      ->type_name("NAME=VALUE");
  app->add_flag("--uncalibrated", options->uncalibrated, "Ask for it as it stands, not as the model's map says");
  app->add_option("--threads", options->threads, "Threads to compute with; the result is the same for any number")
      ->type_name("N");
  app->add_flag("--json", options->json, "Print ids, nll of each token after the first, bits_per_byte, last_logits");
  app->footer(
      "Examples:\n"
      "  semfuse score model --text \"Once upon a time there was a little girl.\"\n"
      "  semfuse score model --file article.txt --window 512\n"
      "  semfuse score model --text \"The food was cold.\" --knob polarity=0.1\n"
      "  semfuse score model --ids 1,403,407,261,378 --json\n");
  return {.app = app, .purpose = "this text", .run = [options] { return run(*options); }};
}

}  // namespace semfuse
