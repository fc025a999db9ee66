#include "kernels/reductions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reductions.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

// Row i is added to sum i % 4, and the four sums to each other at the end.
void ColumnSums(ConstMatrix x, float* sums, bool accumulate) {
  constexpr std::size_t kChains = 4;
  constexpr std::size_t kBlock = 256;  // Columns whose sums stay in the first-level cache while rows stream past.
  const Tag d;
  HWY_ALIGN float chains[kChains][kBlock];
  for (std::size_t first = 0; first < x.cols(); first += kBlock) {
    const std::size_t cols = x.cols() - first < kBlock ? x.cols() - first : kBlock;
    for (auto& chain : chains) {
      for (std::size_t j = 0; j < kBlock; j += hn::Lanes(d)) hn::Store(hn::Zero(d), d, chain + j);
    }
    std::size_t i = 0;
    const auto add_rows = [&](std::size_t chain, std::size_t stop) SEMFUSE_LAMBDA {
      for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
        Vector sum = hn::Load(d, chains[chain] + j);
        for (std::size_t row = i + chain; row < stop; row += kChains) {
          sum = hn::Add(sum, load(x.row(row) + first + j, count));
        }
        hn::Store(sum, d, chains[chain] + j);
      });
    };
    constexpr std::size_t kRowsAtOnce = 4 * kChains;
    for (; i < x.rows(); i += kRowsAtOnce) {
      const std::size_t stop = x.rows() - i < kRowsAtOnce ? x.rows() : i + kRowsAtOnce;
      for (std::size_t chain = 0; chain < kChains; ++chain) add_rows(chain, stop);
    }
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const auto sum = [&](std::size_t chain) SEMFUSE_LAMBDA { return hn::Load(d, chains[chain] + j); };
      const Vector total = hn::Add(hn::Add(sum(0), sum(1)), hn::Add(sum(2), sum(3)));
      float* out = sums + first + j;
      store(accumulate ? hn::Add(load(out, count), total) : total, out, count);
    });
  }
}

double SumOfSquares(const float* x, std::size_t size) {
  const Tag d;
  double total = 0.0;
  constexpr std::size_t kBlock = 4096;  // Short enough that the float sums of a lane stay exact to a few ulp.
  for (std::size_t first = 0; first < size; first += kBlock) {
    const std::size_t count = size - first < kBlock ? size - first : kBlock;
    Vector sum = hn::Zero(d);
    for_vectors(count, [&](std::size_t j, std::size_t n) SEMFUSE_LAMBDA {
      const Vector v = load(x + first + j, n);
      sum = hn::MulAdd(v, v, sum);
    });
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(sum, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) total += static_cast<double>(lanes[i]);
  }
  return total;
}

float LargestWhere(const float* x, float sign, const float* gate, float least, std::size_t size) {
  const Tag d;
  const Vector factor = hn::Set(d, sign);
  const Vector threshold = hn::Set(d, least);
  const Vector lowest = hn::Neg(hn::Inf(d));
  Vector largest = lowest;
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const auto counts = hn::And(hn::FirstN(d, count), hn::Ge(load(gate + j, count), threshold));
    largest = hn::Max(largest, hn::IfThenElse(counts, hn::Mul(factor, load(x + j, count)), lowest));
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

std::size_t PlacesFrom(const float* x, float least, std::size_t size, std::int32_t* places) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const Vector threshold = hn::Set(d, least);
  std::size_t found = 0;
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const auto counts = hn::And(hn::FirstN(d, count), hn::Ge(load(x + j, count), threshold));
    if (hn::AllFalse(d, counts)) return;
    const auto indices = hn::Iota(di, static_cast<std::int32_t>(j));
    found += hn::CompressStore(indices, hn::RebindMask(di, counts), di, places + found);
  });
  return found;
}

void AddBelow(float* x, float least, float shift, std::size_t size) {
  const Tag d;
  const Vector threshold = hn::Set(d, least);
  const Vector summand = hn::Set(d, shift);
  for_vectors(size, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector v = load(x + j, count);
    store(hn::IfThenElse(hn::Lt(v, threshold), hn::Add(v, summand), v), x + j, count);
  });
}

bool AllFinite(const float* x, std::size_t size) {
  const Tag d;
  // 0 · x is 0 for every number but those.
  Vector sum = hn::Zero(d);
  for_vectors(size, [&](std::size_t j, std::size_t count)
                        SEMFUSE_LAMBDA { sum = hn::MulAdd(hn::Zero(d), load(x + j, count), sum); });
  return hn::AllTrue(d, hn::Eq(sum, hn::Zero(d)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(ColumnSums);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(LargestWhere);
HWY_EXPORT(PlacesFrom);
HWY_EXPORT(AddBelow);
HWY_EXPORT(AllFinite);

void column_sums(ConstMatrix x, float* sums, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(ColumnSums)(x, sums, accumulate);
}
double sum_of_squares(const float* x, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, size);
}
float largest_where(const float* x, float sign, const float* gate, float least, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(LargestWhere)(x, sign, gate, least, size);
}
std::size_t places_from(const float* x, float least, std::size_t size, std::int32_t* places) {
  return HWY_DYNAMIC_DISPATCH(PlacesFrom)(x, least, size, places);
}
void add_below(float* x, float least, float shift, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(AddBelow)(x, least, shift, size);
}
bool all_finite(const float* x, std::size_t size) {
  return HWY_DYNAMIC_DISPATCH(AllFinite)(x, size);
}

}  // namespace semfuse
#endif
