#include "backbone/imported_language_model.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "backbone/adapted_model.h"
#include "backbone/backbone_stream_pass.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "text/foreign_parts.h"
#include "text/tokenizer_state.h"

namespace semfuse {

namespace {

// The file's tokenizer with the ids of a LanguageModel, and with all of the model's tokens.
Tokenizer shifted_tokenizer(const Tokenizer& tokenizer, std::size_t vocab_size, const std::string& origin) {
  const ForeignParts* own = ForeignTokenizers::parts(tokenizer);
  if (own == nullptr) {
    throw Error(fmt::format("{}: has a tokenizer of semfuse's own kind; import the model anew", origin));
  }
  ForeignParts parts = *own;
  const auto num_tokens = static_cast<TokenId>(parts.surfaces.size());
  const auto num_more = static_cast<TokenId>(vocab_size) - num_tokens;  // Entries that no text has.
  const auto shift = [&](TokenId& id) {
    // Characters that are no tokens count on from the last.
    if (id >= 0) id += kFirstBackboneToken + (id >= num_tokens ? num_more : 0);
  };
  parts.surfaces.insert(parts.surfaces.begin(), kFirstBackboneToken, std::string());
  parts.surfaces.resize(vocab_size + kFirstBackboneToken);
  for (AddedToken& token : parts.added) shift(token.id);
  for (Merge& merge : parts.merges) {
    shift(merge.left);
    shift(merge.right);
    shift(merge.result);
  }
  for (TokenId& id : parts.byte_ids) shift(id);
  if (parts.unknown) shift(*parts.unknown);
  return ForeignTokenizers::make(std::move(parts), origin);
}

// Names that differ: what a token stands for, unless another stands for the same or it stands for nothing. Without a
// tokenizer tokens are written as their numbers.
Vocabulary vocabulary_of(std::size_t vocab_size, const Tokenizer* shifted) {
  std::vector<std::string> entries = {"<pad>", "<bos>", "<eos>"};
  std::vector<std::string> specials(shifted != nullptr ? vocab_size + kFirstBackboneToken : 0);
  if (shifted != nullptr) {
    for (const SpecialToken& special : shifted->specials())
      specials[static_cast<std::size_t>(special.id)] = special.name;
  }
  std::unordered_set<std::string> taken(entries.begin(), entries.end());
  entries.resize(vocab_size + kFirstBackboneToken);
  // Of several that look alike the last is the one that texts have: bytes for need come first.
  for (std::size_t id = entries.size() - 1; id >= static_cast<std::size_t>(kFirstBackboneToken); --id) {
    std::string name = std::to_string(id - kFirstBackboneToken);
    if (shifted != nullptr) name = specials[id].empty() ? shifted->surfaces()[id] : specials[id];
    if (name.empty() || !taken.insert(name).second) {
      name = fmt::format("<token {}>", id - kFirstBackboneToken);
      taken.insert(name);
    }
    entries[id] = std::move(name);
  }
  return Vocabulary(std::move(entries));
}

}  // namespace

BackboneTokens tokens_of(const Backbone& backbone) {
  const BackboneSpec& spec = backbone.spec();
  std::optional<Tokenizer> tokenizer;
  if (backbone.tokenizer() != nullptr) {
    tokenizer = shifted_tokenizer(*backbone.tokenizer(), spec.vocab_size, backbone.origin());
  }
  Vocabulary vocabulary = vocabulary_of(spec.vocab_size, tokenizer ? &*tokenizer : nullptr);
  return {.vocabulary = std::move(vocabulary), .tokenizer = std::move(tokenizer)};
}

LanguageModel load_imported(const std::filesystem::path& path) {
  auto network = std::make_shared<const BackboneNetwork>(path);
  const ModelOptions options = options_of(network->backbone().spec());
  auto [vocabulary, tokenizer] = tokens_of(network->backbone());
  return ModelAccess::pretrained(options, std::move(vocabulary), std::move(tokenizer), std::move(network));
}

}  // namespace semfuse
