// A plain twin of the model and its losses: one function per box, loops over sentences, no packing, no vectors. Written
// over the scalar type, so that a complex step through it gives exact derivatives (gradient_check.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batching/batch.h"
#include "core/parameter_block.h"
#include "features/graded_columns.h"
#include "kernels/dropout.h"
#include "model/pass.h"
#include "semfuse/language_model.h"

namespace semfuse::reference {

inline double real_of(double x) {
  return x;
}
inline double real_of(const std::complex<double>& x) {
  return x.real();
}

// A matrix that owns its numbers; a vector is one row.
template <class T>
struct Table {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<T> numbers;

  Table() = default;
  Table(std::size_t num_rows, std::size_t num_cols) : rows(num_rows), cols(num_cols), numbers(num_rows * num_cols) {}
  T& operator()(std::size_t i, std::size_t j) { return numbers[i * cols + j]; }
  const T& operator()(std::size_t i, std::size_t j) const { return numbers[i * cols + j]; }
};

// Tables by name: parameters, inputs, gradients.
template <class T>
using Tables = std::map<std::string, Table<T>>;

inline Table<double> table_of(ConstMatrix m) {
  Table<double> table(m.rows(), m.cols());
  for (std::size_t i = 0; i < m.rows(); ++i) {
    for (std::size_t j = 0; j < m.cols(); ++j) table(i, j) = static_cast<double>(m(i, j));
  }
  return table;
}

inline Tables<double> tables_of(const ParameterLayout& layout, const ParameterBlock& block) {
  Tables<double> tables;
  for (const ParameterInfo& info : layout.entries()) {
    const std::size_t rows = info.shape.size() == 2 ? info.shape[0] : 1;
    tables[info.name] = table_of({block.vector(info), rows, info.size / rows});
  }
  return tables;
}

// y = x · Wᵀ + b
template <class T>
Table<T> linear(const Table<T>& x, const Table<T>& weight, const Table<T>& bias) {
  Table<T> y(x.rows, weight.rows);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t o = 0; o < weight.rows; ++o) {
      T sum = bias(0, o);
      for (std::size_t k = 0; k < x.cols; ++k) sum += x(i, k) * weight(o, k);
      y(i, o) = sum;
    }
  }
  return y;
}

template <class T>
Table<T> relu(Table<T> x) {
  for (T& number : x.numbers) {
    if (real_of(number) <= 0.0) number = T(0.0);
  }
  return x;
}

template <class T>
T sigmoid(const T& x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// What dropout multiplies the number at (row, column) with.
inline double kept(const DropoutMask& mask, std::size_t row, std::size_t column) {
  if (!mask.active()) return 1.0;
  return mask.keeps(row, column) ? static_cast<double>(mask.scale) : 0.0;
}

// Row t of the mask is token t of the packed batch.
template <class T>
Table<T> dropout(Table<T> x, const DropoutMask& mask) {
  for (std::size_t t = 0; t < x.rows; ++t) {
    for (std::size_t j = 0; j < x.cols; ++j) x(t, j) *= kept(mask, t, j);
  }
  return x;
}

template <class T>
Table<T> layer_norm(const Table<T>& x, const Table<T>& gamma, const Table<T>& beta) {
  Table<T> y(x.rows, x.cols);
  const auto n = static_cast<double>(x.cols);
  for (std::size_t i = 0; i < x.rows; ++i) {
    T mean = 0.0;
    for (std::size_t j = 0; j < x.cols; ++j) mean += x(i, j) / n;
    T variance = 0.0;
    for (std::size_t j = 0; j < x.cols; ++j) variance += (x(i, j) - mean) * (x(i, j) - mean) / n;
    for (std::size_t j = 0; j < x.cols; ++j) {
      y(i, j) = (x(i, j) - mean) / std::sqrt(variance + 1e-5) * gamma(0, j) + beta(0, j);
    }
  }
  return y;
}

template <class T>
Table<T> residual_norm(const Tables<T>& w, const std::string& name, const Table<T>& residual, const Table<T>& branch,
                       const DropoutMask& mask) {
  Table<T> sum = dropout(branch, mask);
  for (std::size_t n = 0; n < sum.numbers.size(); ++n) sum.numbers[n] += residual.numbers[n];
  return layer_norm(sum, w.at(name + ".weight"), w.at(name + ".bias"));
}

// By how much a head's scores fall from token to token.
inline double slope_of(const ModelOptions& options, std::size_t head) {
  return options.distance_bias
             ? std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(options.heads))
             : 0.0;
}

