#include "backbone/tokenizer_files.h"

#include <fmt/format.h>

#include <cstring>

#include "backbone/gguf_tokenizer.h"
#include "backbone/llama2c_file.h"
#include "io/file.h"
#include "io/json.h"
#include "semfuse/error.h"
#include "text/hf_tokenizer.h"
#include "text/spm_pieces.h"
#include "text/tokenizer_state.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

// What a file says besides the tokenizer.
struct Found {
  Tokenizer tokenizer;
  std::optional<TokenId> bos;  // Put before a text.
  bool says_bos = false;       // Is that known?
};

bool is_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

// "model" may also be a word of a vocabulary: what follows it tells.
bool has_model(std::string_view text) {
  constexpr std::string_view kKey = "\"model\"";
  for (std::size_t i = text.find(kKey); i != text.npos; i = text.find(kKey, i + 1)) {
    const std::size_t colon = text.find_first_not_of(" \t\r\n", i + kKey.size());
    if (colon == text.npos || text[colon] != ':') continue;
    const std::size_t value = text.find_first_not_of(" \t\r\n", colon + 1);
    if (value != text.npos && text[value] == '{') return true;
  }
  return false;
}

Found read_json(const std::string& text, const fs::path& path) {
  const std::string origin = path.string();
  if (has_model(text)) {
    try {
      return {Tokenizer::parse(text, origin), {}, false};
    } catch (const Error&) {
      // Not one of ours.
    }
    HfTokenizer read = parse_hf_tokenizer(text, origin);
    return {ForeignTokenizers::make(std::move(read.parts), origin), read.bos, true};
  }
  const fs::path merges = path.parent_path() / "merges.txt";
  std::error_code ignored;
  // Says what is wrong with it; a vocabulary alone is no tokenizer.
  if (!fs::exists(merges, ignored)) return {Tokenizer::parse(text, origin), {}, false};
  return {ForeignTokenizers::make(parse_vocab_and_merges(text, read_text(merges, kMaxFileBytes), origin), origin),
          {},
          true};
}

Found read(const fs::path& path) {
  const MappedFile file = MappedFile::whole(path);  // A GGUF file may have a large model behind its tokenizer.
  const std::string origin = path.string();
  const std::span<const std::byte> bytes = file.as<std::byte>();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_object(text)) return read_json(read_text(path, kMaxFileBytes), path);
  if (text.starts_with("GGUF")) {
    const auto tokenizer = read_gguf_tokenizer(GgufFile(bytes, origin));
    if (!tokenizer) throw Error(fmt::format("{}: has no tokenizer; give another file", origin));
    return {*tokenizer, {}, false};
  }
  // A SentencePiece model begins with a piece: field 1, of some bytes.
  if (text.starts_with('\n')) return {ForeignTokenizers::make(parse_spm_model(bytes, origin), origin), {}, false};
  return {ForeignTokenizers::make(parse_llama2c_tokenizer(bytes, origin), origin), {}, false};
}

// What transformers' tokenizer_config.json says.
std::optional<bool> configured_bos(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const nlohmann::json config = parse_json(read_text(path, kMaxFileBytes), path.string());
  const auto found = config.is_object() ? config.find("add_bos_token") : config.end();
  if (found == config.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

}  // namespace

void use_tokenizer(ForeignModel& model, const fs::path& path) {
  Found found = read(path);
  model.tokenizer_source = path.filename().string();
  model.tokenizer = std::move(found.tokenizer);
  if (model.tokenizer->size() > model.spec.vocab_size) {
    throw Error(fmt::format("{}: has {} entries, but the model knows {}; give the model's own tokenizer", path.string(),
                            model.tokenizer->size(), model.spec.vocab_size));
  }
  if (found.bos) model.spec.bos = found.bos;
  if (found.says_bos) model.spec.adds_bos = found.bos.has_value();
  const bool is_spm = model.tokenizer->kind() == TokenizerKind::spm;
  if (!found.says_bos && is_spm) model.spec.adds_bos = model.spec.bos.has_value();
  if (const auto configured = configured_bos(path.parent_path())) model.spec.adds_bos = *configured && model.spec.bos;
}

void find_tokenizer(ForeignModel& model, const fs::path& folder) {
  const std::string own = fmt::format("tok{}", model.spec.vocab_size);
  std::vector<std::string> names = {"tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer.bin"};
  if (model.kind.starts_with("llama2.c")) names = {"tokenizer.bin", own + ".bin", "tokenizer.model", own + ".model"};
  std::error_code ignored;
  for (const std::string& name : names) {
    if (fs::exists(folder / name, ignored)) return use_tokenizer(model, folder / name);
  }
  model.tokenizer_source = fmt::format("none: there is no {}", fmt::join(names, ", "));
}

Tokenizer load_any_tokenizer(const fs::path& path) {
  return read(path).tokenizer;
}

}  // namespace semfuse
