#include <fmt/format.h>

#include <array>
#include <set>

#include "io/json.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/byte_characters.h"
#include "text/foreign_parts.h"

namespace semfuse {
namespace {

using nlohmann::json;

constexpr std::string_view kBegin = "{\"kind\":\"";
constexpr std::array<std::string_view, 12> kFields = {"kind",        "tokens",   "added",        "characters",
                                                      "merges",      "ranks",    "prefix_blank", "patterns",
                                                      "whole_words", "byte_ids", "unknown",      "squeezes_blanks"};

class ForeignReader {
 public:
  ForeignReader(const json& object, std::string_view origin) : object_(object), origin_(origin) {
    if (!object.is_object()) fail("is no object");
    for (const auto& [name, value] : object.items()) {
      if (std::find(kFields.begin(), kFields.end(), name) == kFields.end()) {
        fail(fmt::format("{} is not known", quoted_text(name)));
      }
    }
  }

  ForeignParts read() const {
    ForeignParts parts;
    const std::string kind = text(field("kind"), "kind");
    if (kind != "bpe" && kind != "spm") fail(fmt::format("the kind {} is not known", quoted_text(kind)));
    parts.kind = kind == "bpe" ? TokenizerKind::bpe : TokenizerKind::spm;
    parts.surfaces = byte_texts("tokens");
    parts.characters = byte_texts("characters");
    for (const json& item : list("added")) {
      if (!item.is_object() || item.size() != 3 || !item.contains("id") || !item.contains("text") ||
          !item.contains("special") || !item["special"].is_boolean()) {
        fail("an added token is no id, text and special");
      }
      parts.added.push_back({id(item["id"], "added"), text(item["text"], "added"), item["special"].get<bool>()});
    }
    const std::vector<TokenId> merges = ids("merges");
    if (merges.size() % 3 != 0) fail("merges are no threes of ids");
    for (std::size_t i = 0; i < merges.size(); i += 3)
      parts.merges.push_back({merges[i], merges[i + 1], merges[i + 2]});
    for (const TokenId rank : ids("ranks")) parts.ranks.push_back(static_cast<std::uint32_t>(rank));
    parts.prefix_blank = boolean("prefix_blank");
    for (const json& item : list("patterns")) parts.patterns.push_back(text(item, "patterns"));
    parts.whole_words = boolean("whole_words");
    parts.byte_ids = ids("byte_ids");
    if (!field("unknown").is_null()) parts.unknown = id(field("unknown"), "unknown");
    parts.squeezes_blanks = boolean("squeezes_blanks");
    check(parts, origin_);
    return parts;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; import the model anew", origin_, what));
  }
  const json& field(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail(fmt::format("\"{}\" is missing", name));
    return *found;
  }
  const json& list(const char* name) const {
    if (!field(name).is_array()) fail(fmt::format("\"{}\" is no list", name));
    return field(name);
  }
  bool boolean(const char* name) const {
    if (!field(name).is_boolean()) fail(fmt::format("\"{}\" is neither true nor false", name));
    return field(name).get<bool>();
  }
  std::string text(const json& value, const char* name) const {
    if (!value.is_string()) fail(fmt::format("\"{}\" is not text", name));
    return value.get<std::string>();
  }
  TokenId id(const json& value, const char* name) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 1U << 30)
      fail(fmt::format("\"{}\" has an id that is none", name));
    return value.get<TokenId>();
  }
  std::vector<TokenId> ids(const char* name) const {
    std::vector<TokenId> result;
    result.reserve(list(name).size());
    for (const json& item : list(name)) result.push_back(id(item, name));
    return result;
  }
  std::vector<std::string> byte_texts(const char* name) const {
    std::vector<std::string> result;
    result.reserve(list(name).size());
    for (const json& item : list(name)) {
      std::optional<std::string> bytes = bytes_of_characters(text(item, name));
      if (!bytes) fail(fmt::format("\"{}\" has a text with characters that stand for no byte", name));
      result.push_back(std::move(*bytes));
    }
    return result;
  }

  const json& object_;
  std::string_view origin_;
};

Json byte_texts(const std::vector<std::string>& surfaces) {
  Json list = Json::array();
  for (const std::string& surface : surfaces) list.push_back(byte_characters(surface));
  return list;
}

}  // namespace

bool is_foreign_json(std::string_view json) {
  return json.starts_with(kBegin);
}

std::string foreign_json(const ForeignParts& parts) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added) {
    added.push_back({{"id", token.id}, {"text", token.text}, {"special", token.is_special}});
  }
  std::vector<TokenId> merges;
  merges.reserve(3 * parts.merges.size());
  for (const Merge& merge : parts.merges) merges.insert(merges.end(), {merge.left, merge.right, merge.result});
  Json unknown;
  if (parts.unknown) unknown = Json(*parts.unknown);
  const Json value = {{"kind", to_string(parts.kind)},
                      {"tokens", byte_texts(parts.surfaces)},
                      {"added", std::move(added)},
                      {"characters", byte_texts(parts.characters)},
                      {"merges", merges},
                      {"ranks", parts.ranks},
                      {"prefix_blank", parts.prefix_blank},
                      {"patterns", parts.patterns},
                      {"whole_words", parts.whole_words},
                      {"byte_ids", parts.byte_ids},
                      {"unknown", std::move(unknown)},
                      {"squeezes_blanks", parts.squeezes_blanks}};
  return value.dump();
}

ForeignParts parse_foreign_json(std::string_view text, std::string_view origin) {
  return ForeignReader(parse_json(text, origin, 3), origin).read();
}

}  // namespace semfuse
