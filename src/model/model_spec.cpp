#include "model/model_spec.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "features/feature_bank_access.h"
#include "features/knob_index.h"
#include "features/natural_bank.h"
#include "features/text_labels.h"
#include "features/word_vectors.h"
#include "io/base64.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "model/model_access.h"
#include "model/steering_file.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// Version 1 lacks what says how layers normalise and embeddings scale: the paper's way. What is so is written as
// version 1 still, so that older programs read it.
// Each is of the first version that can say what it is, so that older programs read what they know.
constexpr int kPaperVersion = 1;
constexpr int kNormVersion = 2;
constexpr int kVersion = 3;
constexpr std::uint64_t kMaxSize = 1 << 20;  // As in a configuration; a product of two sizes and 3 fits 64 bits.

const std::string& entry(const Metadata& metadata, const std::string& key, const std::string& origin) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) refuse_model(origin, fmt::format("metadata {} is missing", key));
  return found->second;
}

// What an Error of `make` says becomes what is wrong with the entry.
template <class Make>
auto checked(const char* key, const std::string& origin, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    refuse_model(origin, fmt::format("metadata {}: {}", key, error.what()));
  }
}

// One object of the spec, whose fields are all read and no others there.
class Fields {
 public:
  Fields(const json& parent, const char* name, const std::string& origin) : name_(name), origin_(origin) {
    const auto found = parent.find(name);
    if (found == parent.end() || !found->is_object()) {
      refuse_model(origin, fmt::format("metadata spec lacks the object \"{}\"", name));
    }
    object_ = &*found;
  }

