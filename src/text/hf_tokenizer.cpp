#include "text/hf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <unordered_map>
#include <utility>

#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/byte_characters.h"
#include "text/split_pattern.h"
#include "text/spm_pieces.h"

namespace semfuse {
namespace {

using nlohmann::json;

class HfReader {
 public:
  explicit HfReader(std::string_view origin) : origin_(origin) {}

  HfTokenizer read(const json& file) {
    const json& model = member(file, "model");
    const std::string type = type_of(model, "model");
    if (type != "BPE") refuse(fmt::format("model of the type {}", quoted_text(type)), "BPE can be read");
    require_absent(model, "model", {"dropout", "continuing_subword_prefix", "end_of_word_suffix"});
    const json& pre_tokenizer = member(file, "pre_tokenizer");
    const bool is_byte_level = has_type(pre_tokenizer, "ByteLevel");
    parts_.kind = is_byte_level ? TokenizerKind::bpe : TokenizerKind::spm;
    if (is_byte_level) {
      if (is_true(model, "byte_fallback")) refuse("byte_fallback with ByteLevel", "one of the two can be read");
      read_byte_level_normalizer(member(file, "normalizer"));
      read_splits(pre_tokenizer);
      parts_.whole_words = is_true(model, "ignore_merges");
    } else {
      read_spm_normalizer(member(file, "normalizer"));
      read_metaspace(pre_tokenizer);
    }
    read_entries(member(model, "vocab"), member(file, "added_tokens"), is_true(model, "byte_fallback"));
    read_merges(member(model, "merges"));
    read_unknown(member(model, "unk_token"));
    HfTokenizer result;
    result.bos = read_processor(member(file, "post_processor"));
    check(parts_, origin_);
    result.parts = std::move(parts_);
    return result;
  }

  ForeignParts read_two(const json& vocabulary, std::string_view merges) {
    parts_.kind = TokenizerKind::bpe;
    parts_.patterns = {std::string(kGpt2Pattern)};
    if (!vocabulary.is_object()) fail("vocab.json is no object");
    json added = json::array();
    for (const auto& [name, id] : vocabulary.items()) {
      const bool is_special = (name.starts_with("<|") && name.ends_with("|>")) || name == "<s>" || name == "</s>" ||
                              name == "<unk>" || name == "<pad>" || name == "<mask>";
      if (is_special) added.push_back({{"id", id}, {"content", name}, {"special", true}});
    }
    read_entries(vocabulary, added, false);
    json list = json::array();
    while (!merges.empty()) {
      std::string_view line = merges.substr(0, merges.find('\n'));
      merges.remove_prefix(std::min(merges.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && !line.starts_with("#version")) list.push_back(std::string(line));
    }
    read_merges(list);
    check(parts_, origin_);
    return std::move(parts_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; the tokenizer is damaged, fetch it again", origin_, what));
  }
  [[noreturn]] void refuse(std::string_view what, std::string_view supported) const {
    throw Error(fmt::format("{}: has a {}, which cannot be read; {}", origin_, what, supported));
  }

  // Null if it is absent.
  const json& member(const json& object, const char* name) const {
    static const json none;
    if (!object.is_object()) fail(fmt::format("there is no object around \"{}\"", name));
    const auto found = object.find(name);
    return found == object.end() ? none : *found;
  }
  bool is_true(const json& object, const char* name) const { return member(object, name) == json(true); }
  std::string text(const json& value, std::string_view what) const {
    if (!value.is_string()) fail(fmt::format("{} is not text", what));
    return value.get<std::string>();
  }
  std::string type_of(const json& object, std::string_view what) const {
    const json& type = member(object, "type");
    // Files of old have no type, and BPE was all there was.
    if (type.is_null() && what == "model" && object.contains("merges")) return "BPE";
    return text(type, fmt::format("the type of the {}", what));
  }
  void require_absent(const json& object, std::string_view where, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const json& value = member(object, name);
      if (!value.is_null() && value != json("") && value != json(0) && value != json(0.0)) {
        refuse(fmt::format("{}.{}", where, name), "tokenizers without it can be read");
      }
    }
  }
  // The steps of a "Sequence", or the one step that there is.
  std::vector<const json*> steps(const json& value, const char* list, std::string_view what) const {
    if (value.is_null()) return {};
    if (type_of(value, what) != "Sequence") return {&value};
    std::vector<const json*> result;
    const json& items = member(value, list);
    if (!items.is_array()) fail(fmt::format("the sequence of {}s is no list", what));
    for (const json& item : items) {
      for (const json* step : steps(item, list, what)) result.push_back(step);
    }
    return result;
  }
  bool has_type(const json& pre_tokenizer, std::string_view type) const {
    for (const json* step : steps(pre_tokenizer, "pretokenizers", "pre-tokenizer")) {
      if (type_of(*step, "pre-tokenizer") == type) return true;
    }
    return false;
  }

  void read_byte_level_normalizer(const json& value) const {
    for (const json* step : steps(value, "normalizers", "normalizer")) {
      refuse(fmt::format("normalizer {}", quoted_text(type_of(*step, "normalizer"))),
             "byte-level BPE without a normalizer can be read");
    }
  }

  void read_splits(const json& value) {
    bool is_done = false;
    for (const json* step : steps(value, "pretokenizers", "pre-tokenizer")) {
      const std::string type = type_of(*step, "pre-tokenizer");
      if (is_done) refuse("pre-tokenizer after ByteLevel", "ByteLevel can be read as the last");
      if (type == "ByteLevel") {
        is_done = true;
        parts_.prefix_blank = is_true(*step, "add_prefix_space");
        if (member(*step, "use_regex") != json(false)) parts_.patterns.emplace_back(kGpt2Pattern);
      } else if (type == "Digits") {
        parts_.patterns.emplace_back(is_true(*step, "individual_digits") ? R"(\p{N})" : R"(\p{N}+)");
      } else if (type == "Split") {
        read_split(*step);
      } else {
        refuse(fmt::format("pre-tokenizer {}", quoted_text(type)),
               "ByteLevel, Digits, Split and Metaspace can be read");
      }
    }
  }

  void read_split(const json& step) {
    const std::string behaviour = text(member(step, "behavior"), "behavior");
    const bool inverted = is_true(step, "invert");
    // "Removed, inverted" keeps the matches only; patterns of tokenizers leave nothing between them.
    if (!(behaviour == "Isolated" && !inverted) && !(behaviour == "Removed" && inverted)) {
      refuse(fmt::format("Split with the behavior {}{}", quoted_text(behaviour), inverted ? ", inverted" : ""),
             "Isolated can be read");
    }
    const json& pattern = member(step, "pattern");
    if (pattern.is_object() && pattern.contains("Regex")) {
      parts_.patterns.push_back(text(pattern["Regex"], "a split pattern"));
    } else if (pattern.is_object() && pattern.contains("String")) {
      std::string quoted;
      for (const char c : text(pattern["String"], "a split pattern")) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && std::isalnum(byte) == 0) quoted += '\\';
        quoted += c;
      }
      parts_.patterns.push_back(std::move(quoted));
    } else {
      refuse("Split without a pattern", "Regex and String can be read");
    }
  }

