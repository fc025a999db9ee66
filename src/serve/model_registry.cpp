#include "serve/model_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/quoted_text.h"
#include "wire/api_error.h"

namespace semfuse {

namespace {

// What stands in a path of a request as it is.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string name_of(const std::filesystem::path& path) {
  std::filesystem::path whole = std::filesystem::weakly_canonical(path);
  if (whole.filename() == "model.safetensors") whole = whole.parent_path();
  std::string name = whole.extension() == ".safetensors" ? whole.stem().string() : whole.filename().string();
  std::ranges::replace_if(
      name, [](char c) { return !is_plain(c); }, '-');
  return name.empty() ? "model" : name;
}

}  // namespace

ModelRegistry::ModelRegistry(std::vector<std::filesystem::path> paths, std::size_t threads, std::size_t context)
    : paths_(std::move(paths)), threads_(threads), context_(context), models_(load()) {}

std::vector<std::shared_ptr<ServedModel>> ModelRegistry::load() const {
  std::vector<std::shared_ptr<ServedModel>> models;
  for (const std::filesystem::path& path : paths_) {
    const std::string name = name_of(path);
    std::string id = name;
    const auto taken = [&](const auto& other) { return other->id() == id; };
    for (std::size_t i = 2; std::ranges::any_of(models, taken); ++i) id = fmt::format("{}-{}", name, i);
    models.push_back(std::make_shared<ServedModel>(id, path, threads_, context_));
  }
  return models;
}

std::shared_ptr<ServedModel> ModelRegistry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (name.empty()) return models_.front();
  std::vector<std::string> names;
  for (const auto& model : models_) {
    if (model->id() == name) return model;
    names.push_back(model->id());
  }
  throw ApiError(404,
                 fmt::format("model: there is no {}; this server has {}", quoted_text(name), fmt::join(names, ", ")),
                 "model", "model_not_found");
}

std::vector<std::shared_ptr<ServedModel>> ModelRegistry::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

void ModelRegistry::reload() {
  std::vector<std::shared_ptr<ServedModel>> models = load();
  const std::lock_guard lock(mutex_);
  models_.swap(models);
  replaced_.insert(replaced_.end(), models.begin(), models.end());
}

std::vector<std::shared_ptr<ServedModel>> ModelRegistry::used() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ServedModel>> models = models_;
  models.insert(models.end(), replaced_.begin(), replaced_.end());
  return models;
}

void ModelRegistry::wait() const {
  for (const auto& model : used()) model->session().wait();
}

void ModelRegistry::forget_unused() {
  std::vector<std::shared_ptr<ServedModel>> unused;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  std::erase_if(replaced_, [&](std::shared_ptr<ServedModel>& model) {
    if (model.use_count() > 1) return false;
    unused.push_back(std::move(model));
    return true;
  });
}

}  // namespace semfuse