// The weights with which token i of a sentence that begins at `first` reads each token of it, after dropout.
template <class T>
std::vector<T> attention_row(const Table<T>& qkv, std::size_t first, std::size_t i, std::size_t readable,
                             std::size_t width, std::size_t head_width, std::size_t column, double slope = 0.0) {
  std::vector<T> row(readable);
  double largest = -INFINITY;
  for (std::size_t j = 0; j < readable; ++j) {
    T score = 0.0;
    for (std::size_t c = column; c < column + head_width; ++c) score += qkv(first + i, c) * qkv(first + j, width + c);
    row[j] = score / std::sqrt(static_cast<double>(head_width)) -
             slope * std::abs(static_cast<double>(i) - static_cast<double>(j));
    largest = std::max(largest, real_of(row[j]));
  }
  T sum = 0.0;
  for (T& weight : row) sum += weight = std::exp(weight - largest);
  for (T& weight : row) weight /= sum;
  return row;
}

template <class T>
Table<T> self_attention(const Tables<T>& w, const std::string& name, const Table<T>& x, const Batch& batch,
                        const ModelOptions& options, const DropoutMask& mask) {
  const std::size_t width = x.cols;
  const std::size_t heads = options.heads;
  const std::size_t head_width = width / heads;
  const Table<T> qkv = linear(x, w.at(name + ".in_proj_weight"), w.at(name + ".in_proj_bias"));
  Table<T> context(x.rows, width);
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    const std::size_t first = batch.first_token[s];
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t i = 0; i < batch.length(s); ++i) {
        const std::size_t readable = options.attention == AttentionMask::causal ? i + 1 : batch.length(s);
        const std::vector<T> row =
            attention_row(qkv, first, i, readable, width, head_width, head * head_width, slope_of(options, head));
        for (std::size_t j = 0; j < readable; ++j) {
          // A mask row for each token and head, a column for each token of the sentence.
          const T weight = row[j] * kept(mask, (first + i) * heads + head, j);
          for (std::size_t c = head * head_width; c < (head + 1) * head_width; ++c) {
            context(first + i, c) += weight * qkv(first + j, 2 * width + c);
          }
        }
      }
    }
  }
  return linear(context, w.at(name + ".out_proj.weight"), w.at(name + ".out_proj.bias"));
}

template <class T>
Table<T> feed_forward(const Tables<T>& w, const std::string& name, const Table<T>& x, const DropoutMask& mask) {
  const Table<T> inner = dropout(relu(linear(x, w.at(name + ".linear1.weight"), w.at(name + ".linear1.bias"))), mask);
  return linear(inner, w.at(name + ".linear2.weight"), w.at(name + ".linear2.bias"));
}

template <class T>
Table<T> encoder_layer(const Tables<T>& w, std::size_t layer, const Table<T>& x, const Batch& batch,
                       const ModelOptions& options, const DropoutPlan& plan) {
  using Site = DropoutPlan::Site;
  const std::string name = "enc.layers." + std::to_string(layer);
  const Table<T> attended =
      self_attention(w, name + ".self_attn", x, batch, options, plan.mask(layer, Site::attention_weights));
  const Table<T> middle = residual_norm(w, name + ".norm1", x, attended, plan.mask(layer, Site::attention_output));
  const Table<T> fed = feed_forward(w, name, middle, plan.mask(layer, Site::feed_forward_inner));
  return residual_norm(w, name + ".norm2", middle, fed, plan.mask(layer, Site::feed_forward_output));
}

