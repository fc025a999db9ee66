#include "evaluation/text_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "backbone/backbone_pass.h"
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
                        const std::function<Matrix(std::span<const TokenId>)>& read) {
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
    }
    if (window == 1) break;
  }
  return score;
}

}  // namespace

double TextScore::bits_per_byte() const {
  if (num_bytes == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (const double bits : nll) sum += bits;
  return sum / std::numbers::ln2 / static_cast<double>(num_bytes);
}

TextScore score_ids(const Backbone& backbone, std::span<const TokenId> ids, std::size_t window, std::size_t threads) {
  check_ids(ids, backbone.spec().vocab_size);
  const std::size_t longest = std::max<std::size_t>(2, backbone.spec().context);
  BackbonePass pass(backbone, threads);
  KeyValueCache cache = pass.make_cache();
  return score_windows(
      ids, window == 0 ? longest : std::clamp<std::size_t>(window, 2, longest), [&] { cache.set_length(0); },
      [&](std::span<const TokenId> tokens) {
        const BackboneRead next{.cache = &cache, .tokens = tokens, .num_wanted = tokens.size()};
        return pass.run({&next, 1});
      });
}

TextScore score_ids(const LanguageModel& model, std::span<const TokenId> ids, std::size_t window) {
  check_ids(ids, model.vocabulary().size());
  if (model.options().attention != AttentionMask::causal) {
    throw Error("score: the model reads both ways, so it knows the token that it is to predict; name a causal one");
  }
  const ReadModel read_model(model);
  const std::unique_ptr<StreamPass> pass = read_model.open_pass(0);
  TokenStream stream(ModelAccess::empty_cache(model));
  const std::size_t num_features = ModelAccess::num_features(model);
  return score_windows(
      ids, window == 0 ? kOwnWindow : std::max<std::size_t>(window, 2), [&] { stream.clear(); },
      [&](std::span<const TokenId> tokens) {
        stream.tokens.insert(stream.tokens.end(), tokens.begin(), tokens.end());
        if (num_features > 0) {
          stream.features = ModelAccess::features(model).prefix_rows(std::span(stream.tokens).subspan(1)).values;
        }
        stream.num_guesses = tokens.size() - 1;
        TokenStream* const one = &stream;
        return pass->run({&one, 1});
      });
}

TextScore score_text(const Backbone& backbone, std::string_view text, std::size_t window, std::size_t threads) {
  if (backbone.tokenizer() == nullptr) {
    throw Error(fmt::format("{}: the model came without a tokenizer; give --ids instead of text", backbone.origin()));
  }
  const BackboneSpec& spec = backbone.spec();
  std::vector<TokenId> ids;
  if (spec.adds_bos && spec.bos) ids.push_back(*spec.bos);
  const bool begins = !ids.empty();
  const std::vector<Token> tokens = backbone.tokenizer()->encode(text);
  for (const Token& token : tokens) ids.push_back(token.id);
  TextScore score = score_ids(backbone, ids, window, threads);
  score.num_bytes = text.size() - (begins || tokens.empty() ? 0 : tokens.front().end);
  return score;
}

TextScore score_text(const LanguageModel& model, std::string_view text, std::size_t window) {
  std::vector<TokenId> ids = model.encode(text);
  ids.insert(ids.begin(), Vocabulary::kBos);
  TextScore score = score_ids(model, ids, window);
  score.num_bytes = text.size();
  return score;
}

}  // namespace semfuse