  std::size_t size(const char* name) {
    const json& value = field(name);
    const std::uint64_t number = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
    if (number < 1 || number > kMaxSize) refuse(name, fmt::format("is no whole number from 1 to {}", kMaxSize));
    return number;
  }
  double number(const char* name) { return number_of(name, field(name)); }
  bool boolean(const char* name) {
    const json& value = field(name);
    if (!value.is_boolean()) refuse(name, "is neither true nor false");
    return value.get<bool>();
  }
  std::string text(const char* name) {
    const json& value = field(name);
    if (!value.is_string()) refuse(name, "is not text");
    return value.get<std::string>();
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> result;
    for (const json& item : list(name)) {
      if (!item.is_string()) refuse(name, fmt::format("has the entry {}, which is not text", result.size() + 1));
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  std::array<double, 3> three_numbers(const char* name) {
    const json& values = list(name);
    if (values.size() != 3) refuse(name, "is not a list of three numbers");
    return {number_of(name, values[0]), number_of(name, values[1]), number_of(name, values[2])};
  }
  template <class T, std::size_t size>
  T choice(const char* name, const std::array<T, size>& choices) {
    const std::string wanted = text(name);
    for (const T known : choices) {
      if (to_string(known) == wanted) return known;
    }
    refuse(name, fmt::format("is {}, which this version does not know", quoted_text(wanted)));
  }
  void end() const {
    for (const auto& [name, value] : object_->items()) {
      if (!read_.contains(name)) {
        refuse_model(origin_, fmt::format("metadata spec has {} in \"{}\", which this version does not know",
                                          quoted_text(name), name_));
      }
    }
  }

 private:
  [[noreturn]] void refuse(const char* name, const std::string& what) const {
    refuse_model(origin_, fmt::format("metadata spec: {}.{} {}", name_, name, what));
  }
  const json& field(const char* name) {
    read_.insert(name);
    const auto found = object_->find(name);
    if (found == object_->end()) refuse(name, "is missing");
    return *found;
  }
  const json& list(const char* name) {
    const json& value = field(name);
    if (!value.is_array()) refuse(name, "is not a list");
    return value;
  }
  double number_of(const char* name, const json& value) const {
    if (!value.is_number()) refuse(name, "is not a number");
    return value.get<double>();
  }

  const json* object_ = nullptr;
  const char* name_;
  const std::string& origin_;
  std::set<std::string, std::less<>> read_;
};

int version_of(const ModelOptions& options) {
  if (options.distance_bias) return kVersion;
  return options.norm == NormPlace::post && !options.scaled_embedding ? kPaperVersion : kNormVersion;
}

ModelOptions parse_options(const json& spec, const std::string& origin) {
  Fields fields(spec, "model", origin);
  ModelOptions options;
  options.width = fields.size("width");
  options.layers = fields.size("layers");
  options.heads = fields.size("heads");
  options.feed_forward = fields.size("feed_forward");
  options.dropout = fields.number("dropout");
  options.attention = fields.choice("attention", std::array{AttentionMask::causal, AttentionMask::bidirectional});
  if (spec["version"] != kPaperVersion) {
    options.norm = fields.choice("norm", std::array{NormPlace::post, NormPlace::pre});
    options.scaled_embedding = fields.boolean("scaled_embedding");
  }
  if (spec["version"] == kVersion) options.distance_bias = fields.boolean("distance_bias");
  options.fusion = fields.boolean("fusion");
  options.feature_head = fields.size("feature_head");
  options.gate = fields.boolean("gate");
  options.output_features = fields.boolean("output_features");
  options.open_vocabulary = fields.boolean("open_vocabulary");
  options.share_class_mass = fields.boolean("share_class_mass");
  for (const std::string& knob : fields.texts("knobs")) {
    options.knobs.push_back(checked("spec", origin, [&] { return parse_knob(knob); }));
  }
  fields.end();
  return options;
}

// `names` are those that the file says that there are.
FeatureOptions parse_features(const json& spec, std::vector<std::string>& names, const std::string& origin) {
  Fields fields(spec, "features", origin);
  FeatureOptions options;
  options.bank = fields.choice("bank", kFeatureSets);
  options.kernel = fields.choice(
      "kernel", std::array{MembershipKernel::power, MembershipKernel::triangular, MembershipKernel::gaussian});
  options.kernel_base = fields.number("kernel_base");
  options.centers = fields.three_numbers("centers");
  options.bandwidth = fields.number("bandwidth");
  options.learn_kernel = fields.boolean("learn_kernel");
  options.exclamation_nudge = fields.number("exclamation_nudge");
  names = fields.texts("names");
  fields.end();
  return options;
}

// What the declaration of natural features says, the tagger finds and the lexicon means; null for other banks.
std::shared_ptr<const NaturalBank> parse_natural(const Metadata& metadata, const FeatureOptions& options,
                                                 const Lexicon& lexicon, const std::string& origin) {
  if (options.bank != FeatureSet::natural) return nullptr;
  std::shared_ptr<const Tagger> tagger;
  if (const auto found = metadata.find("tagger"); found != metadata.end()) {
    const std::optional<std::string> bytes = from_base64(found->second);
    if (!bytes) refuse_model(origin, "metadata tagger is not base64");
    tagger = std::make_shared<const Tagger>(Tagger::parse(*bytes, origin + ": metadata tagger"));
  }
  BankDeclaration declaration =
      BankDeclaration::parse(entry(metadata, "declaration", origin), origin + ": metadata declaration");
  return checked("spec", origin, [&] {
    return std::make_shared<const NaturalBank>(std::move(declaration), std::move(tagger), std::vector<Lexicon>{lexicon},
                                               options);
  });
}

std::shared_ptr<const WordVectors> parse_vectors(const Metadata& metadata, const std::string& origin) {
  const auto found = metadata.find("vectors");
  if (found == metadata.end()) return nullptr;
  const std::optional<std::string> bytes = from_base64(found->second);
  if (!bytes) refuse_model(origin, "metadata vectors is not base64");
  return std::make_shared<const WordVectors>(WordVectors::parse(*bytes, origin + ": metadata vectors"));
}

OrderedJson options_json(const ModelOptions& options) {
  OrderedJson knobs = OrderedJson::array();
  for (const Knob& knob : options.knobs) knobs.push_back(to_string(knob));
  OrderedJson fields = {{"width", options.width},
                        {"layers", options.layers},
                        {"heads", options.heads},
                        {"feed_forward", options.feed_forward},
                        {"dropout", options.dropout},
                        {"attention", to_string(options.attention)},
                        {"fusion", options.fusion},
                        {"feature_head", options.feature_head},
                        {"gate", options.gate},
                        {"output_features", options.output_features},
                        {"open_vocabulary", options.open_vocabulary},
                        {"share_class_mass", options.share_class_mass},
                        {"knobs", std::move(knobs)}};
  const int version = version_of(options);
  if (version >= kNormVersion) {
    fields["norm"] = to_string(options.norm);
    fields["scaled_embedding"] = options.scaled_embedding;
  }
  if (version >= kVersion) fields["distance_bias"] = options.distance_bias;
  return fields;
}

OrderedJson features_json(const FeatureOptions& options, const std::vector<std::string>& names) {
  return {{"bank", to_string(options.bank)},
          {"kernel", to_string(options.kernel)},
          {"kernel_base", options.kernel_base},
          {"centers", options.centers},
          {"bandwidth", options.bandwidth},
          {"learn_kernel", options.learn_kernel},
          {"exclamation_nudge", options.exclamation_nudge},
          {"names", names}};
}

OrderedJson lexicon_json(const Lexicon& lexicon) {
  OrderedJson entries = OrderedJson::array();
  for (const LexiconEntry& entry : lexicon.entries()) {
    entries.push_back({{"word", entry.word},
                       {"class", entry.word_class},
                       {"polarity", entry.polarity},
                       {"strength", entry.strength}});
    if (!entry.more.empty()) entries.back()["more"] = entry.more;
  }
  return entries;
}

Lexicon parse_lexicon(const std::string& text, const std::string& origin) {
  std::vector<LexiconEntry> entries;
  const json list = parse_json(text, origin + ": metadata lexicon");
  if (!list.is_array()) refuse_model(origin, "metadata lexicon is not a list");
  for (const json& item : list) {
    const auto field = [&](const char* name, auto is_type) -> const json& {
      if (!item.is_object() || !item.contains(name) || !is_type(item[name]))
        refuse_model(origin, fmt::format("metadata lexicon: entry {} lacks a valid \"{}\"", entries.size() + 1, name));
      return item[name];
    };
    const auto is_string = [](const json& value) { return value.is_string(); };
    const auto is_number = [](const json& value) { return value.is_number(); };
    entries.push_back({.word = field("word", is_string).get<std::string>(),
                       .word_class = field("class", is_string).get<std::string>(),
                       .polarity = field("polarity", is_number).get<double>(),
                       .strength = field("strength", is_number).get<double>()});
    if (!item.contains("more")) continue;
    const auto is_object = [](const json& value) { return value.is_object(); };
    for (const auto& [name, value] : field("more", is_object).items()) {
      if (!value.is_number())
        refuse_model(origin, fmt::format("metadata lexicon: entry {} lacks a valid \"{}\"", entries.size(), name));
      entries.back().more.emplace(name, value.get<double>());
    }
  }
  return checked("lexicon", origin, [&] { return Lexicon(std::move(entries)); });
}

std::string text_of(const OrderedJson& json_of_spec) {
  try {
    return json_of_spec.dump();
  } catch (const OrderedJson::exception&) {
    throw Error("a word of the model is not valid UTF-8, so it is not saved; write the word in UTF-8");
  }
}

// Flags of the vocabulary's entries from the list of those without identity: words, or ids of a tokenizer.
std::vector<bool> parse_seen(const Metadata& metadata, const Vocabulary& vocabulary, const std::string& origin) {
  std::vector<bool> seen(vocabulary.size(), true);
  if (!metadata.contains("unseen")) return seen;
  if (metadata.contains("tokenizer")) {
    const json list = parse_json(entry(metadata, "unseen", origin), origin + ": metadata unseen");
    if (!list.is_array()) refuse_model(origin, "metadata unseen is not a list");
    for (const json& id : list) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() <= Vocabulary::kEos ||
          id.get<std::uint64_t>() >= vocabulary.size()) {
        refuse_model(origin, "metadata unseen names an entry that is no word of the model");
      }
      seen[id.get<std::size_t>()] = false;
    }
    return seen;
  }
  for (const std::string& word : parse_words(metadata, "unseen", origin)) {
    const auto id = vocabulary.find(word);
    if (!id || *id <= Vocabulary::kEos) {
      refuse_model(origin, "metadata unseen names an entry that is no word of the model");
    }
    seen[static_cast<std::size_t>(*id)] = false;
  }
  return seen;
}