template <class T>
Table<T> pre_norm_layer(const Tables<T>& w, std::size_t layer, const Table<T>& x, const Batch& batch,
                        const ModelOptions& options, const DropoutPlan& plan) {
  using Site = DropoutPlan::Site;
  const std::string name = "enc.layers." + std::to_string(layer);
  const auto plus = [](Table<T> sum, const Table<T>& branch) {
    for (std::size_t n = 0; n < sum.numbers.size(); ++n) sum.numbers[n] += branch.numbers[n];
    return sum;
  };
  const auto norm = [&](const char* which, const Table<T>& of) {
    return layer_norm(of, w.at(name + which + ".weight"), w.at(name + which + ".bias"));
  };
  const Table<T> attended = self_attention(w, name + ".self_attn", norm(".norm1", x), batch, options,
                                           plan.mask(layer, Site::attention_weights));
  const Table<T> middle = plus(x, dropout(attended, plan.mask(layer, Site::attention_output)));
  const Table<T> fed = feed_forward(w, name, norm(".norm2", middle), plan.mask(layer, Site::feed_forward_inner));
  return plus(middle, dropout(fed, plan.mask(layer, Site::feed_forward_output)));
}

template <class T>
Table<T> encoder(const Tables<T>& w, Table<T> x, const Batch& batch, const ModelOptions& options,
                 const DropoutPlan& plan) {
  for (std::size_t layer = 0; layer < options.layers; ++layer) {
    x = options.norm == NormPlace::post ? encoder_layer(w, layer, x, batch, options, plan)
                                        : pre_norm_layer(w, layer, x, batch, options, plan);
  }
  return options.norm == NormPlace::post ? x : layer_norm(x, w.at("enc.norm.weight"), w.at("enc.norm.bias"));
}

inline double position(std::size_t p, std::size_t j, std::size_t width) {
  const double angle =
      static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(j - j % 2) / static_cast<double>(width));
  return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

// Whether a word has its own row of the table in this step; an empty list means that all have.
using Identity = std::vector<std::uint8_t>;
inline double identity_of(const Identity& identity, std::size_t token) {
  return identity.empty() || identity[token] != 0 ? 1.0 : 0.0;
}

// Attributes of ungraded rows turned to degrees by the memberships that the parameters hold.
template <class T>
Table<T> graded(const Tables<T>& w, const Table<double>& ungraded, const FeatureOptions& options) {
  const auto factor = [](const T& parameter) { return std::pow(8.0, std::tanh(parameter)); };
  Table<T> rows(ungraded.rows, ungraded.cols);
  std::copy(ungraded.numbers.begin(), ungraded.numbers.end(), rows.numbers.begin());
  for (const auto& [column, attribute, level] : graded_columns()) {
    T below = 0.0;
    T whole = 0.0;
    for (std::size_t j = 0; j < 4; ++j) {
      const double gap = (j < 3 ? options.centers[j] : 1.5) - (j > 0 ? options.centers[j - 1] : -0.5);
      const T scaled = gap * factor(w.at("memberships.gaps")(attribute, j));
      if (j <= level) below += scaled;
      whole += scaled;
    }
    const T center = -0.5 + 2.0 * below / whole;
    const T width = options.bandwidth * factor(w.at("memberships.widths")(attribute, level));
    for (std::size_t i = 0; i < rows.rows; ++i) {
      const double x = ungraded(i, column);
      const T distance = (x > real_of(center) ? x - center : center - x) / width;
      T degree = std::pow(options.kernel_base, distance);
      if (options.kernel == MembershipKernel::triangular) degree = real_of(distance) < 1.0 ? 1.0 - distance : T(0.0);
      if (options.kernel == MembershipKernel::gaussian) degree = std::exp(-0.5 * distance * distance);
      rows(i, column) = x < 0.0 ? T(0.0) : degree;
    }
  }
  return rows;
}

// Numbers that no parameter changes.
template <class T>
Table<T> constants(const Table<double>& table) {
  Table<T> result(table.rows, table.cols);
  std::copy(table.numbers.begin(), table.numbers.end(), result.numbers.begin());
  return result;
}

