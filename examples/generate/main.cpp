// Generates sentences of a grammar with a trained model: generate_sentences model.safetensors
#include <cstdio>
#include <exception>
#include <vector>

#include "semfuse/checkpoint.h"
#include "semfuse/class_words.h"
#include "semfuse/generator.h"

int main(int argc, char** argv) try {
  const semfuse::Checkpoint checkpoint = semfuse::load_checkpoint(argc > 1 ? argv[1] : "model.safetensors");
  const semfuse::Generator generator(checkpoint.model);
  const semfuse::Lexicon& lexicon = checkpoint.model.feature_bank().lexicon();
  const auto grammar = generator.compile(semfuse::Grammar::builtin("one-clause", words_of(lexicon)));
  std::vector<semfuse::GenerationRequest> requests(5, {.prompt = "Alice", .grammar = grammar, .seed = 1});
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].index = i;  // (seed, index) decides every draw.
  for (const semfuse::Generation& generation : generator.generate(requests)) {
    std::printf("%s\n", generation.error ? generation.error->c_str() : generation.text.c_str());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
