#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "io/json_writer.h"
#include "text/byte_characters.h"
#include "text/hf_tokenizer.h"
#include "text/split_pattern.h"

namespace semfuse {
namespace {

// Writes Hugging Face's description of the same tokenizer.
class Writer {
 public:
  explicit Writer(const ForeignParts& parts) : parts_(parts), is_spm_(parts.kind == TokenizerKind::spm) {
    names_.resize(parts.surfaces.size());
    for (std::size_t i = 0; i < parts.surfaces.size(); ++i) {
      names_[i] = is_spm_ ? with_marks(parts.surfaces[i]) : byte_characters(parts.surfaces[i]);
    }
    for (std::size_t byte = 0; byte < parts.byte_ids.size(); ++byte)
      name(parts.byte_ids[byte]) = fmt::format("<0x{:02X}>", byte);
    for (const AddedToken& token : parts.added) name(token.id) = token.text;
  }

  std::string write(std::optional<TokenId> bos) {
    std::unordered_set<std::string> taken;
    std::size_t id = 0;
    std::string entries;
    // Written by hand: an object of Json looks for a name among all members.
    for (std::string& entry : names_) {
      if (entry.empty()) entry = fmt::format("<unused_{}>", id);
      if (!taken.insert(entry).second) entry = fmt::format("<unused_{}>", id);
      entries += fmt::format("{}{}:{}", id == 0 ? "" : ",", Json(entry).dump(), id);
      ++id;
    }
    const Json frame = {{"version", "1.0"},
                        {"truncation", nullptr},
                        {"padding", nullptr},
                        {"added_tokens", added()},
                        {"normalizer", normalizer()},
                        {"pre_tokenizer", pre_tokenizer()},
                        {"post_processor", processor(bos)},
                        {"decoder", decoder()}};
    std::string file = frame.dump();
    file.pop_back();
    std::string model = Json{
        {"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", unknown()},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", is_spm_},
        {"byte_fallback", !parts_.byte_ids.empty()},
        {"ignore_merges", parts_.whole_words},
        {"merges",
         merges()}}.dump();
    model.pop_back();
    return fmt::format("{},\"model\":{},\"vocab\":{{{}}}}}}}\n", file, model, entries);
  }

 private:
  std::string& name(TokenId id) { return names_[static_cast<std::size_t>(id)]; }

  static std::string with_marks(std::string_view surface) {
    std::string result;
    for (const char c : surface) c == ' ' ? result += kBlankMark : result += c;
    return result;
  }

  Json unknown() {
    Json result;
    if (parts_.unknown) result = Json(name(*parts_.unknown));
    return result;
  }

  Json added() const {
    Json list = Json::array();
    for (const AddedToken& token : parts_.added) {
      list.push_back({{"id", token.id},
                      {"content", token.text},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", token.is_special}});
    }
    return list;
  }

  // As "left right", which older versions read too; no name has a blank. Merges of characters that are no tokens cannot
  // be said there; they make pieces only where a character has no token.
  Json merges() {
    const auto size = static_cast<TokenId>(names_.size());
    Json list = Json::array();
    for (const Merge& merge : parts_.merges) {
      if (merge.left < size && merge.right < size) list.push_back(name(merge.left) + ' ' + name(merge.right));
    }
    return list;
  }

  Json normalizer() const {
    if (!is_spm_) return nullptr;
    Json steps = Json::array();
    const auto replace = [&](Json pattern, std::string_view content) {
      steps.push_back({{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", content}});
    };
    if (parts_.squeezes_blanks) {
      replace({{"Regex", kOuterBlanks}}, "");
      replace({{"Regex", kSeveralBlanks}}, " ");
    }
    if (parts_.prefix_blank) steps.push_back({{"type", "Prepend"}, {"prepend", kBlankMark}});
    replace({{"String", " "}}, kBlankMark);
    return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  }

  Json pre_tokenizer() const {
    if (is_spm_) return nullptr;
    Json steps = Json::array();
    const bool ends_as_gpt2 = !parts_.patterns.empty() && parts_.patterns.back() == kGpt2Pattern;
    for (std::size_t i = 0; i < parts_.patterns.size() - (ends_as_gpt2 ? 1 : 0); ++i) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", parts_.patterns[i]}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
    steps.push_back(byte_level(ends_as_gpt2));
    return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  }

  Json byte_level(bool use_regex) const {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", parts_.prefix_blank},
            {"trim_offsets", true},
            {"use_regex", use_regex}};
  }

  Json processor(std::optional<TokenId> bos) {
    if (!bos) return nullptr;
    const std::string token = name(*bos);
    const auto special = [&] { return Json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}}; };
    const auto text = [](const char* id, int type) { return Json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
    Json specials = Json::object();
    specials[token] = {{"id", token}, {"ids", std::vector<TokenId>{*bos}}, {"tokens", std::vector<std::string>{token}}};
    return {{"type", "TemplateProcessing"},
            {"single", Json::array({special(), text("A", 0)})},
            {"pair", Json::array({special(), text("A", 0), text("B", 1)})},
            {"special_tokens", std::move(specials)}};
  }

  Json decoder() const {
    if (!is_spm_) return byte_level(true);
    Json steps = Json::array();
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", kBlankMark}}}, {"content", " "}});
    steps.push_back({{"type", "ByteFallback"}});
    steps.push_back({{"type", "Fuse"}});
    if (parts_.prefix_blank) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
  }

  const ForeignParts& parts_;
  bool is_spm_;
  std::vector<std::string> names_;  // By id.
};

}  // namespace

std::string hf_tokenizer_json(const ForeignParts& parts, std::optional<TokenId> bos) {
  return Writer(parts).write(bos);
}

}  // namespace semfuse
