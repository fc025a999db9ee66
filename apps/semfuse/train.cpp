#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "training_command.h"

namespace semfuse {

Command train_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("train", "Train a model on your own texts, or on the synthetic corpus");
  const auto options = std::make_shared<TrainingCommandOptions>();
  options->command = "train";
  app->heading("What to train");
  CommandOption* preset = app->add_option("--preset", options->request.preset,
                                          fmt::format("A built-in experiment: {} (default: {})",
                                                      fmt::join(preset_names(), ", "), TrainingRequest::kDefaultPreset))
                              ->type_name("NAME");
  CommandOption* config = app->add_option("--config", options->request.config,
                                          "An experiment as a TOML file, such as the config.toml of a run")
                              ->type_name("FILE")
                              ->excludes(preset);
  CommandOption* set = app->add_option("--set", options->request.settings, "Change one setting; may be repeated")
                           ->type_name("KEY=VALUE");
  CommandOption* seed =
      app->add_option("--seed", options->request.seed, "Decides corpus, first weights, order and dropout")
          ->type_name("N");
  CommandOption* held_out =
      app->add_option(
             "--held-out", options->request.held_out,
             "Words never drawn in training: a comma list, `random` (three adjectives per polarity, by the seed), "
             "`random-classes` (a subject, a verb, an object, an adjective per polarity) or `none`; with --data a file "
             "of a word a line, whose texts are kept to measure with")
          ->type_name("LIST");
  CommandOption* lexicon = app->add_option("--lexicon", options->request.lexicon,
                                           "What words mean: a TSV file, of which the run keeps a copy, or "
                                           "`synthetic`, `english`, `none` (default: as the "
                                           "preset says)")
                               ->type_name("FILE");
  std::vector<CommandOption*> others = add_data_options(*app, *options);
  CommandOption* init =
      app->add_option(
             "--init", options->request.init,
             "Go on from the weights of this model, with other data or more epochs: what it is does not change")
          ->type_name("RUN");
  others.insert(others.end(), {preset, config, set, seed, held_out, lexicon, init});
  add_run_options(*app, *options, others);
  app->footer(
      "Without --preset and --config the semfuse model is trained: causal, with an open vocabulary. Ctrl-C stops after "
      "the current step and "
      "saves a\n"
      "checkpoint; --resume goes on from it and ends with the same model, bit by bit. The model of the last whole "
      "epoch "
      "is\n"
      "in RUN/model.safetensors. Started by mpirun or srun, processes share each batch and end with the same model "
      "(docs/clusters.md).\n\n"
      "Examples:\n"
      "  semfuse train --preset paper-fusion --out run\n"
      "  semfuse train --preset paper-baseline --set model.width=256 --set training.epochs=2 --seed 7 --out wide\n"
      "  semfuse train --data reviews.tsv --out model\n"
      "  semfuse train --data news.csv --heading topic,title,text --out model\n"
      "  semfuse train --init model --data more.tsv --out model2\n"
      "  semfuse train --config run/config.toml --out again\n"
      "  semfuse train --resume run\n"
      "  mpirun -n 4 semfuse train --set training.grain=256 --out run\n");
  return {.app = app, .purpose = "training this model", .run = [options] { return run_training(*options); }};
}

}  // namespace semfuse
