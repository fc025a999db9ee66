// What a model is, apart from its weights: enough to build its network and to use it. A model file holds it as text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "semfuse/language_model.h"

namespace semfuse {

struct ModelSpec {
  ModelOptions options;
  FeatureOptions features;
  Vocabulary vocabulary;               // That of the tokenizer, if there is one.
  std::optional<Tokenizer> tokenizer;  // None: words of the vocabulary.
  Lexicon lexicon;
  std::vector<bool> seen;         // By id: whether an entry has an identity of its own.
  KnobSupport knob_support = {};  // What training has shown of the scalar knobs.
  Calibration calibration = {};   // What knobs have to be asked for.
  KnobHeads heads = {};           // What turns knobs instead.
  // Of FeatureSet::natural, with the same lexicon and options; else null.
  std::shared_ptr<const NaturalBank> natural = nullptr;
  std::shared_ptr<const WordVectors> vectors = nullptr;  // Null: words have none.

  FeatureBank bank() const;
};

ModelSpec spec_of(const LanguageModel& model);

using Metadata = std::map<std::string, std::string>;

// The entries "spec" (options and features, with a version), "tokenizer" or "vocabulary", "lexicon" and, if there is
// something to say, "unseen", "knob_support", "calibration", "heads", "declaration", "tagger" and "vectors": mostly
// JSON, documented in docs/file_formats.md. Throws Error if a word is not UTF-8.
Metadata to_metadata(const ModelSpec& spec);

// Reads and checks these entries; others do not count. Throws Error as "origin: what; what to do", in one line.
ModelSpec parse_model_spec(const Metadata& metadata, const std::string& origin);

// The same for metadata without "spec", as files of the first format are: options and features are known from
// elsewhere.
ModelSpec parse_model_spec(const Metadata& metadata, const std::string& origin, const ModelOptions& options,
                           const FeatureOptions& features);

// A JSON list of texts. Throws Error that names the key.
std::vector<std::string> parse_words(const Metadata& metadata, const std::string& key, const std::string& origin);

// For all that reads model files: "origin: what; it is damaged ...".
[[noreturn]] void refuse_model(const std::string& origin, const std::string& what);

}  // namespace semfuse
