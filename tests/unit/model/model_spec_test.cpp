#include "model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "features/natural_bank.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// No value is the default one, so whatever is not stored shows.
ModelSpec unusual_spec() {
  return {
      .options = {.width = 12,
                  .layers = 3,
                  .heads = 2,
                  .feed_forward = 7,
                  .dropout = 1.0 / 3.0,
                  .attention = AttentionMask::causal,
                  .norm = NormPlace::pre,
                  .scaled_embedding = true,
                  .distance_bias = true,
                  .fusion = true,
                  .feature_head = 5,
                  .gate = false,
                  .output_features = true,
                  .open_vocabulary = true,
                  .share_class_mass = true,
                  .knobs = {parse_knob("warmth: probability of warmth"),
                            parse_knob("size: scalar of length from 0.1 to 16")}},
      .features = {.bank = FeatureSet::semfuse,
                   .kernel = MembershipKernel::gaussian,
                   .kernel_base = 0.7,
                   .centers = {0.1, 0.1 + 0.2, 0.9},
                   .bandwidth = 1.0 / 7.0,
                   .learn_kernel = true,
                   .exclamation_nudge = 0.05},
      .vocabulary = Vocabulary({"<pad>", "<bos>", "<eos>", "zebra", "a \"quoted\" caf\xC3\xA9"}),
      .lexicon = Lexicon(
          {{.word = "zebra", .word_class = WordClass::kAdjective, .polarity = -1.0 / 3.0, .more = {{"warmth", 0.25}}},
           {.word = "not in the vocabulary", .word_class = "own"}}),
      .seen = {true, true, true, false, true},
      .knob_support = {{"size", {0.1, 1.0 / 3.0}}},
      .calibration = {
          {"warmth", {.values = {{{0.0, 0.0, 2.5}, {1.0 / 3.0, 0.1, 1.0}, {1.0, 0.9, 1.0}}}, .judge = "ab", .n = 7}}}};
}

// The same with features of natural text.
ModelSpec natural_spec(bool has_tagger) {
  ModelSpec spec = unusual_spec();
  spec.options.share_class_mass = false;
  spec.features.bank = FeatureSet::natural;
  spec.features.learn_kernel = false;
  const char* text = has_tagger ? "# Two.\nnoun: tag NOUN\nwarm: high of warmth\n" : "loud: is upper\n";
  spec.natural = std::make_shared<const NaturalBank>(
      BankDeclaration::parse(text, "b"),
      has_tagger ? std::make_shared<const Tagger>(TagWeights(), TagWeights()) : nullptr,
      std::vector<Lexicon>{spec.lexicon}, spec.features);
  return spec;
}

