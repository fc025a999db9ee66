// Trains the paper's fusion model on the built-in corpus and measures it.
#include <cstdio>
#include <exception>

#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"

int main(int argc, char** argv) try {
  semfuse::Experiment experiment = semfuse::preset_experiment("paper-fusion");
  for (int i = 1; i < argc; ++i) semfuse::set_key(experiment, argv[i]);  // For example training.epochs=1
  semfuse::Assembly assembly = semfuse::assemble(experiment);
  semfuse::Trainer trainer = assembly.new_trainer();
  while (!trainer.done()) {
    const semfuse::StepReport step = trainer.step();
    if (!step.ends_epoch) continue;
    const semfuse::Evaluation result = assembly.evaluate();
    std::printf("epoch %zu: perplexity %.3f, seen-only %.3f\n", step.epoch, result.perplexity,
                result.seen_only_perplexity);
  }
  semfuse::save_checkpoint("model.safetensors", assembly.model, experiment);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
