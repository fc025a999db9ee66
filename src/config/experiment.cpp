#include "semfuse/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "config/feature_sources.h"
#include "config/fit.h"
#include "config/keys.h"
#include "config/presets.h"
#include "config/toml_reader.h"
#include "core/nearest_word.h"
#include "data/builtin_corpora.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

std::set<std::string> section_names() {
  std::set<std::string> names;
  for (const Key& key : experiment_keys()) {
    if (!key.section.empty()) names.insert(key.section);
  }
  return names;
}

std::string unknown_key(std::string_view full_name) {
  std::vector<std::string> names;
  const std::string_view last = full_name.substr(full_name.rfind('.') + 1);
  for (const Key& key : experiment_keys()) {
    if (key.name == last) {
      return fmt::format("unknown key {}; did you mean \"{}\"?", quoted_text(full_name), key.full_name());
    }
    names.push_back(key.full_name());
  }
  std::string suggestion = did_you_mean(full_name, names);
  if (suggestion.empty()) suggestion = "; a preset shows every key";
  return fmt::format("unknown key {}{}", quoted_text(full_name), suggestion);
}

std::string unknown_section(std::string_view name) {
  const std::set<std::string> known = section_names();
  const std::vector<std::string> names(known.begin(), known.end());
  std::string suggestion = did_you_mean(name, names);
  if (suggestion.empty()) suggestion = fmt::format("; sections are {}", fmt::join(names, ", "));
  return fmt::format("unknown section {}{}", quoted_text(name), suggestion);
}

// Finds the key of a setting, or nothing for the header of a known section. Throws Error with the message alone.
const Key* key_of(const Setting& setting) {
  const std::set<std::string> sections = section_names();
  if (setting.section && !sections.contains(*setting.section)) throw Error(unknown_section(*setting.section));
  if (!setting.name) return nullptr;
  const std::string& name = *setting.name;
  if (!setting.section && sections.contains(name)) {
    throw Error(fmt::format("\"{0}\" is a section; write [{0}] and its keys below", name));
  }
  for (const Key& key : experiment_keys()) {
    if (key.section == setting.section.value_or("") && key.name == name) return &key;
  }
  const Key* key = setting.section ? nullptr : find_key(name);
  if (key != nullptr) {
    throw Error(fmt::format("unknown key \"{}\"; write {} below [{}]", name, key->name, key->section));
  }
  throw Error(unknown_key(setting.section ? *setting.section + "." + name : name));
}

// Sets the key and checks its range; the experiment changes only if both succeed.
void assign(Experiment& experiment, const Key& key, const Value& value) {
  Experiment changed = experiment;
  Complaint complaint = key.assign(changed, value);
  if (!complaint) complaint = key.check(changed);
  if (complaint) throw Error(key.full_name() + " " + *complaint);
  experiment = std::move(changed);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A declaration, `NAME: ...`, may have commas of its own: it ends where the next one begins.
bool goes_on(const std::vector<Value>& list, std::string_view item) {
  constexpr std::string_view kDeclares = ": ";
  if (list.empty() || item.find(kDeclares) != item.npos) return false;
  const auto* before = list.back().as<std::string>();
  return before != nullptr && before->find(kDeclares) != before->npos;
}

// A value from the command line: TOML, else a list at its commas, else the bare word.
Value bare_value(std::string_view text) {
  if (std::optional<Value> value = read_toml_value(text)) return *std::move(value);
  if (text.find(',') == text.npos || text.find_first_of("[]{}\"'") != text.npos) return {std::string(text)};
  std::vector<Value> list;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (goes_on(list, item)) {
      std::get<std::string>(list.back().content).append(", ").append(item);
    } else {
      const std::optional<Value> value = read_toml_value(item);
      list.push_back(value ? *value : Value{std::string(item)});
    }
    if (comma == text.npos) return {std::move(list)};
    text.remove_prefix(comma + 1);
  }
}

// `from = "paper-fusion"`: what the keys that are not there have.
bool is_from(const Setting& setting) {
  return !setting.section && setting.name == "from";
}

Experiment beginning_of(const std::vector<Setting>& settings, std::string_view origin) {
  const auto from = std::find_if(settings.begin(), settings.end(), is_from);
  if (from == settings.end()) return {};
  try {
    const auto* name = from->value.as<std::string>();
    if (name == nullptr) throw Error(fmt::format("from wants the name of a preset, got {}", describe(from->value)));
    return preset_experiment(*name);
  } catch (const Error& error) {
    throw Error(fmt::format("{}:{}: {}", origin, from->line, error.what()));
  }
}

}  // namespace

std::string_view to_string(DataKind kind) {
  return kind == DataKind::files ? "files" : "synthetic";
}

