// One step after a moved past against a plain twin: its state, and the gradient of all keys and values of the past.
#include "model/past_step.h"

#include <gtest/gtest.h>

#include "support/gradient_check.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using reference::Table;
using reference::Tables;

// What the last of some tokens reads in a layer, whose past are the tables "keys.<layer>" and "values.<layer>".
template <class T>
Table<T> attended(const Tables<T>& w, std::size_t layer, const Table<T>& x, const ModelOptions& options) {
  const std::string name = "enc.layers." + std::to_string(layer) + ".self_attn";
  const Table<T>& keys = w.at("keys." + std::to_string(layer));
  const Table<T>& values = w.at("values." + std::to_string(layer));
  const Table<T> own = reference::linear(x, w.at(name + ".in_proj_weight"), w.at(name + ".in_proj_bias"));
  const std::size_t width = x.cols;
  Table<T> qkv(keys.rows + 1, 3 * width);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t t = 0; t < keys.rows; ++t) qkv(t, width + j) = keys(t, j);
    for (std::size_t t = 0; t < keys.rows; ++t) qkv(t, 2 * width + j) = values(t, j);
  }
  std::copy(own.numbers.begin(), own.numbers.end(), qkv.numbers.end() - static_cast<std::ptrdiff_t>(3 * width));
  Table<T> context(1, width);
  for (std::size_t c = 0; c < width; ++c) {
    const std::size_t head_width = width / options.heads;
    const std::size_t head = c / head_width;
    const std::vector<T> row = reference::attention_row(qkv, 0, keys.rows, qkv.rows, width, head_width,
                                                        head * head_width, reference::slope_of(options, head));
    for (std::size_t t = 0; t < qkv.rows; ++t) context(0, c) += row[t] * qkv(t, 2 * width + c);
  }
  return reference::linear(context, w.at(name + ".out_proj.weight"), w.at(name + ".out_proj.bias"));
}

template <class T>
Table<T> hidden_state(const Tables<T>& w, Table<T> x, const ModelOptions& options) {
  const auto plus = [](Table<T> sum, const Table<T>& branch) {
    for (std::size_t n = 0; n < sum.numbers.size(); ++n) sum.numbers[n] += branch.numbers[n];
    return sum;
  };
  const auto norm = [&](const std::string& name, const Table<T>& of) {
    return reference::layer_norm(of, w.at(name + ".weight"), w.at(name + ".bias"));
  };
  for (std::size_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = "enc.layers." + std::to_string(layer);
    if (options.norm == NormPlace::post) {
      const Table<T> middle = norm(name + ".norm1", plus(x, attended(w, layer, x, options)));
      x = norm(name + ".norm2", plus(middle, reference::feed_forward(w, name, middle, DropoutMask())));
    } else {
      const Table<T> middle = plus(x, attended(w, layer, norm(name + ".norm1", x), options));
      x = plus(middle, reference::feed_forward(w, name, norm(name + ".norm2", middle), DropoutMask()));
    }
  }
  return options.norm == NormPlace::post ? x : norm("enc.norm", x);
}

// Keys and values of the first tokens of a cache, by layer.
Tables<double> tables_of_past(const KeyValueCache& cache, const ModelOptions& options, std::size_t num_tokens) {
  Tables<double> tables;
  std::vector<float> key(options.width);
  std::vector<float> value(options.width);
  for (std::size_t layer = 0; layer < options.layers; ++layer) {
    Table<double> keys(num_tokens, options.width);
    Table<double> values(num_tokens, options.width);
    for (std::size_t t = 0; t < num_tokens; ++t) {
      cache.load(layer, t, key.data(), value.data());
      for (std::size_t j = 0; j < options.width; ++j) keys(t, j) = key[j];
      for (std::size_t j = 0; j < options.width; ++j) values(t, j) = value[j];
    }
    tables["keys." + std::to_string(layer)] = std::move(keys);
    tables["values." + std::to_string(layer)] = std::move(values);
  }
  return tables;
}

TEST(PastStep, StateAndGradientEqualTheTwin) {
  for (const NormPlace place : {NormPlace::post, NormPlace::pre}) {
    ModelOptions options = small_options(AttentionMask::causal, false);
    options.norm = place;
    options.distance_bias = place == NormPlace::pre;
    const LanguageModel model = random_model(options);
    ThreadPool pool(1);
    const InferenceWeights weights(ModelAccess::network(model), ModelAccess::weights(model), pool);
    for (const std::size_t length : {2, 8, 9, 12}) {
      TokenStream stream(KeyValueCache(weights.network.options().layers, weights.network.options().width));
      for (std::size_t t = 0; t < length; ++t) stream.tokens.push_back(static_cast<TokenId>(1 + 3 * t));
      IncrementalPass all(weights);
      TokenStream* const streams[] = {&stream};
      all.run(streams);

      PastStep step(weights);
      step.begin(stream);
      KeyValueCache past = stream.cache;
      const std::span<const float> unmoved = step.forward(past);
      for (std::size_t j = 0; j < options.width; ++j) EXPECT_EQ(unmoved[j], all.hidden()(0, j));

      RandomStream random(7, RandomPurpose::shuffle);
      std::vector<float> numbers(past.token_size());
      for (std::size_t t = 0; t + 1 < length; ++t) {
        past.read_token(t, numbers);
        for (float& number : numbers) number += static_cast<float>(random.next_uniform() - 0.5);
        past.write_token(t, numbers);
      }
      Tables<double> at = tables_of_past(past, options, length - 1);
      at.merge(reference::tables_of(weights.network.layout(), weights.weights));
      Table<double> x(1, options.width);
      for (std::size_t j = 0; j < options.width; ++j) {
        x(0, j) = at["tok.weight"](static_cast<std::size_t>(stream.tokens.back()), j) +
                  reference::position(length - 1, j, options.width);
      }
      const std::span<const float> hidden = step.forward(past);
      expect_close({{"hidden", reference::table_of({hidden.data(), 1, hidden.size()})}},
                   {{"hidden", hidden_state(at, x, options)}}, 1e-5);

      std::vector<float> d_hidden(options.width);
      for (float& number : d_hidden) number = static_cast<float>(random.next_uniform() - 0.5);
      KeyValueCache d_past(options.layers, options.width);
      d_past.reserve(length);
      step.backward(d_hidden, d_past);
      const auto objective = [&](const Tables<std::complex<double>>& w) {
        const auto state = hidden_state(w, reference::constants<std::complex<double>>(x), options);
        std::complex<double> sum = 0.0;
        for (std::size_t j = 0; j < d_hidden.size(); ++j) sum += state(0, j) * static_cast<double>(d_hidden[j]);
        return sum;
      };
      const auto is_past = [](const std::string& name) { return name.starts_with("keys") || name.starts_with("val"); };
      expect_close(tables_of_past(d_past, options, length - 1), complex_step(at, objective, is_past));
      // The token's own keys and values are no past.
      d_past.read_token(length - 1, numbers);
      for (const float number : numbers) EXPECT_EQ(number, 0.0f);
    }
  }
}

}  // namespace
}  // namespace semfuse