KnobSupport parse_knob_support(const Metadata& metadata, std::span<const Knob> knobs, const std::string& origin) {
  if (!metadata.contains("knob_support")) return {};
  KnobSupport support;
  const json object = parse_json(entry(metadata, "knob_support", origin), origin + ": metadata knob_support");
  if (!object.is_object()) refuse_model(origin, "metadata knob_support is not an object");
  for (const auto& [name, list] : object.items()) {
    if (knob_index(knobs, name) == knobs.size()) {
      refuse_model(origin, "metadata knob_support names a knob that is not there");
    }
    if (!list.is_array()) refuse_model(origin, fmt::format("metadata knob_support: {} is not a list", name));
    std::vector<double>& values = support[name];
    for (const json& value : list) {
      if (!value.is_number() || (!values.empty() && !(value.get<double>() > values.back()))) {
        refuse_model(origin, fmt::format("metadata knob_support: {} is no ascending list of numbers", name));
      }
      values.push_back(value.get<double>());
    }
  }
  return support;
}

OrderedJson points_json(const std::vector<CalibrationPoint>& points) {
  OrderedJson list = OrderedJson::array();
  for (const CalibrationPoint& point : points)
    list.push_back(OrderedJson::array({point.asked, point.request, point.guidance}));
  return list;
}