std::string refusal(const Metadata& metadata) {
  try {
    parse_model_spec(metadata, "m");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// What is said of a spec with this change to its JSON.
std::string refusal(const std::function<void(nlohmann::json&)>& change) {
  Metadata metadata = to_metadata(unusual_spec());
  nlohmann::json spec = nlohmann::json::parse(metadata["spec"]);
  change(spec);
  metadata["spec"] = spec.dump();
  return refusal(metadata);
}

TEST(ModelSpec, HoldsTheFeaturesOfNaturalText) {
  for (const bool has_tagger : {false, true}) {
    const ModelSpec spec = natural_spec(has_tagger);
    const Metadata metadata = to_metadata(spec);
    EXPECT_EQ(metadata.contains("tagger"), has_tagger);
    const ModelSpec found = parse_model_spec(metadata, "m");
    EXPECT_EQ(to_metadata(found), metadata);
    EXPECT_EQ(found.bank().names(), spec.natural->names());
    EXPECT_EQ(found.bank().options().bank, FeatureSet::natural);
    EXPECT_EQ(found.bank().lexicon().entries(), spec.lexicon.entries());
    EXPECT_EQ(found.bank().word_rows(spec.vocabulary).values, spec.bank().word_rows(spec.vocabulary).values);
  }
  EXPECT_FALSE(to_metadata(unusual_spec()).contains("declaration"));
}

TEST(ModelSpec, RefusesFeaturesOfNaturalTextThatAreNotWhole) {
  const Metadata whole = to_metadata(natural_spec(true));
  const auto changed = [&](const char* key, std::optional<std::string> value) {
    Metadata metadata = whole;
    if (value) {
      metadata[key] = *value;
    } else {
      metadata.erase(key);
    }
    return refusal(metadata);
  };
  EXPECT_THAT(changed("declaration", std::nullopt), HasSubstr("metadata declaration is missing"));
  EXPECT_THAT(changed("declaration", "noun: tag NOON\n"), HasSubstr("metadata declaration:1"));
  EXPECT_THAT(changed("declaration", "noun: tag NOUN\n"), HasSubstr("names other features"));
  EXPECT_THAT(changed("declaration", "noun: tag NOUN\nwarm: high of heat\n"), HasSubstr("no lexicon has"));
  EXPECT_THAT(changed("tagger", std::nullopt), HasSubstr("a tag needs a tagger"));
  EXPECT_THAT(changed("tagger", "?"), HasSubstr("metadata tagger is not base64"));
  EXPECT_THAT(changed("tagger", "Zm9v"), HasSubstr("is no tagger"));
  for (const char* key : {"learn_kernel", "share_class_mass"}) {
    Metadata metadata = whole;
    nlohmann::json spec = nlohmann::json::parse(metadata["spec"]);
    spec[key == std::string("learn_kernel") ? "features" : "model"][key] = true;
    metadata["spec"] = spec.dump();
    EXPECT_THAT(refusal(metadata), HasSubstr(key));
  }
}

TEST(ModelSpec, ReadsWhatWasWritten) {
  const ModelSpec spec = unusual_spec();
  const Metadata metadata = to_metadata(spec);
  const ModelSpec found = parse_model_spec(metadata, "m");
  EXPECT_EQ(to_metadata(found), metadata);
  EXPECT_EQ(found.options.dropout, spec.options.dropout);
  EXPECT_EQ(found.options.knobs, spec.options.knobs);
  EXPECT_EQ(found.features.centers, spec.features.centers);
  EXPECT_EQ(found.features.bandwidth, spec.features.bandwidth);
  EXPECT_EQ(found.vocabulary.entries(), spec.vocabulary.entries());
  EXPECT_EQ(found.lexicon.entries(), spec.lexicon.entries());
  EXPECT_EQ(found.seen, spec.seen);
  EXPECT_EQ(found.knob_support, spec.knob_support);
  EXPECT_EQ(found.calibration, spec.calibration);
}

TEST(ModelSpec, WhatIsLikeThePapersModelIsOfTheFirstVersion) {
  ModelSpec spec = unusual_spec();
  const auto version = [&] { return nlohmann::json::parse(to_metadata(spec)["spec"])["version"]; };
  EXPECT_EQ(version(), 3);
  spec.options.distance_bias = false;
  EXPECT_EQ(version(), 2);
  spec.options.norm = NormPlace::post;
  EXPECT_EQ(version(), 2);
  spec.options.scaled_embedding = false;
  const Metadata metadata = to_metadata(spec);
  const nlohmann::json json = nlohmann::json::parse(metadata.at("spec"));
  EXPECT_EQ(json["version"], 1);
  EXPECT_FALSE(json["model"].contains("norm"));
  const ModelOptions found = parse_model_spec(metadata, "m").options;
  EXPECT_EQ(found.norm, NormPlace::post);
  EXPECT_FALSE(found.scaled_embedding);
  EXPECT_FALSE(found.distance_bias);
}

TEST(ModelSpec, IsThatOfItsModel) {
  const ModelSpec spec = unusual_spec();
  LanguageModel model(spec.options, spec.vocabulary, FeatureBank(spec.lexicon, spec.features), 1);
  model.set_seen(spec.seen);
  model.set_knob_support(spec.knob_support);
  model.set_calibration(spec.calibration);
  EXPECT_EQ(to_metadata(spec_of(model)), to_metadata(spec));
}

TEST(ModelSpec, WordsThatAreNotUtf8AreNotWritten) {
  ModelSpec spec = unusual_spec();
  spec.vocabulary = Vocabulary({"<pad>", "<bos>", "<eos>", "\xFF", "b"});
  EXPECT_THROW(to_metadata(spec), Error);
}

TEST(ModelSpec, AnUnfilledModelHasNoNumbersOfItsOwn) {
  const ModelSpec spec = unusual_spec();
  const LanguageModel model =
      ModelAccess::unfilled(spec.options, spec.vocabulary, FeatureBank(spec.lexicon, spec.features));
  for (const NamedParameter& parameter : model.parameters()) {
    for (const float value : parameter.values) ASSERT_EQ(value, 0.0f) << parameter.name;
  }
}

TEST(ModelSpec, WhatIsMissingWrongOrUnknownIsRefusedByName) {
  const nlohmann::json whole = nlohmann::json::parse(to_metadata(unusual_spec())["spec"]);
  const auto one_line = [](const std::string& part) {
    return AllOf(StartsWith("m: metadata spec"), HasSubstr(part), HasSubstr("damaged"), Not(HasSubstr("\n")));
  };
  for (const char* section : {"model", "features"}) {
    EXPECT_THAT(refusal([&](nlohmann::json& spec) { spec[section] = 1; }), one_line(section));
    for (const auto& [name, value] : whole[section].items()) {
      EXPECT_THAT(refusal([&](nlohmann::json& spec) { spec[section].erase(name); }), one_line(name + " is missing"));
      for (const nlohmann::json& wrong : {nlohmann::json(nullptr), nlohmann::json::object()}) {
        EXPECT_THAT(refusal([&](nlohmann::json& spec) { spec[section][name] = wrong; }), one_line(name)) << wrong;
      }
    }
    EXPECT_THAT(refusal([&](nlohmann::json& spec) { spec[section]["new\n"] = 1; }), one_line("\"new\\n\""));
  }
  for (const nlohmann::json& version : {nlohmann::json(4), nlohmann::json("1"), nlohmann::json()}) {
    EXPECT_THAT(refusal([&](nlohmann::json& spec) { spec["version"] = version; }), one_line("version"));
  }
  EXPECT_THAT(refusal([](nlohmann::json& spec) { spec["version"] = 1; }), one_line("does not know"));
  EXPECT_THAT(refusal([](nlohmann::json& spec) { spec["version"] = 2; }), one_line("distance_bias"));
  EXPECT_THAT(refusal([](nlohmann::json& spec) { spec = 3; }), one_line("version"));
  EXPECT_THAT(refusal([](nlohmann::json& spec) { spec["more"] = 3; }), one_line("version"));
}

TEST(ModelSpec, ValuesThatNoModelCanHaveAreRefused) {
  const auto model = [](const char* name, const nlohmann::json& value) {
    return refusal([&](nlohmann::json& spec) { spec["model"][name] = value; });
  };
  const auto features = [](const char* name, const nlohmann::json& value) {
    return refusal([&](nlohmann::json& spec) { spec["features"][name] = value; });
  };
  for (const char* size : {"width", "layers", "heads", "feed_forward", "feature_head"}) {
    for (const nlohmann::json& wrong : {nlohmann::json(0), nlohmann::json(-2), nlohmann::json(2.0),
                                        nlohmann::json(1 << 21), nlohmann::json(~std::uint64_t{0})}) {
      EXPECT_THAT(model(size, wrong), HasSubstr("whole number from 1")) << size << wrong;
    }
  }
  EXPECT_THAT(model("heads", 5), HasSubstr("multiple of heads"));
  EXPECT_THAT(model("dropout", 1.0), HasSubstr("dropout"));
  EXPECT_THAT(model("fusion", false), HasSubstr("need fusion"));
  EXPECT_THAT(model("attention", "sideways"), HasSubstr("\"sideways\""));
  EXPECT_THAT(model("attention", "bidirectional"), HasSubstr("distance_bias needs causal attention"));
  EXPECT_THAT(model("knobs", {"one\ntwo"}), AllOf(HasSubstr("metadata spec"), Not(HasSubstr("\n"))));
  EXPECT_THAT(model("knobs", {"a: probability of x", "a: probability of y"}), HasSubstr("two knobs"));
  EXPECT_THAT(features("bandwidth", 0), HasSubstr("bandwidth"));
  EXPECT_THAT(features("centers", {0.5, 0.4, 0.6}), HasSubstr("centers"));
  EXPECT_THAT(features("centers", {0.5, 0.6}), HasSubstr("three numbers"));
  EXPECT_THAT(features("names", {"is_noun"}), HasSubstr("other features"));
}

TEST(ModelSpec, RefusesMapsThatAreNone) {
  const auto calibration = [](const char* text) {
    Metadata metadata = to_metadata(unusual_spec());
    metadata["calibration"] = text;
    return refusal(metadata);
  };
  EXPECT_EQ(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,0,1]]]}})"), "accepted");
  EXPECT_THAT(calibration(R"({"cold":{"judge":"","n":1,"points":[[[0,0,1]]]}})"), HasSubstr("knob that is not there"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,0,0]]]}})"), HasSubstr("guidance"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,1,1],[1,0,1]]]}})"), HasSubstr("monotone"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,1]]]}})"), HasSubstr("no maps"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":3,"n":1,"points":[]}})"), HasSubstr("no maps"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,0,1]]],"beside":[{"knob":"mark","label":9,
                                                                    "points":[[0,0,1]]}]}})"),
              HasSubstr("a label that the model has not"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":1,"points":[[[0,0,1]]],"beside":[{"knob":3}]}})"),
              HasSubstr("no maps"));
  EXPECT_THAT(calibration(R"({"warmth":{"judge":"","n":-1,"points":[]}})"), HasSubstr("no maps"));
}

