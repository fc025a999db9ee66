#include "backbone/adapted_model.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "backbone/imported_language_model.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::uint64_t kRecordVersion = 1;
constexpr std::size_t kMostRank = 1024;

}  // namespace

ModelOptions options_of(const BackboneSpec& spec) {
  ModelOptions options;
  options.width = spec.model_width;
  options.layers = spec.num_layers;
  options.heads = spec.model_width % spec.num_heads == 0 ? spec.num_heads : 1;  // Heads may be wider than that.
  options.feed_forward = spec.hidden_width;
  options.dropout = 0.0;
  options.attention = AttentionMask::causal;
  options.norm = NormPlace::pre;
  options.fusion = options.gate = false;
  return options;
}

LanguageModel adapted_model(const BackboneFile& file, const ModelOptions& options, FeatureBank bank, std::size_t rank) {
  auto network =
      std::make_shared<const BackboneNetwork>(file, AdapterShape{.num_features = bank.size(),
                                                                 .num_request_columns = request_columns(options.knobs),
                                                                 .rank = rank,
                                                                 .gate = options.gate,
                                                                 .feature_head = options.feature_head});
  const Backbone& backbone = network->backbone();
  if (backbone.tokenizer() == nullptr) {
    throw Error(fmt::format("{}: came without a tokenizer, so it reads no texts; import it with one", file.path));
  }
  auto [vocabulary, tokenizer] = tokens_of(backbone);
  return ModelAccess::pretrained(options, std::move(vocabulary), std::move(tokenizer), std::move(network),
                                 std::move(bank));
}

const BackboneNetwork* adapted_network(const LanguageModel& model) {
  const auto* network = dynamic_cast<const BackboneNetwork*>(ModelAccess::pretrained(model));
  return network != nullptr && network->adapter() != nullptr ? network : nullptr;
}

std::string to_json(const AdapterRecord& record) {
  const Json object = {{"version", kRecordVersion}, {"backbone", record.file.path},     {"sha256", record.file.sha256},
                       {"size", record.file.size},  {"modified", record.file.modified}, {"rank", record.rank}};
  return object.dump();
}

AdapterRecord parse_adapter_record(const std::string& text, const std::string& origin) {
  const auto refuse = [&](const char* what) {
    throw Error(fmt::format("{}: metadata adapter {}; adapt the model anew", origin, what));
  };
  const nlohmann::json object = parse_json(text, origin + ": metadata adapter", 2);
  if (!object.is_object() || object.size() != 6) refuse("is no record of a backbone");
  try {
    if (object.at("version") != kRecordVersion) refuse("is of a version that this program does not know");
    for (const char* key : {"size", "rank"}) {
      if (!object.at(key).is_number_unsigned()) refuse("has a size or a rank that is none");
    }
    if (!object.at("modified").is_number_integer()) refuse("has a time that is none");
    AdapterRecord record{.file = {.path = object.at("backbone").get<std::string>(),
                                  .sha256 = object.at("sha256").get<std::string>(),
                                  .size = object.at("size").get<std::uint64_t>(),
                                  .modified = object.at("modified").get<std::int64_t>()},
                         .rank = object.at("rank").get<std::size_t>()};
    if (record.rank > kMostRank) refuse("has a rank that no adapter has");
    if (record.file.path.empty() || record.file.path.find('\0') != std::string::npos) refuse("names no backbone");
    return record;
  } catch (const nlohmann::json::exception&) {
    refuse("is no record of a backbone");
  }
  return {};
}

}  // namespace semfuse