// Throws json::exception.
std::vector<CalibrationPoint> parse_points(const json& list) {
  std::vector<CalibrationPoint> points;
  for (const json& point : list.get_ref<const json::array_t&>()) {
    const auto numbers = point.get<std::array<double, 3>>();
    points.push_back({.asked = numbers[0], .request = numbers[1], .guidance = numbers[2]});
  }
  return points;
}

OrderedJson calibration_json(const Calibration& calibration) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, map] : calibration) {
    OrderedJson values = OrderedJson::array();
    for (const std::vector<CalibrationPoint>& points : map.values) values.push_back(points_json(points));
    object[name] = {{"judge", map.judge}, {"n", map.n}, {"points", std::move(values)}};
    for (const CalibrationBeside& beside : map.beside) {
      object[name]["beside"].push_back(
          {{"knob", beside.knob}, {"label", beside.label}, {"points", points_json(beside.points)}});
    }
  }
  return object;
}

Calibration parse_calibration(const Metadata& metadata, std::span<const Knob> knobs, const std::string& origin) {
  if (!metadata.contains("calibration")) return {};
  const json object = parse_json(entry(metadata, "calibration", origin), origin + ": metadata calibration");
  Calibration calibration;
  try {
    for (const auto& [name, written] : object.get_ref<const json::object_t&>()) {
      const std::size_t index = knob_index(knobs, name);
      if (index == knobs.size()) refuse_model(origin, "metadata calibration names a knob that is not there");
      KnobCalibration& map = calibration[name];
      map.judge = written.at("judge").get_ref<const std::string&>();
      map.n = written.at("n").get_ref<const json::number_unsigned_t&>();
      for (const json& points : written.at("points").get_ref<const json::array_t&>()) {
        map.values.push_back(parse_points(points));
      }
      if (written.contains("beside")) {
        for (const json& beside : written.at("beside").get_ref<const json::array_t&>()) {
          map.beside.push_back({.knob = beside.at("knob").get_ref<const std::string&>(),
                                .label = beside.at("label").get_ref<const json::number_unsigned_t&>(),
                                .points = parse_points(beside.at("points"))});
        }
      }
      checked("calibration", origin, [&] {
        check_calibration(knobs[index], map);
        check_beside(knobs, knobs[index], map);
        return true;
      });
    }
  } catch (const json::exception&) {
    refuse_model(origin, "metadata calibration holds no maps of knobs");
  }
  return calibration;
}

