#include "features/vector_training.h"

#include <fasttext/fasttext.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::uint64_t kWantedWords = 10'000'000;  // To be read in all epochs together, within these limits.
constexpr std::uint64_t kFewestEpochs = 5;
constexpr std::uint64_t kMostEpochs = 20;
constexpr std::size_t kMostWords = 30'000;  // That have vectors of their own; rarer ones are made of their parts.

fasttext::Args arguments(const std::filesystem::path& file, const VectorTrainingOptions& options) {
  fasttext::Args args;
  args.input = file.string();
  args.model = fasttext::model_name::sg;
  args.loss = fasttext::loss_name::ns;
  args.dim = static_cast<int>(options.width);
  args.minn = static_cast<int>(WordVectors::kShortestPart);
  args.maxn = static_cast<int>(WordVectors::kLongestPart);
  args.bucket = static_cast<int>(WordVectors::kBuckets);
  args.minCount = 2;
  args.epoch = static_cast<int>(
      std::clamp(kWantedWords / std::max<std::uint64_t>(options.num_words, 1), kFewestEpochs, kMostEpochs));
  args.thread = 1;
  args.seed = 1;
  args.verbose = 0;
  args.label.assign(1, '\n');  // No word begins so: there are no labels.
  return args;
}

WordVectorTables tables_of(const fasttext::FastText& model) {
  const auto dictionary = model.getDictionary();
  const auto input = model.getInputMatrix();
  const auto num_words = static_cast<std::int64_t>(dictionary->nwords());
  WordVectorTables tables{.width = static_cast<std::size_t>(model.getDimension())};
  std::set<std::int64_t> parts;  // Others were never trained.
  fasttext::Vector row(model.getDimension());
  for (std::int32_t w = 0; w < dictionary->nwords(); ++w) {
    const std::string word = dictionary->getWord(w);
    if (word == fasttext::Dictionary::EOS) continue;
    for (const std::int32_t subword : dictionary->getSubwords(w)) {
      if (subword >= num_words) parts.insert(subword - num_words);
    }
    if (tables.words.size() == kMostWords) continue;  // The most frequent come first.
    tables.words.push_back(word);
    model.getWordVector(row, word);
    for (std::int64_t j = 0; j < row.size(); ++j) tables.word_rows.push_back(row[j]);
  }
  for (const std::int64_t part : parts) {
    tables.parts.push_back(static_cast<std::uint32_t>(part));
    for (std::int64_t j = 0; j < input->cols(); ++j) tables.part_rows.push_back(input->at(num_words + part, j));
  }
  return tables;
}

}  // namespace

WordVectors train_word_vectors(const std::filesystem::path& file, const VectorTrainingOptions& options) {
  fasttext::FastText model;
  WordVectorTables tables;
  try {
    model.train(arguments(file, options), [&](float progress, float, double, double, std::int64_t) {
      if (options.on_progress && !options.on_progress(static_cast<double>(progress))) model.abort();
    });
    tables = tables_of(model);
  } catch (const fasttext::FastText::AbortError&) {
    throw Error("training word vectors was stopped");
  } catch (const std::exception& error) {
    throw Error(fmt::format("word vectors cannot be trained ({}); name more text, or set features.vectors to none",
                            error.what()));
  }
  if (tables.words.empty()) {
    throw Error("word vectors cannot be trained: no word occurs twice; name more text");
  }
  return WordVectors(tables);
}

}  // namespace semfuse