TEST(ModelSpec, RefusesHeadsThatAreNone) {
  const auto heads = [](const char* text) {
    Metadata metadata = to_metadata(unusual_spec());
    metadata["heads"] = text;
    return refusal(metadata);
  };
  EXPECT_EQ(heads("{}"), "accepted");
  EXPECT_THAT(heads("[]"), HasSubstr("no heads"));
  EXPECT_THAT(heads(R"({"warmth": 3})"), HasSubstr("no heads"));
  EXPECT_THAT(heads(R"({"warmth": "*"})"), HasSubstr("base64"));
  EXPECT_THAT(heads(R"({"warmth": "AAAA"})"), HasSubstr("metadata heads"));
}

// The file is named once, whatever entry is wrong.
TEST(ModelSpec, AMessageNamesTheFileOnce) {
  for (const char* key : {"spec", "vocabulary", "lexicon", "unseen", "knob_support", "calibration"}) {
    for (const char* text : {"3", "[", "[3]", "[{}]", "[\"<pad>\"]", "[\"zebra\", \"zebra\"]"}) {
      Metadata metadata = to_metadata(unusual_spec());
      metadata[key] = text;
      const std::string message = refusal(metadata);
      if (message == "accepted") continue;  // "zebra" may be unseen twice.
      EXPECT_THAT(message, StartsWith("m: metadata " + std::string(key)));
      EXPECT_EQ(message.find("m: metadata", 1), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
    Metadata metadata = to_metadata(unusual_spec());
    metadata.erase(key);
    const bool may_be_missing = std::set<std::string>{"unseen", "knob_support", "calibration"}.contains(key);
    EXPECT_THAT(refusal(metadata), may_be_missing ? HasSubstr("accepted") : HasSubstr("is missing"));
  }
}

}  // namespace
}  // namespace semfuse
