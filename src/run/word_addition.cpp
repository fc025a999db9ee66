#include "run/word_addition.h"

#include <fmt/format.h>

#include <optional>

#include "config/feature_sources.h"
#include "io/file.h"
#include "io/output_folder.h"
#include "run/run_files.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// The configuration that trained the model, with the lexicon and the like beside it that it may name, so that both
// repeat the training. A model that does not say, or whose lexicon is gone, has no config.toml; no training wrote this
// folder in any case, and none can go on in it: it holds no log and no checkpoints.
void write_experiment(const RunFiles& files, const Checkpoint& checkpoint, const std::filesystem::path& run) {
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  if (!experiment) return;
  std::error_code ignored;
  const std::filesystem::path before = std::filesystem::is_directory(run, ignored) ? run : run.parent_path();
  const auto is_kept = [&](const FeatureSource& source) { return (*experiment).*source.name == source.kept_as; };
  for (const FeatureSource& source : feature_sources()) {
    if (is_kept(source) && !std::filesystem::exists(before / source.kept_as, ignored)) return;
  }
  for (const FeatureSource& source : feature_sources()) {
    if (is_kept(source)) write_atomically(files.folder / source.kept_as, read_text(before / source.kept_as));
  }
  write_atomically(files.config(), checkpoint.config);
}

}  // namespace

WordAddition add_words(const std::filesystem::path& run, const std::vector<LexiconEntry>& words,
                       const std::string& origin, const std::filesystem::path& out) {
  const std::filesystem::path path = OutputFolder::checked(out.string());
  const Checkpoint checkpoint = load_checkpoint(run);
  const LanguageModel larger = [&] {
    try {
      return checkpoint.model.with_words(words);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", origin, error.what()));
    }
  }();
  const std::optional<Experiment> experiment = checkpoint.find_experiment();
  const bool grades = experiment && experiment->training.polarity_jitter > 0.0;
  const OutputFolder folder(path);
  const RunFiles files{path};
  const std::filesystem::path file = files.model();
  try {
    save_checkpoint(file, larger, checkpoint.config);
    write_experiment(files, checkpoint, run);
  } catch (const Error&) {  // What stays would be in the way of another attempt.
    std::error_code ignored;
    for (const std::filesystem::path& written : {file, files.config()}) std::filesystem::remove(written, ignored);
    for (const FeatureSource& source : feature_sources()) std::filesystem::remove(path / source.kept_as, ignored);
    throw;
  }
  return {.model = file,
          .num_added = words.size(),
          .vocab_size = larger.vocabulary().size(),
          .doubts = unfamiliar_words(checkpoint.model, words, grades)};
}

}  // namespace semfuse
