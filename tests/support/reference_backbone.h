// A pretrained model's arithmetic written plainly, in any number type: what the fast passes are compared with.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backbone/backbone_spec.h"

namespace semfuse {

// Tensors by the names of a model file; matrices [outputs, inputs], row-major.
template <class T>
struct ReferenceBackbone {
  BackboneSpec spec;
  std::map<std::string, std::vector<T>> tensors;

  using Row = std::vector<T>;
  // Adds to y what an adapter adds to the map of that name, of x; empty: nothing.
  std::function<void(const std::string& name, const Row& x, Row& y)> update = {};

  Row linear(const std::string& name, const Row& x) const {
    const std::vector<T>& weight = tensors.at(name);
    Row y(weight.size() / x.size(), T(0));
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
      if (const auto bias = tensors.find(name + ".bias"); bias != tensors.end()) y[o] += bias->second[o];
    }
    if (update) update(name, x, y);
    return y;
  }

  Row norm(const std::string& name, const Row& x) const {
    const auto width = static_cast<double>(x.size());
    T mean(0);
    if (spec.norm == BackboneNorm::layer) {
      for (const T& v : x) mean += v / T(width);
    }
    T squares(0);
    for (const T& v : x) squares += (v - mean) * (v - mean) / T(width);
    Row y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(tensors.at(name + ".weight")[i] * (x[i] - mean) / std::sqrt(squares + T(spec.norm_epsilon)));
      if (const auto bias = tensors.find(name + ".bias"); bias != tensors.end()) y[i] += bias->second[i];
    }
    return y;
  }

  void turn(Row& x, std::size_t place) const {
    const std::size_t pairs = spec.head_width / 2;
    for (std::size_t head = 0; head < x.size(); head += spec.head_width) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const bool halves = spec.rotary_pairs == RotaryPairs::halves;
        T& a = x[head + (halves ? i : 2 * i)];
        T& b = x[head + (halves ? i + pairs : 2 * i + 1)];
        const double angle = static_cast<double>(place) *
                             std::pow(spec.rotary_base, -2.0 * static_cast<double>(i) / double(spec.head_width));
        const T first = a * T(std::cos(angle)) - b * T(std::sin(angle));
        b = a * T(std::sin(angle)) + b * T(std::cos(angle));
        a = first;
      }
    }
  }

  T activate(T x) const {
    switch (spec.activation) {
      case BackboneActivation::swiglu:
        return x / (T(1) + std::exp(-x));
      case BackboneActivation::gelu_tanh:
        return T(0.5) * x * (T(1) + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
      case BackboneActivation::gelu_erf:
        return T(0.5) * x * (T(1) + T(std::erf(std::real(x) / std::sqrt(2.0))));
      case BackboneActivation::relu:
        return std::real(x) > 0 ? x : T(0);
    }
    return x;
  }

  // The states [tokens, width] after the final norm, from the embedded tokens (positions included).
  std::vector<Row> states(std::vector<Row> x) const {
    for (std::size_t n = 0; n < spec.num_layers; ++n) {
      const std::string name = "layers." + std::to_string(n) + ".";
      std::vector<Row> keys, values;
      for (std::size_t t = 0; t < x.size(); ++t) {
        const Row h = norm(name + "attention_norm", x[t]);
        Row q = linear(name + "query", h);
        keys.push_back(linear(name + "key", h));
        values.push_back(linear(name + "value", h));
        if (spec.positions == BackbonePositions::rotary) {
          turn(q, t);
          turn(keys[t], t);
        }
        Row context(q.size(), T(0));
        for (std::size_t head = 0; head < spec.num_heads; ++head) {
          const std::size_t from = head * spec.head_width;
          const std::size_t shared = head / (spec.num_heads / spec.num_key_heads) * spec.head_width;
          std::vector<T> weights;
          T sum(0);
          for (std::size_t s = 0; s <= t; ++s) {
            T score(0);
            for (std::size_t i = 0; i < spec.head_width; ++i) score += q[from + i] * keys[s][shared + i];
            weights.push_back(std::exp(score / T(std::sqrt(static_cast<double>(spec.head_width)))));
            sum += weights.back();
          }
          for (std::size_t s = 0; s <= t; ++s) {
            for (std::size_t i = 0; i < spec.head_width; ++i) {
              context[from + i] += weights[s] / sum * values[s][shared + i];
            }
          }
        }
        const Row attended = linear(name + "output", context);
        for (std::size_t i = 0; i < attended.size(); ++i) x[t][i] += attended[i];
        const Row h2 = norm(name + "hidden_norm", x[t]);
        Row inner = linear(name + "up", h2);
        if (spec.activation == BackboneActivation::swiglu) {
          const Row gate = linear(name + "gate", h2);
          for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= activate(gate[i]);
        } else {
          for (T& v : inner) v = activate(v);
        }
        const Row fed = linear(name + "down", inner);
        for (std::size_t i = 0; i < fed.size(); ++i) x[t][i] += fed[i];
      }
    }
    for (Row& row : x) row = norm("final_norm", row);
    return x;
  }

  std::vector<Row> embedded(const std::vector<TokenId>& tokens) const {
    std::vector<Row> x;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const auto first = tensors.at("embedding").begin() +
                         static_cast<std::ptrdiff_t>(static_cast<std::size_t>(tokens[t]) * spec.model_width);
      x.emplace_back(first, first + static_cast<std::ptrdiff_t>(spec.model_width));
      if (spec.positions != BackbonePositions::learned) continue;
      for (std::size_t i = 0; i < spec.model_width; ++i) x[t][i] += tensors.at("positions")[t * spec.model_width + i];
    }
    return x;
  }

  // [tokens, vocab_size]
  std::vector<Row> logits(const std::vector<TokenId>& tokens) const {
    std::vector<Row> rows = states(embedded(tokens));
    for (Row& row : rows) row = linear(spec.tied ? "embedding" : "head", row);
    return rows;
  }
};

}  // namespace semfuse