// h = e + (1 + σ(W_g [e; s])) ∘ (W_s s) + position, or e + position without features; without a gate its σ is 0, and
// the e of a word without identity is 0. The request of a token's sentence belongs to s. All but the position is
// scaled.
template <class T>
Table<T> fused_embedding(const Tables<T>& w, const Batch& batch, const Identity& identity, const Table<T>& features,
                         double scale = 1.0) {
  const Table<T>& table = w.at("tok.weight");
  const std::size_t width = table.cols;
  const std::size_t num_fused = batch.num_features + batch.num_request_columns;
  Table<T> fused(batch.num_tokens(), num_fused);
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    for (std::size_t t = batch.first_token[s]; t < batch.first_token[s + 1]; ++t) {
      for (std::size_t f = 0; f < num_fused; ++f) {
        fused(t, f) = f < batch.num_features
                          ? features(t, f)
                          : T(batch.requests[s * batch.num_request_columns + f - batch.num_features]);
      }
    }
  }
  Table<T> joined(batch.num_tokens(), width + num_fused);
  Table<T> h(batch.num_tokens(), width);
  for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
    for (std::size_t f = 0; f < num_fused; ++f) joined(t, width + f) = fused(t, f);
    for (std::size_t j = 0; j < width; ++j) {
      const auto token = static_cast<std::size_t>(batch.inputs[t]);
      joined(t, j) = table(token, j) * identity_of(identity, token);
      h(t, j) = scale * joined(t, j) + position(batch.positions[t], j, width);
    }
  }
  if (batch.num_features == 0) return h;
  const Table<T> u = linear(fused, w.at("sem_proj.weight"), w.at("sem_proj.bias"));
  if (!w.contains("gate.weight")) {
    for (std::size_t n = 0; n < h.numbers.size(); ++n) h.numbers[n] += scale * u.numbers[n];
    return h;
  }
  const Table<T> gate = linear(joined, w.at("gate.weight"), w.at("gate.bias"));
  for (std::size_t n = 0; n < h.numbers.size(); ++n) {
    h.numbers[n] += scale * (1.0 + sigmoid(gate.numbers[n])) * u.numbers[n];
  }
  return h;
}

template <class T>
Table<T> fused_embedding(const Tables<T>& w, const Batch& batch, const Identity& identity = {}) {
  return fused_embedding(w, batch, identity, constants<T>(table_of(batch.feature_rows())));
}

template <class T>
Table<T> feature_head(const Tables<T>& w, const Table<T>& hidden) {
  return linear(relu(linear(hidden, w.at("aux_head.0.weight"), w.at("aux_head.0.bias"))), w.at("aux_head.2.weight"),
                w.at("aux_head.2.bias"));
}

template <class T>
Table<T> token_head(const Tables<T>& w, const Table<T>& hidden) {
  const Table<T>& table = w.at("tok.weight");
  return linear(hidden, table, Table<T>(1, table.rows));
}

// Logits of rows W_s · (feature row of each), plus E of its word if it has an identity.
template <class T>
Table<T> row_head(const Tables<T>& w, const Table<T>& hidden, const std::vector<TokenId>& words,
                  const Table<T>& features, const Identity& identity) {
  const std::size_t num_rows = std::max(words.size(), features.rows);
  Table<T> rows(num_rows, hidden.cols);
  for (std::size_t i = 0; i < num_rows; ++i) {
    for (std::size_t j = 0; j < hidden.cols; ++j) {
      if (!words.empty()) {
        const auto word = static_cast<std::size_t>(words[i]);
        rows(i, j) += identity_of(identity, word) * w.at("tok.weight")(word, j);
      }
      for (std::size_t f = 0; f < features.cols; ++f) rows(i, j) += w.at("sem_proj.weight")(j, f) * features(i, f);
    }
  }
  return linear(hidden, rows, Table<T>(1, num_rows));
}

template <class T>
Table<T> encode(const Tables<T>& w, const Batch& batch, const ModelOptions& options, const DropoutPlan& plan,
                const Identity& identity, const Table<T>& features) {
  const double scale = options.scaled_embedding ? std::sqrt(static_cast<double>(options.width)) : 1.0;
  return encoder(w, fused_embedding(w, batch, identity, features, scale), batch, options, plan);
}

template <class T>
Table<T> encode(const Tables<T>& w, const Batch& batch, const ModelOptions& options, const DropoutPlan& plan,
                const Identity& identity = {}) {
  return encode(w, batch, options, plan, identity, constants<T>(table_of(batch.feature_rows())));
}

}  // namespace semfuse::reference
