#include "backbone/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "io/quoted_text.h"
#include "text/byte_characters.h"
#include "text/split_pattern.h"
#include "text/spm_pieces.h"
#include "text/tokenizer_state.h"

namespace semfuse {
namespace {

constexpr const char* kAgain = "fetch the file again";

constexpr std::string_view kLlama3Pattern =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// How a byte-level tokenizer cuts text is in the file by a name only.
struct NamedSplit {
  std::string_view name;
  bool single_digits;  // Numbers are cut into digits first.
  std::string_view pattern;
  bool whole_words = false;
};
constexpr std::array<NamedSplit, 13> kSplits = {{{"gpt-2", false, kGpt2Pattern},
                                                 {"mpt", false, kGpt2Pattern},
                                                 {"olmo", false, kGpt2Pattern},
                                                 {"jais", false, kGpt2Pattern},
                                                 {"phi-2", false, kGpt2Pattern},
                                                 {"smollm", true, kGpt2Pattern},
                                                 {"starcoder", true, kGpt2Pattern},
                                                 {"refact", true, kGpt2Pattern},
                                                 {"command-r", true, kGpt2Pattern},
                                                 {"codeshell", true, kGpt2Pattern},
                                                 {"llama-bpe", false, kLlama3Pattern, true},
                                                 {"llama3", false, kLlama3Pattern, true},
                                                 {"qwen2", false, kQwen2Pattern}}};

class GgufVocabularyReader {
 public:
  explicit GgufVocabularyReader(const GgufFile& file) : file_(file) {}

  ForeignParts read(std::string_view model) {
    const auto tokens = file_.texts("tokenizer.ggml.tokens");
    if (!tokens) file_.fail("has no tokenizer.ggml.tokens", kAgain);
    if (tokens->size() > kMaxTokenizerSize) file_.fail(fmt::format("has {} tokens", tokens->size()), kAgain);
    tokens_ = *tokens;
    types_ = file_.numbers("tokenizer.ggml.token_type").value_or(std::vector<double>(tokens_.size(), 1));
    if (types_.size() != tokens_.size()) file_.fail("has not as many token types as tokens", kAgain);
    if (model == "llama") return read_spm();
    if (model == "gpt2") return read_bpe();
    file_.fail(fmt::format("has the tokenizer {}", quoted_text(model)),
               "gpt2 (BPE) and llama (SentencePiece) can be read; or give another by --tokenizer");
  }

 private:
  ForeignParts read_spm() {
    const auto scores = file_.numbers("tokenizer.ggml.scores");
    if (!scores || scores->size() != tokens_.size()) file_.fail("has not as many scores as tokens", kAgain);
    std::vector<SpmPiece> pieces;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      pieces.push_back({std::string(tokens_[i]), (*scores)[i], spm_type(types_[i], file_.origin())});
    }
    ForeignParts parts = spm_parts(pieces, file_.origin());
    parts.prefix_blank = file_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    parts.squeezes_blanks = file_.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
    return parts;
  }

  ForeignParts read_bpe() {
    ForeignParts parts;
    parts.kind = TokenizerKind::bpe;
    const std::string_view name = file_.text("tokenizer.ggml.pre").value_or("");
    const auto* split =
        std::find_if(kSplits.begin(), kSplits.end(), [&](const NamedSplit& s) { return s.name == name; });
    if (split == kSplits.end()) {
      std::vector<std::string_view> known;
      known.reserve(kSplits.size());
      for (const NamedSplit& s : kSplits) known.push_back(s.name);
      file_.fail(name.empty() ? "does not say how text is cut (tokenizer.ggml.pre)"
                              : fmt::format("cuts text as {} (tokenizer.ggml.pre)", quoted_text(name)),
                 fmt::format("these can be read: {}; or give another by --tokenizer", fmt::join(known, ", ")));
    }
    if (split->single_digits) parts.patterns.emplace_back(R"(\p{N})");
    parts.patterns.emplace_back(split->pattern);
    parts.whole_words = split->whole_words;
    parts.prefix_blank = file_.boolean("tokenizer.ggml.add_space_prefix").value_or(false);
    std::unordered_map<std::string_view, TokenId> ids;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const SpmType type = spm_type(types_[i], file_.origin());
      const std::string_view token = tokens_[i];
      std::string surface;
      if (type == SpmType::normal || type == SpmType::byte) {
        surface = bytes_of_characters(token).value_or("");
        ids.emplace(token, id);
      } else if (type == SpmType::user_defined) {
        surface = token;
      }
      if (type != SpmType::normal && type != SpmType::byte && type != SpmType::unused && !token.empty()) {
        parts.added.push_back({id, std::string(token), type != SpmType::user_defined});
      }
      parts.surfaces.push_back(std::move(surface));
    }
    read_merges(ids, parts);
    return parts;
  }

  void read_merges(const std::unordered_map<std::string_view, TokenId>& ids, ForeignParts& parts) const {
    const auto merges = file_.texts("tokenizer.ggml.merges");
    if (!merges) file_.fail("has no tokenizer.ggml.merges", kAgain);
    std::set<std::pair<TokenId, TokenId>> pairs;
    for (const std::string_view merge : *merges) {
      const std::size_t space = merge.find(' ', 1);
      const auto find = [&](std::string_view name) {
        const auto found = ids.find(name);
        if (found == ids.end())
          file_.fail(fmt::format("merge {} has a part that is no token", quoted_text(merge)), kAgain);
        return found->second;
      };
      if (space == merge.npos) file_.fail(fmt::format("merge {} is no pair", quoted_text(merge)), kAgain);
      const std::string left(merge.substr(0, space));
      const std::string right(merge.substr(space + 1));
      const Merge made = {find(left), find(right), find(left + right)};
      if (pairs.emplace(made.left, made.right).second) parts.merges.push_back(made);
    }
  }

  const GgufFile& file_;
  std::vector<std::string_view> tokens_;
  std::vector<double> types_;
};

}  // namespace

std::optional<Tokenizer> read_gguf_tokenizer(const GgufFile& file) {
  const auto model = file.text("tokenizer.ggml.model");
  if (!model || *model == "none" || *model == "no_vocab") return std::nullopt;
  return ForeignTokenizers::make(GgufVocabularyReader(file).read(*model), file.origin());
}

void read_gguf_ids(const GgufFile& file, BackboneSpec& spec) {
  const auto id = [&](const char* key) -> std::optional<TokenId> {
    const auto value = file.whole(key);
    if (!value) return std::nullopt;
    if (*value >= spec.vocab_size) file.fail(fmt::format("{} is {}, which is no token", key, *value), kAgain);
    return static_cast<TokenId>(*value);
  };
  spec.bos = id("tokenizer.ggml.bos_token_id");
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    const auto eos = id(key);
    if (eos && std::find(spec.eos.begin(), spec.eos.end(), *eos) == spec.eos.end()) spec.eos.push_back(*eos);
  }
  const bool usual = file.text("tokenizer.ggml.model").value_or("") == "llama";
  spec.adds_bos = spec.bos && file.boolean("tokenizer.ggml.add_bos_token").value_or(usual);
}

}  // namespace semfuse
