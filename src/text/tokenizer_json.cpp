#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "io/json.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/byte_characters.h"
#include "text/tokenizer_parts.h"

namespace semfuse {
namespace {

using nlohmann::json;

// As the files write it: specials by their names.
std::string entry_name(const TokenizerParts& parts, std::size_t id) {
  return id < kSpecials.size() ? std::string(kSpecials[id]) : byte_characters(parts.surfaces[id]);
}

// All of a file but vocabulary and merges, which say the rest: words are looked up whole and have no merges, pieces
// have some, bytes have neither. A blank before the text is put there by the normalizer and taken away by the decoder.
json file_frame(TokenizerKind kind, bool leading_blank) {
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", true}};
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", json::array()},
          {"normalizer", leading_blank ? json{{"type", "Prepend"}, {"prepend", " "}} : json()},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder",
           leading_blank ? json{{"type", "Sequence"}, {"decoders", json::array({byte_level, strip})}} : byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", kind == TokenizerKind::words}}}};
}

class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  TokenizerParts read(const json& file) {
    if (!file.is_object() || !file.contains("model") || !file["model"].is_object()) {
      fail("is no tokenizer: there is no model in it");
    }
    const json& model = file["model"];
    for (const char* member : {"vocab", "merges"}) {
      if (!model.contains(member)) fail(fmt::format("model.{} is missing", member));
    }
    if (!model["vocab"].is_object()) fail("model.vocab is no object");
    if (!model["merges"].is_array()) fail("model.merges is no list");
    const bool whole_words = model.contains("ignore_merges") && model["ignore_merges"] == json(true);
    parts_.kind = whole_words               ? TokenizerKind::words
                  : model["merges"].empty() ? TokenizerKind::bytes
                                            : TokenizerKind::pieces;
    // Bytes are the same tokens everywhere.
    parts_.leading_blank =
        parts_.kind != TokenizerKind::bytes && file.contains("normalizer") && !file["normalizer"].is_null();
    require_same(file, file_frame(parts_.kind, parts_.leading_blank), "");
    read_vocabulary(model["vocab"].get_ref<const json::object_t&>());
    read_merges(model["merges"]);
    return std::move(parts_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; only a tokenizer.json that semfuse wrote can be read", origin_, what));
  }

  // Members that are absent count as null, so that those which another version adds or leaves out do no harm.
  void require_same(const json& value, const json& wanted, const std::string& path) const {
    if (wanted.is_object() && value.is_object()) {
      for (const auto& [name, member] : value.items()) {
        if (!wanted.contains(name) && !member.is_null() &&
            !(path == "model" && (name == "vocab" || name == "merges"))) {
          fail(fmt::format("{} is not known", quoted_text(joined(path, name))));
        }
      }
      for (const auto& [name, member] : wanted.items()) {
        require_same(value.contains(name) ? value[name] : json(), member, joined(path, name));
      }
    } else if (value != wanted) {
      fail(fmt::format("{} is not {}", path, wanted.dump()));
    }
  }

  static std::string joined(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + '.' + name;
  }

  void read_vocabulary(const json::object_t& vocabulary) {
    if (vocabulary.size() > kMaxTokenizerSize) fail(fmt::format("has more than {} entries", kMaxTokenizerSize));
    std::vector<const std::string*> names(vocabulary.size(), nullptr);
    for (const auto& [name, id] : vocabulary) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= names.size()) {
        fail(fmt::format("the id of {} is not a whole number below {}", quoted_text(name), names.size()));
      }
      const std::string*& place = names[id.get<std::size_t>()];
      if (place != nullptr) fail(fmt::format("{} and {} have the same id", quoted_text(*place), quoted_text(name)));
      place = &name;
    }
    parts_.surfaces = TokenizerParts::of_bytes().surfaces;
    const std::size_t num_fixed = parts_.surfaces.size();
    if (names.size() < num_fixed) fail(fmt::format("has {} entries, fewer than {}", names.size(), num_fixed));
    for (std::size_t id = 0; id < names.size(); ++id) {
      if (id < num_fixed) {
        if (*names[id] != entry_name(parts_, id)) {
          fail(fmt::format("entry {} is {}, not {}", id, quoted_text(*names[id]), quoted_text(entry_name(parts_, id))));
        }
        continue;
      }
      std::optional<std::string> bytes = bytes_of_characters(*names[id]);
      if (!bytes || bytes->size() < 2) fail(fmt::format("entry {} {} is no word", id, quoted_text(*names[id])));
      parts_.surfaces.push_back(std::move(*bytes));
    }
    for (std::size_t id = kSpecials.size(); id < names.size(); ++id) ids_.emplace(*names[id], static_cast<TokenId>(id));
  }

  // A pair is written as a list of two or, by older versions, as "left right".
  std::pair<std::string, std::string> read_pair(const json& merge, std::size_t index) const {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != text.npos) return {text.substr(0, space), text.substr(space + 1)};
    }
    fail(fmt::format("merge {} is no pair of entries", index));
  }

  // Merge i makes entry 259 + i.
  void read_merges(const json& merges) {
    const std::size_t num_made = parts_.kind == TokenizerKind::words ? 0 : ids_.size() - 256;
    if (merges.size() != num_made) fail(fmt::format("has {} merges, not {}", merges.size(), num_made));
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = read_pair(merges[i], i);
      const auto result = static_cast<TokenId>(Tokenizer::kSmallestSize + i);
      const auto id_of = [&, i = i](const std::string& name) {
        const auto found = ids_.find(name);
        if (found == ids_.end() || found->second > result) {
          fail(fmt::format("merge {} has {}, which is no entry before it", i, quoted_text(name)));
        }
        return found->second;
      };
      if (id_of(left + right) != result) fail(fmt::format("merge {} does not make entry {}", i, result));
      parts_.merges.push_back({.left = id_of(left), .right = id_of(right), .result = result});
    }
  }

  std::string origin_;
  TokenizerParts parts_;
  std::unordered_map<std::string, TokenId> ids_;  // By the names in the file, without the specials.
};

}  // namespace

TokenizerParts TokenizerParts::of_bytes() {
  TokenizerParts parts;
  parts.surfaces.resize(kSpecials.size());
  for (int byte = 0; byte < 256; ++byte) parts.surfaces.emplace_back(1, static_cast<char>(byte));
  return parts;
}

std::string tokenizer_json(const TokenizerParts& parts) {
  const auto quoted = [&](std::size_t id) { return Json(entry_name(parts, id)).dump(); };
  std::string vocabulary;
  for (std::size_t id = 0; id < parts.surfaces.size(); ++id) {
    vocabulary += fmt::format("{}\n{}: {}", id == 0 ? "" : ",", quoted(id), id);
  }
  std::string merges;
  for (const Merge& merge : parts.merges) {
    merges += fmt::format("{}\n[{}, {}]", merges.empty() ? "" : ",", quoted(static_cast<std::size_t>(merge.left)),
                          quoted(static_cast<std::size_t>(merge.right)));
  }
  json frame = file_frame(parts.kind, parts.leading_blank);
  std::string model = frame["model"].dump();
  model.pop_back();  // Its closing brace.
  frame.erase("model");
  std::string file = frame.dump();
  file.pop_back();
  return fmt::format("{},\n\"model\": {},\n\"vocab\": {{{}\n}},\n\"merges\": [{}\n]}}}}\n", file, model, vocabulary,
                     merges);
}

TokenizerParts parse_tokenizer_json(std::string_view text, std::string_view origin) {
  return Reader(origin).read(parse_json(text, origin));
}

}  // namespace semfuse
