#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "backbone/adapted_model.h"
#include "backbone/hf_export.h"
#include "command.h"
#include "run/exported_model.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct ExportFlags {
  std::string run;
  std::string to;
};

int run(const ExportFlags& options) {
  if (ImportedModel::is_at(options.run)) {
    const ImportedModel model(options.run);
    export_hf_model(model, options.to);
    Terminal(stdout).print(fmt::format("{}: model.safetensors and config.json for transformers{}\n",
                                       printable(options.to), model.tokenizer() != nullptr ? ", tokenizer.json" : ""));
    return 0;
  }
  const Checkpoint checkpoint = load_checkpoint(options.run);
  if (const BackboneNetwork* network = adapted_network(checkpoint.model)) {
    throw Error(fmt::format("{}: is an adapter, which other programs do not know; export its backbone, {}", options.run,
                            network->file()->path));
  }
  export_model(options.to, checkpoint);
  Terminal(stdout).print(fmt::format("{}: model.safetensors with {} parameters, config.json, {}\n",
                                     printable(options.to), with_separators(checkpoint.model.parameter_count()),
                                     checkpoint.model.tokenizer() != nullptr ? "tokenizer.json" : "vocab.txt"));
  return 0;
}

}  // namespace

Command export_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("export", "Write a model for other programs, such as PyTorch");
  const auto options = std::make_shared<ExportFlags>();
  app->add_option("RUN_OR_FILE", options->run, "A run folder or an imported model, or its model.safetensors")
      ->required();
  app->add_option("--to", options->to,
                  "Folder for model.safetensors, config.json and vocab.txt, or tokenizer.json of a model of files")
      ->type_name("DIR")
      ->required();
  app->footer(
      "docs/file_formats.md has the Python that rebuilds the model from these files. An imported model is written in "
      "Hugging\n"
      "Face's layout, which transformers loads.\n\n"
      "Examples:\n"
      "  semfuse export run --to exported\n"
      "  semfuse export smol --to smol-hf\n");
  return {.app = app, .purpose = "this file", .run = [options] { return run(*options); }};
}

}  // namespace semfuse