OrderedJson heads_json(const KnobHeads& heads) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, head] : heads) object[name] = to_base64(steering_bytes(head));
  return object;
}

KnobHeads parse_heads(const Metadata& metadata, const std::string& origin) {
  if (!metadata.contains("heads")) return {};
  const json object = parse_json(entry(metadata, "heads", origin), origin + ": metadata heads");
  KnobHeads heads;
  try {
    for (const auto& [name, written] : object.get_ref<const json::object_t&>()) {
      const std::optional<std::string> bytes = from_base64(written.get_ref<const std::string&>());
      if (!bytes) refuse_model(origin, "metadata heads holds what is not base64");
      const auto* first = reinterpret_cast<const std::byte*>(bytes->data());
      const std::string where = origin + ": metadata heads";
      heads.emplace(name, parse_steering(TensorArchive::parse({first, first + bytes->size()}, where), where));
    }
  } catch (const json::exception&) {
    refuse_model(origin, "metadata heads holds no heads of knobs");
  }
  return heads;
}

}  // namespace

void refuse_model(const std::string& origin, const std::string& what) {
  throw Error(fmt::format("{}: {}; it is damaged or not a semfuse model, train or copy it again", origin, what));
}

std::vector<std::string> parse_words(const Metadata& metadata, const std::string& key, const std::string& origin) {
  const json list = parse_json(entry(metadata, key, origin), origin + ": metadata " + key);
  std::vector<std::string> words;
  if (!list.is_array()) refuse_model(origin, fmt::format("metadata {} is not a list", key));
  for (const json& item : list) {
    if (!item.is_string()) {
      refuse_model(origin, fmt::format("metadata {}: entry {} is not text", key, words.size() + 1));
    }
    words.push_back(item.get<std::string>());
  }
  return words;
}

ModelSpec spec_of(const LanguageModel& model) {
  return {.options = model.options(),
          .features = model.feature_bank().options(),
          .vocabulary = model.vocabulary(),
          .tokenizer = model.tokenizer() ? std::optional(*model.tokenizer()) : std::nullopt,
          .lexicon = model.feature_bank().lexicon(),
          .seen = model.seen(),
          .knob_support = model.knob_support(),
          .calibration = model.calibration(),
          .heads = model.heads(),
          .natural = FeatureBankAccess::shared_natural(model.feature_bank()),
          .vectors = FeatureBankAccess::vectors(model.feature_bank())};
}

FeatureBank ModelSpec::bank() const {
  FeatureBank bank = natural ? FeatureBankAccess::of(natural) : FeatureBank(lexicon, features);
  return FeatureBankAccess::with_vectors(std::move(bank), vectors);
}

