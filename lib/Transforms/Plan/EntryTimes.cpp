//===- EntryTimes.cpp - how long an entry of the step takes --------------===//

#include "tts/Transforms/Plan/EntryTimes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace tts::plan;

double ProductShape::flops() const {
  return 2.0 * m * n * k * std::max<int64_t>(taps, 1);
}

/// How much of a rate is lost at a short extent: a product 8 wide reaches about
/// half of what one 16 wide does, 800 rows as much as 1,600.
static double saturation(double extent) {
  constexpr double kHalf = 64;
  return std::log2(extent / (extent + kHalf));
}

double ProductShape::distance(const ProductShape &other) const {
  // Beyond that a doubling changes little; how the factors lie as much as a
  // short extent, a sum into the result less: on the host that is about so.
  constexpr double kDoubling = 0.1, kTransposed = 1, kAccumulates = 0.25;
  double sum = kTransposed * (transposeA != other.transposeA) +
               kTransposed * (transposeB != other.transposeB) +
               kAccumulates * (accumulates != other.accumulates);
  auto add = [&](double mine, double others) {
    double doublings = std::log2(mine / others);
    double lost = saturation(mine) - saturation(others);
    sum += lost * lost + kDoubling * doublings * doublings;
  };
  add(m, other.m);
  add(n, other.n);
  add(k, other.k);
  add(taps + 1, other.taps + 1);
  return sum;
}

bool ProductShape::operator<(const ProductShape &other) const {
  auto key = [](const ProductShape &s) {
    return std::tie(s.precision, s.transposeA, s.transposeB, s.accumulates, s.m,
                    s.n, s.k, s.taps);
  };
  return key(*this) < key(other);
}

std::optional<double> EntryTimes::rateNear(const ProductShape &shape) const {
  auto [it, isNew] = known.try_emplace(shape);
  if (isNew)
    it->second = searchRate(shape);
  return it->second;
}

std::optional<double> EntryTimes::searchRate(const ProductShape &shape) const {
  // The logarithms of the nearest rates, weighted by their inverse distances
  // squared: at a shape that was measured as measured, between two in between.
  constexpr unsigned kNearest = 4;
  constexpr double kSame = 1e-3;
  std::vector<std::pair<double, double>> rates;
  for (const ProductRate &rate : hardware.products)
    if (rate.shape.precision == shape.precision &&
        (rate.shape.taps > 0) == (shape.taps > 0))
      rates.emplace_back(shape.distance(rate.shape), rate.flopsPerSecond);
  if (rates.empty())
    return std::nullopt;
  size_t count = std::min<size_t>(kNearest, rates.size());
  std::partial_sort(rates.begin(), rates.begin() + count, rates.end());
  double sum = 0, weights = 0;
  for (size_t i = 0; i < count; ++i) {
    double weight = 1 / std::pow(rates[i].first + kSame, 2);
    sum += weight * std::log(rates[i].second);
    weights += weight;
  }
  return std::exp(sum / weights);
}

double EntryTimes::trafficSeconds(const Work &work) const {
  double seconds = 0;
  for (const Touch &touch : work.touches) {
    double bandwidth = hardware.bandwidth.reached();
    for (const Cache &cache : llvm::reverse(hardware.caches))
      if (touch.distance < cache.bytes)
        bandwidth = cache.bandwidth;
    seconds += touch.bytes / bandwidth;
  }
  return seconds / threads;
}

double EntryTimes::productSeconds(const Work &work) const {
  double flops = work.calls * work.product->flops();
  if (std::optional<double> rate = rateNear(*work.product))
    return flops / (*rate * threads);
  double rate = hardware.flopsPerSecond(work.product->precision, threads);
  return work.calls * hardware.callSeconds +
         std::max(flops / rate, trafficSeconds(work));
}

double EntryTimes::operationSeconds(llvm::StringRef name) const {
  const auto &measured = hardware.operationSeconds;
  if (auto it = measured.find(name); it != measured.end())
    return it->second;
  // A vector holds half as many doubles.
  if (name.consume_back(Work::kOnDoubles))
    return 2 * operationSeconds(name);
  return 0;
}

double EntryTimes::seconds(const Work &work) const {
  if (work.product)
    return hardware.entrySeconds + productSeconds(work);
  double operations = 0;
  for (const auto &[name, elements] : work.operations)
    operations += operationSeconds(name) * elements;
  return hardware.entrySeconds + trafficSeconds(work) + operations / threads;
}
