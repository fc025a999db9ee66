#include "generation/text_reader.h"

#include <algorithm>

#include "model/model_access.h"

namespace semfuse {

namespace {

// Of keys and values: those that a sentence keeps for its requests, and a stream for the next sentence.
constexpr std::size_t kStreamBytes = std::size_t{8} << 20;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

}  // namespace

std::unique_ptr<TokenStream> StreamPool::take() {
  if (idle_.empty()) return std::make_unique<TokenStream>(empty_);
  std::unique_ptr<TokenStream> stream = std::move(idle_.back());
  idle_.pop_back();
  stream->clear();
  return stream;
}

void StreamPool::give_back(std::unique_ptr<TokenStream> stream) {
  const std::size_t bytes = stream->cache.length() * stream->cache.token_size() * sizeof(float);
  if (bytes <= kKeptBytes) idle_.push_back(std::move(stream));
}

TextReader::TextReader(const LanguageModel& model, StreamPool& pool) : model_(model), pool_(pool) {
  if (ModelAccess::num_features(model) > 0 && !ModelAccess::features(model).looks_ahead()) {
    token_rows_.emplace(ModelAccess::features(model));
    features_.assign(token_rows_->row().begin(), token_rows_->row().end());
  }
}

TextReader::~TextReader() {
  for (std::unique_ptr<TokenStream>& stream : streams_) pool_.give_back(std::move(stream));
}

void TextReader::begin(std::span<const TokenId> tokens) {
  tokens_ = tokens;
  num_asked_ = 0;
  read_features();
}

void TextReader::read_features() {
  const std::size_t num_features = ModelAccess::num_features(model_);
  if (num_features == 0) return;
  if (!token_rows_) {
    features_ = ModelAccess::features(model_).prefix_rows(tokens_.subspan(1)).values;
    return;
  }
  for (std::size_t t = features_.size() / num_features; t < tokens_.size(); ++t) {
    const std::span<const float> row = token_rows_->append(tokens_[t]);
    features_.insert(features_.end(), row.begin(), row.end());
  }
}

std::size_t TextReader::most_streams() const {
  const ModelOptions& options = model_.options();
  const std::size_t bytes = 2 * options.layers * options.width * sizeof(float) * tokens_.size();
  return std::max({std::size_t{2}, num_asked_, kStreamBytes / bytes});
}

TokenStream& TextReader::read(const std::vector<float>& request, std::size_t num_shared) {
  ++num_asked_;
  auto found = std::ranges::find_if(streams_, [&](const auto& stream) { return stream->request == request; });
  if (found == streams_.end()) {
    while (streams_.size() >= most_streams()) {
      pool_.give_back(std::move(streams_.back()));
      streams_.pop_back();
    }
    found = streams_.insert(streams_.end(), pool_.take());
    (*found)->request = request;
    (*found)->num_shared = num_shared;
  }
  std::rotate(streams_.begin(), found, found + 1);
  TokenStream& stream = *streams_.front();
  // It has the beginning of this text already, and perhaps guesses; rows that look ahead may have changed.
  const std::size_t kept = token_rows_ ? stream.tokens.size() - stream.num_guesses : 0;
  const std::size_t num_features = ModelAccess::num_features(model_);
  stream.tokens.resize(kept);
  stream.features.resize(kept * num_features);
  stream.num_unchanged = std::min(kept, stream.num_certain);
  stream.tokens.insert(stream.tokens.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(kept), tokens_.end());
  stream.features.insert(stream.features.end(), features_.begin() + static_cast<std::ptrdiff_t>(kept * num_features),
                         features_.end());
  stream.num_guesses = 0;
  return stream;
}

}  // namespace semfuse
