// The models that a server answers with, by name; may be loaded again while they are used.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/served_model.h"

namespace semfuse {

// All functions may be called from several threads at once.
class ModelRegistry {
 public:
  // Loads them; a model is named after its folder or file. Throws Error.
  ModelRegistry(std::vector<std::filesystem::path> paths, std::size_t threads, std::size_t context);

  // The first one for an empty name. Throws ApiError, 404, for an unknown one.
  std::shared_ptr<ServedModel> find(std::string_view name) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  // Those, and the ones they replaced that still write.
  std::vector<std::shared_ptr<ServedModel>> used() const;

  // Loads all again. Texts that are being written go on with the old ones. Throws Error, and changes nothing, if one
  // cannot be loaded.
  void reload();
  // Frees those that were replaced and are not used any more. Not from a thread that writes texts.
  void forget_unused();
  // Until no text is being written, nor holds a model: a thread of a model must not be the one to free it.
  void wait() const;

 private:
  std::vector<std::shared_ptr<ServedModel>> load() const;

  const std::vector<std::filesystem::path> paths_;
  const std::size_t threads_;
  const std::size_t context_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ServedModel>> models_;
  std::vector<std::shared_ptr<ServedModel>> replaced_;
};

}  // namespace semfuse
