#include "evaluation/text_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "backbone/adapted_model.h"
#include "backbone/backbone_pass.h"
#include "backbone/backbone_stream_pass.h"
#include "generation/guidance.h"
#include "generation/read_model.h"
#include "kernels/softmax.h"
#include "model/model_access.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kStep = 64;         // Tokens whose logits are there at a time.
constexpr std::size_t kOwnWindow = 1024;  // Of our own models, which have no longest text.

void check_ids(std::span<const TokenId> ids, std::size_t vocab_size) {
  if (ids.empty()) throw Error("score: there is no token to read; give a text or ids");
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_size) {
      throw Error(fmt::format("score: the model has no token {}; ids go up to {}", id, vocab_size - 1));
    }
  }
}

// Reads all windows: begin() starts an empty text, read(tokens) gives a row of logits after each of the next tokens.
TextScore score_windows(std::span<const TokenId> ids, std::size_t window, const std::function<void()>& begin,
                        const std::function<Matrix(std::span<const TokenId>)>& read, const ScoreProgress& on_progress) {
  TextScore score{.ids = {ids.begin(), ids.end()}};
  for (std::size_t first = 0; first == 0 || first + 1 < ids.size(); first += window - 1) {
    const std::size_t end = std::min(ids.size(), first + window);
    begin();
    for (std::size_t t = first; t < end; t += kStep) {
      const std::size_t count = std::min(kStep, end - t);
      const Matrix logits = read(ids.subspan(t, count));
      for (std::size_t r = 0; r < count && t + r + 1 < end; ++r) {
        const auto next = static_cast<std::size_t>(ids[t + r + 1]);
        score.nll.push_back(static_cast<double>(log_sum_exp(logits.row(r), logits.cols())) -
                            static_cast<double>(logits(r, next)));
      }
      if (t + count == ids.size()) {
        score.last_logits.assign(logits.row(count - 1), logits.row(count - 1) + logits.cols());
      }
      if (on_progress) on_progress(static_cast<double>(t + count) / static_cast<double>(ids.size()));
    }
    if (window == 1) break;
  }
  return score;
}

// Logits as asked become those of the guidance.
void guide_rows(Matrix unasked, Matrix asked, double guidance) {
  for (std::size_t r = 0; r < asked.rows(); ++r) {
    const std::span<float> row(asked.row(r), asked.cols());
    guide({unasked.row(r), unasked.cols()}, row, guidance, *std::ranges::max_element(row));
  }
}

// The tokens of a text with what the model reads before it; the text's bytes of those that are predicted.
std::vector<TokenId> ids_of(const Backbone& backbone, std::string_view text, std::size_t& num_bytes) {
  if (backbone.tokenizer() == nullptr) {
    throw Error(fmt::format("{}: the model came without a tokenizer; give --ids instead of text", backbone.origin()));
  }
  const BackboneSpec& spec = backbone.spec();
  std::vector<TokenId> ids;
  if (spec.adds_bos && spec.bos) ids.push_back(*spec.bos);
  const bool begins = !ids.empty();
  const std::vector<Token> tokens = backbone.tokenizer()->encode(text);
  for (const Token& token : tokens) ids.push_back(token.id);
  num_bytes = text.size() - (begins || tokens.empty() ? 0 : tokens.front().end);
  return ids;
}

std::size_t window_of(const Backbone& backbone, std::size_t window) {
  const std::size_t longest = std::max<std::size_t>(2, backbone.spec().context);
  return window == 0 ? longest : std::clamp<std::size_t>(window, 2, longest);
}

// Features of the tokens of a text that grows, as an adapter reads them.
class AdaptedFeatures {
 public:
  AdaptedFeatures(const LanguageModel& model, const BackboneSpec& spec)
      : model_(model), spec_(spec), num_features_(ModelAccess::num_features(model)) {}

  void clear() { words_.clear(); }
  // Of these, which come next; valid until the next call.
  ConstMatrix next(std::span<const TokenId> tokens) {
    if (num_features_ == 0) return {};
    for (const TokenId token : tokens) {
      // What begins a text is no word of it.
      if (!words_.empty() || token != spec_.bos) words_.push_back(token + kFirstBackboneToken);
    }
    values_ = ModelAccess::features(model_).prefix_rows(words_).values;
    const std::size_t rows = values_.size() / num_features_;
    return ConstMatrix(values_.data() + (rows - tokens.size()) * num_features_, tokens.size(), num_features_);
  }

 private:
  const LanguageModel& model_;
  const BackboneSpec& spec_;
  std::size_t num_features_;
  std::vector<TokenId> words_;
  std::vector<float> values_;
};

}  // namespace

