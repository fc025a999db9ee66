#include <memory>

#include "command.h"
#include "semfuse/error.h"
#include "training_command.h"

namespace semfuse {

Command adapt_command(CommandLine& program) {
  CommandLine* app =
      program.add_subcommand("adapt", "Give knobs to an imported model: train what is beside it, leave it as it is");
  const auto options = std::make_shared<TrainingCommandOptions>();
  options->command = "adapt";
  app->heading("What to train");
  CommandOption* model =
      app->add_option("MODEL", options->request.backbone, "What `semfuse import` wrote: its folder or its file");
  std::vector<CommandOption*> others = add_data_options(*app, *options);
  CommandOption* rank =
      app->add_option("--rank", options->request.rank,
                      "Rank of the updates of attention and feed-forward; 0: requests enter at the embedding alone "
                      "(default: 8)")
          ->type_name("N");
  CommandOption* lexicon = app->add_option("--lexicon", options->request.lexicon,
                                           "What words mean, for knobs of them: a TSV file, of which the run keeps a "
                                           "copy, or `english`, `none` (default: none)")
                               ->type_name("FILE");
  CommandOption* set = app->add_option("--set", options->request.settings, "Change one setting; may be repeated")
                           ->type_name("KEY=VALUE");
  CommandOption* seed =
      app->add_option("--seed", options->request.seed, "Decides first weights and order")->type_name("N");
  others.insert(others.end(), {model, rank, lexicon, set, seed});
  add_run_options(*app, *options, others);
  app->footer(
      "RUN/model.safetensors holds the adapter and its heads and says which model they are for, by path and hash; RUN "
      "is then a\nmodel for generate, score, serve, sweep, calibrate and inspect. A probability of a column is turned "
      "by "
      "a head, which is\ntrained at the end. Without a knob it is the imported model, bit by bit. Any number of "
      "adapters "
      "may share a model.\n\n"
      "Examples:\n"
      "  semfuse adapt imported --data reviews.tsv --out knobbed\n"
      "  semfuse generate knobbed --knob polarity=0.9 --prompt \"The food\"\n"
      "  semfuse adapt imported --data stories.txt --lexicon english --set \"model.knobs=polarity: probability of "
      "polarity\" --out sunny\n"
      "  semfuse adapt --resume knobbed\n");
  return {.app = app, .purpose = "training this adapter", .run = [options] {
            if (!options->request.backbone && !options->resume) {
              throw Error("the model is missing: name what `semfuse import` wrote; see `semfuse adapt --help`");
            }
            if (options->request.backbone && options->request.data.empty()) {
              throw Error("--data is missing: name texts with labels; see `semfuse adapt --help`");
            }
            return run_training(*options);
          }};
}

}  // namespace semfuse