  void read_spm_normalizer(const json& value) {
    bool strips = false;
    for (const json* step : steps(value, "normalizers", "normalizer")) {
      const std::string type = type_of(*step, "normalizer");
      if (type == "Prepend" && member(*step, "prepend") == json(kBlankMark)) {
        parts_.prefix_blank = true;
      } else if (type == "Replace" && member(*step, "content") == json(kBlankMark) &&
                 member(*step, "pattern") == json{{"String", " "}}) {
        escapes_blanks_ = true;
      } else if (type == "Replace" && member(*step, "pattern") == json{{"Regex", kOuterBlanks}} &&
                 member(*step, "content") == json("")) {
        strips = true;
      } else if (type == "Replace" && member(*step, "pattern") == json{{"Regex", kSeveralBlanks}} &&
                 member(*step, "content") == json(" ")) {
        parts_.squeezes_blanks = true;
      } else {
        refuse(fmt::format("normalizer {}", quoted_text(type)), "Prepend and Replace of blanks by U+2581 can be read");
      }
    }
    if (strips != parts_.squeezes_blanks)
      refuse("normalizer that squeezes some blanks only", "all or none can be read");
  }

  void read_metaspace(const json& value) {
    for (const json* step : steps(value, "pretokenizers", "pre-tokenizer")) {
      const std::string type = type_of(*step, "pre-tokenizer");
      if (type != "Metaspace" || member(*step, "replacement") != json(kBlankMark)) {
        refuse(fmt::format("pre-tokenizer {}", quoted_text(type)),
               "ByteLevel, Digits, Split and Metaspace can be read");
      }
      if (member(*step, "split") != json(false))
        refuse("Metaspace that splits", "one with \"split\": false can be read");
      escapes_blanks_ = true;
      const json& scheme = member(*step, "prepend_scheme");
      parts_.prefix_blank |=
          scheme.is_null() ? member(*step, "add_prefix_space") != json(false) : scheme != json("never");
    }
    if (!escapes_blanks_) refuse("BPE that is neither ByteLevel nor writes blanks as U+2581", "those two can be read");
  }

  TokenId id_of(const json& value, std::string_view name) const {
    // Ids may be missing, but not most of them.
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= 2 * num_entries_ + 1000) {
      fail(fmt::format("the id of {} is no whole number near the others", quoted_text(name)));
    }
    return value.get<TokenId>();
  }