double TextScore::bits_per_byte() const {
  if (num_bytes == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (const double bits : nll) sum += bits;
  return sum / std::numbers::ln2 / static_cast<double>(num_bytes);
}

TextScore score_ids(const Backbone& backbone, std::span<const TokenId> ids, std::size_t window, std::size_t threads,
                    const ScoreProgress& on_progress) {
  check_ids(ids, backbone.spec().vocab_size);
  BackbonePass pass(backbone, threads);
  KeyValueCache cache = pass.make_cache();
  return score_windows(
      ids, window_of(backbone, window), [&] { cache.set_length(0); },
      [&](std::span<const TokenId> tokens) {
        const BackboneRead next{.cache = &cache, .tokens = tokens, .num_wanted = tokens.size()};
        return pass.run({&next, 1});
      },
      on_progress);
}

TextScore score_adapted_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window,
                            std::size_t threads, const ScoreRequest& request, const ScoreProgress& on_progress) {
  const BackboneNetwork& network = *adapted_network(model);
  const Backbone& backbone = network.backbone();
  if (request.row.empty()) return score_ids(backbone, ids, window, threads, on_progress);
  check_ids(ids, backbone.spec().vocab_size);
  AdapterWeights weights(*network.adapter());
  ThreadPool pool(1);
  weights.refresh(ModelAccess::weights(model), pool);
  BackbonePass pass(backbone, threads, &weights);
  BackbonePass plain(backbone, threads);
  KeyValueCache cache = pass.make_cache();
  KeyValueCache plain_cache = plain.make_cache();
  AdaptedFeatures features(model, backbone.spec());
  const auto begin = [&] {
    cache.set_length(0);
    plain_cache.set_length(0);
    features.clear();
  };
  return score_windows(
      ids, window_of(backbone, window), begin,
      [&](std::span<const TokenId> tokens) {
        const BackboneRead next{.cache = &cache,
                                .tokens = tokens,
                                .num_wanted = tokens.size(),
                                .request = request.row,
                                .features = features.next(tokens)};
        const Matrix logits = pass.run({&next, 1});
        if (request.guidance == 1.0) return logits;
        const BackboneRead unasked{.cache = &plain_cache, .tokens = tokens, .num_wanted = tokens.size()};
        guide_rows(plain.run({&unasked, 1}), logits, request.guidance);
        return logits;
      },
      on_progress);
}

TextScore score_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window,
                    const ScoreRequest& request, const ScoreProgress& on_progress) {
  check_ids(ids, model.vocabulary().size());
  if (model.options().attention != AttentionMask::causal) {
    throw Error("score: the model reads both ways, so it knows the token that it is to predict; name a causal one");
  }
  const ReadModel read_model(model);
  const std::unique_ptr<StreamPass> pass = read_model.open_pass(0);
  const bool is_guided = !request.row.empty() && request.guidance != 1.0;
  const std::unique_ptr<StreamPass> plain = is_guided ? read_model.open_pass(0) : nullptr;
  TokenStream stream(ModelAccess::empty_cache(model));
  TokenStream unasked(ModelAccess::empty_cache(model));
  const std::size_t num_features = ModelAccess::num_features(model);
  const auto begin = [&] {
    stream.clear();
    unasked.clear();
    stream.request = request.row;
  };
  return score_windows(
      ids, window == 0 ? kOwnWindow : std::max<std::size_t>(window, 2), begin,
      [&](std::span<const TokenId> tokens) {
        const auto read = [&](TokenStream& text, StreamPass& by) {
          text.tokens.insert(text.tokens.end(), tokens.begin(), tokens.end());
          if (num_features > 0) {
            text.features = ModelAccess::features(model).prefix_rows(std::span(text.tokens).subspan(1)).values;
          }
          text.num_guesses = tokens.size() - 1;
          TokenStream* const one = &text;
          return by.run({&one, 1});
        };
        const Matrix logits = read(stream, *pass);
        if (is_guided) guide_rows(read(unasked, *plain), logits, request.guidance);
        return logits;
      },
      on_progress);
}

TextScore score_text(const Backbone& backbone, std::string_view text, std::size_t window, std::size_t threads,
                     const ScoreProgress& on_progress) {
  std::size_t num_bytes = 0;
  TextScore score = score_ids(backbone, ids_of(backbone, text, num_bytes), window, threads, on_progress);
  score.num_bytes = num_bytes;
  return score;
}

TextScore score_adapted_text(const LanguageModel& model, std::string_view text, std::size_t window, std::size_t threads,
                             const ScoreRequest& request, const ScoreProgress& on_progress) {
  std::size_t num_bytes = 0;
  const std::vector<TokenId> ids = ids_of(adapted_network(model)->backbone(), text, num_bytes);
  TextScore score = score_adapted_ids(model, ids, window, threads, request, on_progress);
  score.num_bytes = num_bytes;
  return score;
}

TextScore score_text(const LanguageModel& model, std::string_view text, std::size_t window, const ScoreRequest& request,
                     const ScoreProgress& on_progress) {
  std::vector<TokenId> ids = model.encode(text);
  ids.insert(ids.begin(), Vocabulary::kBos);
  TextScore score = score_ids(model, ids, window, request, on_progress);
  score.num_bytes = text.size();
  return score;
}

}  // namespace semfuse