Metadata to_metadata(const ModelSpec& spec) {
  const OrderedJson whole = {
      {"version", version_of(spec.options)},
      {"model", options_json(spec.options)},
      {"features",
       features_json(spec.features, spec.options.fusion ? spec.bank().names() : std::vector<std::string>())}};
  Metadata metadata = {{"spec", text_of(whole)}, {"lexicon", text_of(lexicon_json(spec.lexicon))}};
  if (spec.tokenizer) {
    metadata.emplace("tokenizer", spec.tokenizer->to_json());
  } else {
    metadata.emplace("vocabulary", text_of(spec.vocabulary.entries()));
  }
  OrderedJson unseen = OrderedJson::array();
  for (std::size_t id = 0; id < spec.seen.size(); ++id) {
    if (spec.seen[id]) continue;
    if (spec.tokenizer) {  // Its tokens may be bytes that are no text.
      unseen.push_back(id);
    } else {
      unseen.push_back(spec.vocabulary.entries()[id]);
    }
  }
  if (!unseen.empty()) metadata.emplace("unseen", text_of(unseen));
  if (!spec.knob_support.empty()) metadata.emplace("knob_support", text_of(spec.knob_support));
  if (!spec.calibration.empty()) metadata.emplace("calibration", text_of(calibration_json(spec.calibration)));
  if (!spec.heads.empty()) metadata.emplace("heads", text_of(heads_json(spec.heads)));
  if (spec.natural) {
    metadata.emplace("declaration", spec.natural->declaration().text);
    const Tagger* tagger = spec.natural->annotator().tagger();
    if (tagger != nullptr) metadata.emplace("tagger", to_base64(tagger->bytes()));
  }
  if (spec.vectors) metadata.emplace("vectors", to_base64(spec.vectors->bytes()));
  return metadata;
}

ModelSpec parse_model_spec(const Metadata& metadata, const std::string& origin) {
  const json spec = parse_json(entry(metadata, "spec", origin), origin + ": metadata spec");
  if (!spec.is_object() || !spec.contains("version")) refuse_model(origin, "metadata spec says no version");
  const json& version = spec["version"];
  if ((version != kPaperVersion && version != kNormVersion && version != kVersion) || spec.size() != 3) {
    refuse_model(origin, "metadata spec is of a version that this program does not know");
  }
  const ModelOptions options = parse_options(spec, origin);
  std::vector<std::string> names;
  const FeatureOptions features = parse_features(spec, names, origin);
  ModelSpec found = parse_model_spec(metadata, origin, options, features);
  const FeatureBank bank = checked("spec", origin, [&] { return found.bank(); });
  if (options.fusion && names != bank.names()) {
    refuse_model(origin, "metadata spec names other features than this version computes");
  }
  checked("spec", origin, [&] { return TextLabels(options.knobs, bank), true; });  // Knobs of features that it has.
  return found;
}

ModelSpec parse_model_spec(const Metadata& metadata, const std::string& origin, const ModelOptions& options,
                           const FeatureOptions& features) {
  checked("spec", origin, [&] { return ModelAccess::check(options, features), true; });
  std::optional<Tokenizer> tokenizer;
  if (const auto found = metadata.find("tokenizer"); found != metadata.end()) {
    tokenizer = Tokenizer::parse(found->second, origin + ": metadata tokenizer");
  }
  std::vector<std::string> entries;
  if (!tokenizer) entries = parse_words(metadata, "vocabulary", origin);
  Vocabulary vocabulary = checked("vocabulary", origin,
                                  [&] { return tokenizer ? tokenizer->vocabulary() : Vocabulary(std::move(entries)); });
  std::vector<bool> seen = parse_seen(metadata, vocabulary, origin);
  Lexicon lexicon = parse_lexicon(entry(metadata, "lexicon", origin), origin);
  std::shared_ptr<const NaturalBank> natural = parse_natural(metadata, features, lexicon, origin);
  return {.options = options,
          .features = features,
          .vocabulary = std::move(vocabulary),
          .tokenizer = std::move(tokenizer),
          .lexicon = std::move(lexicon),
          .seen = std::move(seen),
          .knob_support = parse_knob_support(metadata, options.knobs, origin),
          .calibration = parse_calibration(metadata, options.knobs, origin),
          .heads = parse_heads(metadata, origin),
          .natural = std::move(natural),
          .vectors = parse_vectors(metadata, origin)};
}

}  // namespace semfuse