std::string_view to_string(LongTexts rule) {
  return rule == LongTexts::cut ? "cut" : "split";
}

SyntheticCorpusOptions synthetic_corpus_options(const Experiment& experiment) {
  const CorpusOptions& corpus = experiment.corpus;
  std::vector<std::string> held_out = corpus.held_out;
  if (corpus.random_held_out) held_out = random_held_out_words(experiment.seed);
  if (corpus.random_held_out_classes) held_out = random_held_out_classes(experiment.seed);
  if (experiment.data.kind == DataKind::files) held_out.clear();
  return {.seed = experiment.seed,
          .train = corpus.train,
          .val = corpus.val,
          .second_clause = corpus.second_clause,
          .held_out = std::move(held_out)};
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& preset : embedded_presets()) names.emplace_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

Experiment preset_experiment(std::string_view name) {
  for (const EmbeddedText& preset : embedded_presets()) {
    if (preset.name == name) return parse_experiment(preset.text, fmt::format("preset {}", name));
  }
  const std::vector<std::string> names = preset_names();
  throw Error(fmt::format("unknown preset {}; presets are {}{}", quoted_text(name), fmt::join(names, ", "),
                          did_you_mean(name, names)));
}

Experiment parse_experiment(std::string_view toml, std::string_view origin) {
  const std::vector<Setting> settings = read_toml(toml, origin);
  Experiment experiment = beginning_of(settings, origin);
  std::map<std::string, std::size_t> lines;
  for (const Setting& setting : settings) {
    if (is_from(setting)) continue;
    try {
      const Key* key = key_of(setting);
      if (key == nullptr) continue;
      assign(experiment, *key, setting.value);
      lines.emplace(key->full_name(), setting.line);
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", origin, setting.line, error.what()));
    }
  }
  if (const std::optional<Misfit> misfit = find_misfit(experiment)) {
    for (const std::string& key : misfit->keys) {
      const auto line = lines.find(key);
      if (line != lines.end()) throw Error(fmt::format("{}:{}: {}", origin, line->second, misfit->complaint));
    }
    throw Error(fmt::format("{}: {}", origin, misfit->complaint));
  }
  return experiment;
}

Experiment load_experiment(const std::filesystem::path& path) {
  Experiment experiment = parse_experiment(read_text(path, kMaxTomlBytes), path.string());
  for (const FeatureSource& source : feature_sources()) {
    std::string& file = experiment.*source.name;
    if (source.is_file(experiment)) file = (path.parent_path() / file).string();  // As it is if it begins at the root.
  }
  if (vector_source(experiment) == VectorSource::file) {
    experiment.vectors = std::filesystem::absolute(path.parent_path() / experiment.vectors).lexically_normal().string();
  }
  if (!experiment.init.empty()) experiment.init = (path.parent_path() / experiment.init).string();
  if (std::string& backbone = experiment.adapter.backbone; !backbone.empty()) {
    backbone = std::filesystem::absolute(path.parent_path() / backbone).lexically_normal().string();
  }
  for (std::vector<std::string>* files : {&experiment.data.train, &experiment.data.val}) {
    for (std::string& file : *files) {
      if (find_builtin_corpus(file) != nullptr) continue;
      // From the root on, since a run keeps the name in a configuration in another folder.
      file = std::filesystem::absolute(path.parent_path() / file).lexically_normal().string();
    }
  }
  return experiment;
}

void set_key(Experiment& experiment, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = trimmed(assignment.substr(0, equals));
  const Key* key = find_key(name);
  if (key == nullptr) throw Error(unknown_key(name));
  const std::string_view text = equals == assignment.npos ? "" : trimmed(assignment.substr(equals + 1));
  if (text.empty()) throw Error(fmt::format("{0} has no value; write {0}=VALUE", name));
  assign(experiment, *key, bare_value(text));
}

void validate(const Experiment& experiment) {
  if (const std::optional<Misfit> misfit = find_misfit(experiment)) throw Error(misfit->complaint);
}

std::string to_toml(const Experiment& experiment) {
  constexpr std::size_t kCommentColumn = 28;
  constexpr std::size_t kLongLine = 60;
  std::string text;
  std::string_view section;
  for (const Key& key : experiment_keys()) {
    if (!key.matters(experiment)) continue;
    if (key.section != section) text += fmt::format("\n[{}]\n", key.section);
    section = key.section;
    const std::string line = fmt::format("{} = {}", key.name, to_toml(key.get(experiment)));
    if (line.size() > kLongLine) {
      text += fmt::format("# {}\n{}\n", key.explanation, line);
    } else {
      text += fmt::format("{:<{}}  # {}\n", line, kCommentColumn, key.explanation);
    }
  }
  return text;
}

}  // namespace semfuse
