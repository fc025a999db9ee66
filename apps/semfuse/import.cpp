#include <fmt/format.h>

#include <memory>

#include "backbone/model_import.h"
#include "backbone_view.h"
#include "command.h"
#include "io/json_writer.h"
#include "io/output_folder.h"
#include "study_progress.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct ImportFlags {
  std::string path;
  std::string out;
  std::string tokenizer;
  std::string quantise = "none";
  bool json = false;
  bool quiet = false;
};

int run(const ImportFlags& options) {
  OutputFolder::checked(options.out);
  const ForeignModel model = open_foreign_model(options.path, options.tokenizer);
  check_tensors(model, options.path);
  const Quantisation quantisation = options.quantise == "q8"   ? Quantisation::q8
                                    : options.quantise == "q4" ? Quantisation::q4
                                                               : Quantisation::none;
  const OutputFolder folder(options.out);
  StudyProgress progress(options.quiet);
  const ImportReport report = import_model(model, folder.path(), quantisation, [&](std::size_t done, std::size_t all) {
    progress.show("importing", static_cast<double>(done) / static_cast<double>(all));
  });
  progress.clear();
  const std::string file = (folder.path() / "model.safetensors").string();
  const Terminal terminal(stdout);
  if (options.json) {
    Json types = Json::object();
    Json tokenizer;
    if (model.tokenizer) tokenizer = Json(to_string(model.tokenizer->kind()));
    for (const auto& [type, count] : report.num_types) types[to_string(type)] = count;
    terminal.print(Json{{"file", file},
                        {"kind", model.kind},
                        {"family", to_string(model.spec.family)},
                        {"parameter_count", report.num_parameters},
                        {"bytes", report.num_bytes},
                        {"types", std::move(types)},
                        {"not_quantised", report.num_kept},
                        {"tokenizer", std::move(tokenizer)}}
                       .dump() +
                   '\n');
    return 0;
  }
  std::vector<std::string> types;
  for (const auto& [type, count] : report.num_types)
    types.push_back(fmt::format("{} {}", with_separators(count), to_string(type)));
  terminal.print(fmt::format("{}: {} parameters, {:.1f} MB, matrices: {}\n", printable(file),
                             with_separators(report.num_parameters), static_cast<double>(report.num_bytes) / 1e6,
                             fmt::join(types, ", ")));
  if (report.num_kept > 0) {
    terminal.print(
        fmt::format("{} not quantised: rows are not whole blocks of 32\n", counted(report.num_kept, "tensor")));
  }
  terminal.print(terminal.flowed(tokenizer_line(model)) + '\n');
  return 0;
}

}  // namespace

Command import_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("import", "Make a model of somebody else's: Hugging Face, GGUF, llama2.c");
  const auto options = std::make_shared<ImportFlags>();
  app->add_option(
         "PATH", options->path,
         "A Hugging Face folder (config.json, safetensors), a GGUF file, or a model of llama2.c; Llama or GPT-2")
      ->required();
  app->add_option("--out", options->out, "Folder for model.safetensors: a new one, or an empty one")
      ->type_name("DIR")
      ->required();
  app->add_option(
         "--tokenizer", options->tokenizer,
         "tokenizer.json, vocab.json, .model, tokenizer.bin or a GGUF file (default: inside or beside the model)")
      ->type_name("FILE");
  app->add_option("--quantize", options->quantise, "Store matrices with 8 or 4 bits (default: as they are)")
      ->choices({"none", "q8", "q4"});
  app->add_flag("--json", options->json, "Print one JSON object");
  app->add_flag("--quiet", options->quiet, "No progress");
  app->footer(
      "Numbers stay as they are stored (F32, F16, BF16, blocks of GGUF) unless --quantize says otherwise. "
      "docs/backbones.md\n"
      "says what can be read; `semfuse inspect PATH` shows a model without importing it.\n\n"
      "Examples:\n"
      "  semfuse import SmolLM2-135M-Instruct.Q4_1.gguf --out smol\n"
      "  semfuse import TinyLlama-1.1B/ --quantize q8 --out tiny\n"
      "  semfuse import stories15M.bin --tokenizer tokenizer.bin --out stories\n");
  return {.app = app, .purpose = "the model", .run = [options] { return run(*options); }};
}

}  // namespace semfuse
