//===- Initialize.cpp - draws first values -------------------------------===//
//
// Drawn in double, rounded once to the parameter's dtype: an f32 model starts
// at the rounded values of its f64 twin.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Initialize.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Random.h"
#include <cmath>
#include <cstring>
#include <functional>

namespace tts::rt {

namespace {

using Value = std::function<double(uint64_t index)>;

[[noreturn]] void wrong(const Parameter &p, const std::string &what) {
  throw Error(Exit::BadInput, "parameter '" + p.value.name + "'", what,
              "correct its tts.init in the model");
}

double argument(const Parameter &p, size_t i) {
  if (i >= p.init.args.size())
    wrong(p, "init '" + p.init.kind + "' needs more arguments");
  return p.init.args[i];
}

Value uniform(uint64_t key, double lo, double hi) {
  return [=](uint64_t i) {
    return lo + (hi - lo) * toUniform(philox(i / 4, key)[i % 4]);
  };
}

/// Box-Muller: words 0, 1 give elements 0, 1 of a group of four, 2, 3 the rest.
Value normal(uint64_t key, double deviation) {
  return [=](uint64_t i) {
    Philox4 words = philox(i / 4, key);
    unsigned pair = i % 4 / 2 * 2;
    double radius = std::sqrt(-2 * std::log(toUniform(words[pair])));
    double angle = 2 * M_PI * toUniform(words[pair + 1]);
    return deviation * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  };
}

/// Last dim is fan-out, the one before fan-in, leading dims the receptive
/// field.
double xavierLimit(const Parameter &p) {
  const std::vector<int64_t> &shape = p.value.shape;
  if (shape.size() < 2)
    wrong(p, "init 'xavier_uniform' needs at least two dims");
  double field = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d)
    field *= double(shape[d]);
  double fans = field * double(shape[shape.size() - 2] + shape.back());
  double gain = p.init.args.empty() ? 1 : p.init.args[0];
  return gain * std::sqrt(6 / fans);
}

Value valuesOf(const Parameter &p, uint64_t seed) {
  uint64_t key = hashKey(seed, p.value.name);
  const std::string &kind = p.init.kind;
  if (kind == "zeros")
    return [](uint64_t) { return 0.0; };
  if (kind == "ones")
    return [](uint64_t) { return 1.0; };
  if (kind == "constant")
    return [c = argument(p, 0)](uint64_t) { return c; };
  if (kind == "normal")
    return normal(key, argument(p, 0));
  if (kind == "uniform")
    return uniform(key, argument(p, 0), argument(p, 1));
  if (kind == "linspace")
    return [lo = argument(p, 0), hi = argument(p, 1),
            last = std::max<int64_t>(p.value.elements() - 1, 1)](uint64_t i) {
      return lo + (hi - lo) * double(i) / double(last);
    };
  if (kind == "xavier_uniform")
    return uniform(key, -xavierLimit(p), xavierLimit(p));
  wrong(p, "init '" + kind + "' is unknown");
}

template <typename T>
void fill(const Parameter &p, const Arena &arena, const Value &value) {
  T *data = reinterpret_cast<T *>(arena.at(p.value.at.offset));
  for (uint64_t i = 0, n = p.value.elements(); i < n; ++i)
    data[i] = T(value(i));
}

} // namespace

void initializeParameters(const Manifest &manifest, const Arena &arena,
                          uint64_t seed) {
  for (const Parameter &p : manifest.parameters) {
    Value value = valuesOf(p, seed);
    if (p.value.dtype == TTS_F32)
      fill<float>(p, arena, value);
    else if (p.value.dtype == TTS_F64)
      fill<double>(p, arena, value);
    else
      wrong(p, std::string("first values of dtype ") +
                   dtypeName(p.value.dtype) + " cannot be drawn");
  }
  resetStates(manifest, arena);
}

void resetStates(const Manifest &manifest, const Arena &arena) {
  for (const Parameter &p : manifest.parameters) {
    for (Slice state : {p.gradient, p.moment1, p.moment2})
      if (state)
        std::memset(arena.at(state.offset), 0, state.size);
    if (p.ema)
      std::memcpy(arena.at(p.ema.offset), arena.at(p.value.at.offset),
                  p.ema.size);
  }
}

} // namespace tts::rt