  void read_entries(const json& vocabulary, const json& added, bool byte_fallback) {
    if (!vocabulary.is_object()) fail("model.vocab is no object");
    if (!added.is_null() && !added.is_array()) fail("added_tokens is no list");
    num_entries_ = vocabulary.size() + added.size();
    if (num_entries_ > kMaxTokenizerSize / 2) fail(fmt::format("has {} entries", num_entries_));
    const auto place = [&](TokenId id) -> std::string& {
      if (static_cast<std::size_t>(id) >= parts_.surfaces.size())
        parts_.surfaces.resize(static_cast<std::size_t>(id) + 1);
      return parts_.surfaces[static_cast<std::size_t>(id)];
    };
    std::set<TokenId> taken;
    std::vector<TokenId> bytes(256, -1);
    for (const auto& [name, value] : vocabulary.items()) {
      const TokenId id = id_of(value, name);
      if (!taken.insert(id).second) fail(fmt::format("two entries have the id {}", id));
      ids_.emplace(name, id);
      const int byte = byte_fallback ? byte_of_name(name) : -1;
      if (byte >= 0) bytes[static_cast<std::size_t>(byte)] = id;
      place(id) = byte >= 0                           ? std::string(1, static_cast<char>(byte))
                  : parts_.kind == TokenizerKind::spm ? with_blanks(name)
                                                      : bytes_of_characters(name).value_or("");
    }
    if (byte_fallback) {
      if (std::find(bytes.begin(), bytes.end(), -1) != bytes.end())
        fail("byte_fallback, but not every byte has an entry");
      parts_.byte_ids = std::move(bytes);
    }
    for (const json& token : added) read_added(token, place);
  }

  template <class Place>
  void read_added(const json& token, const Place& place) {
    const std::string content = text(member(token, "content"), "an added token");
    const TokenId id = id_of(member(token, "id"), content);
    const bool is_special = is_true(token, "special");
    for (const char* name : {"lstrip", "rstrip", "single_word"}) {
      if (!is_special && is_true(token, name)) {
        refuse(fmt::format("added token {} with {}", quoted_text(content), name), "tokens without it can be read");
      }
    }
    place(id) = is_special ? "" : content;
    parts_.added.push_back({id, content, is_special});
    ids_.insert_or_assign(content, id);
  }

  void read_merges(const json& merges) {
    if (!merges.is_array()) fail("model.merges is no list");
    std::set<std::pair<TokenId, TokenId>> pairs;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = read_pair(merges[i], i);
      const auto find = [&, i = i](const std::string& name) {
        const auto found = ids_.find(name);
        if (found == ids_.end()) fail(fmt::format("merge {} has {}, which is no entry", i, quoted_text(name)));
        return found->second;
      };
      const Merge merge = {find(left), find(right), find(left + right)};
      if (pairs.emplace(merge.left, merge.right).second) parts_.merges.push_back(merge);
    }
  }

  // A pair is written as a list of two or, by older versions, as "left right".
  std::pair<std::string, std::string> read_pair(const json& merge, std::size_t index) const {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    if (merge.is_string()) {
      const auto& pair = merge.get_ref<const std::string&>();
      const std::size_t space = pair.find(' ');
      if (space != pair.npos) return {pair.substr(0, space), pair.substr(space + 1)};
    }
    fail(fmt::format("merge {} is no pair of entries", index));
  }

  void read_unknown(const json& value) {
    if (value.is_null()) return;
    const auto found = ids_.find(text(value, "unk_token"));
    if (found == ids_.end()) fail("unk_token is no entry");
    if (parts_.kind == TokenizerKind::spm) parts_.unknown = found->second;
  }

  // A template that puts one token before the text.
  std::optional<TokenId> read_processor(const json& value) const {
    std::optional<TokenId> bos;
    for (const json* step : steps(value, "processors", "post-processor")) {
      const std::string type = type_of(*step, "post-processor");
      if (type == "ByteLevel") continue;
      if (type != "TemplateProcessing") {
        refuse(fmt::format("post-processor {}", quoted_text(type)), "ByteLevel and TemplateProcessing can be read");
      }
      const json& single = member(*step, "single");
      if (!single.is_array() || single.empty() || !single.back().is_object() || !single.back().contains("Sequence") ||
          single.size() > 2) {
        refuse("template that adds more than one token before the text", "that can be read");
      }
      if (single.size() == 1) continue;
      const auto found = ids_.find(text(member(member(single[0], "SpecialToken"), "id"), "a special token"));
      if (found == ids_.end()) fail("the template has a token that is no entry");
      bos = found->second;
    }
    return bos;
  }

  std::string_view origin_;
  ForeignParts parts_;
  bool escapes_blanks_ = false;
  std::size_t num_entries_ = 0;
  std::unordered_map<std::string, TokenId> ids_;  // By the names in the file.
};

}  // namespace

HfTokenizer parse_hf_tokenizer(std::string_view text, std::string_view origin) {
  return HfReader(origin).read(parse_json(text, origin));
}

ForeignParts parse_vocab_and_merges(std::string_view vocab_json, std::string_view merges_txt, std::string_view origin) {
  return HfReader(origin).read_two(parse_json(vocab_json, origin), merges_txt);
}

}  // namespace semfuse
