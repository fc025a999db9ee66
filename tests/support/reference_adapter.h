// A backbone with an adapter written plainly, in any number type, and small ones to compare with it.
#pragma once

#include <complex>
#include <map>
#include <string>
#include <vector>

#include "backbone/adapter.h"
#include "support/reference_backbone.h"

namespace semfuse {

// What a text reads, and what follows each token, by the backbone's ids.
struct AdaptedText {
  std::vector<TokenId> tokens;
  std::vector<TokenId> targets;
  std::vector<double> request;
  std::vector<std::vector<double>> features;  // Of each token; empty: none.
};

// `numbers` are the adapter's, by the names of its layout.
template <class T>
struct ReferenceAdapter {
  ReferenceBackbone<T> backbone;
  std::map<std::string, std::vector<T>> numbers;
  using Row = std::vector<T>;

  Row linear(const std::string& name, const Row& x) const {
    const std::vector<T>& weight = numbers.at(name + ".weight");
    Row y(weight.size() / x.size(), T(0));
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
      if (const auto bias = numbers.find(name + ".bias"); bias != numbers.end()) y[o] += bias->second[o];
    }
    return y;
  }

  // The states after the final norm.
  std::vector<Row> states(const AdaptedText& text) {
    const Row request(text.request.begin(), text.request.end());
    std::vector<Row> x = backbone.embedded(text.tokens);
    for (std::size_t t = 0; t < x.size(); ++t) {
      Row fused;
      if (!text.features.empty()) fused.assign(text.features[t].begin(), text.features[t].end());
      fused.insert(fused.end(), request.begin(), request.end());
      Row joined = x[t];
      joined.insert(joined.end(), fused.begin(), fused.end());
      const Row u = linear("sem_proj", fused);
      Row gate(u.size(), T(0));
      if (numbers.contains("gate.weight")) {
        gate = linear("gate", joined);
        for (T& g : gate) g = T(1) / (T(1) + std::exp(-g));
      }
      for (std::size_t i = 0; i < u.size(); ++i) x[t][i] += u[i] + gate[i] * u[i];
    }
    backbone.update = [&](const std::string& name, const Row& from, Row& y) {
      if (!numbers.contains(name + ".narrow.weight")) return;
      Row mixed = linear(name + ".narrow", from);
      const Row factor = linear(name + ".request", request);
      for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] *= factor[i];
      const Row added = linear(name + ".widen", mixed);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += added[i];
    };
    return backbone.states(std::move(x));
  }

  // The sum over the tokens of the cross-entropy of what follows, and feature_loss times that of the features.
  T loss(const AdaptedText& text, double feature_loss) {
    T sum(0);
    const std::vector<Row> hidden = states(text);
    for (std::size_t t = 0; t < hidden.size(); ++t) {
      const Row logits = backbone.linear(backbone.spec.tied ? "embedding" : "head", hidden[t]);
      T all(0);
      T wanted(0);
      for (std::size_t v = 0; v < logits.size(); ++v) {
        const T share = std::exp(logits[v]);
        all += share;
        const auto id = static_cast<TokenId>(v);
        const std::vector<TokenId>& ends = backbone.spec.eos;
        const bool is_end = std::find(ends.begin(), ends.end(), id) != ends.end();
        const bool wants_end = !ends.empty() && text.targets[t] == ends.front();
        if (wants_end ? is_end : id == text.targets[t]) wanted += share;
      }
      sum += std::log(all) - std::log(wanted);
      if (text.features.empty()) continue;
      Row inner = linear("aux_head.0", hidden[t]);
      for (T& v : inner) v = std::real(v) > 0 ? v : T(0);
      const Row read = linear("aux_head.2", inner);
      for (std::size_t f = 0; f < read.size(); ++f) {
        const T error = std::log(T(1) + std::exp(read[f])) - T(text.features[t][f]) * read[f];
        sum += T(feature_loss / static_cast<double>(read.size())) * error;
      }
    }
    return sum;
  }
};

}  // namespace semfuse
