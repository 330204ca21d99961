//===- Initialize.cpp - draws first values -------------------------------===//
//
// Drawn in double, rounded once to the parameter's dtype: an f32 model starts
// at the rounded values of its f64 twin. A block of elements is a function of
// its first index alone, so threads share the blocks and no bit depends on how
// many there are.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Initialize.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include "Runtime/Train/Random.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace tts::rt {

namespace {

constexpr uint64_t blockElements = 1024;

/// Writes the values of elements first, first + 1, … of one block to `out`.
using Block = std::function<void(uint64_t first, double *out)>;

[[noreturn]] void wrong(const Parameter &p, const std::string &what) {
  throw Error(Exit::BadInput, "parameter '" + p.value.name + "'", what,
              "correct its tts.init in the model");
}

double argument(const Parameter &p, size_t i) {
  if (i >= p.init.args.size())
    wrong(p, "init '" + p.init.kind + "' needs more arguments");
  return p.init.args[i];
}

/// Word j of group g of four is element 4 g + j.
void drawBlock(uint64_t key, uint64_t first, double *out) {
  for (uint64_t i = 0; i < blockElements; i += 4) {
    Philox4 words = philox((first + i) / 4, key);
    for (uint64_t j = 0; j < 4; ++j)
      out[i + j] = toUniform(words[j]);
  }
}

Block uniform(uint64_t key, double lo, double hi) {
  return [=](uint64_t first, double *out) {
    drawBlock(key, first, out);
    for (uint64_t i = 0; i < blockElements; ++i)
      out[i] = lo + (hi - lo) * out[i];
  };
}

/// Box-Muller: words 0, 1 give elements 0, 1 of a group of four, 2, 3 the rest.
/// Sines and cosines apart: together they would be another function of libm.
Block normal(uint64_t key, double deviation) {
  return [=](uint64_t first, double *out) {
    double draws[blockElements], radii[blockElements / 2];
    drawBlock(key, first, draws);
    for (uint64_t i = 0; i < blockElements; i += 2)
      radii[i / 2] = deviation * std::sqrt(-2 * std::log(draws[i]));
    for (uint64_t i = 0; i < blockElements; i += 2)
      out[i] = radii[i / 2] * std::cos(2 * M_PI * draws[i + 1]);
    for (uint64_t i = 0; i < blockElements; i += 2)
      out[i + 1] = radii[i / 2] * std::sin(2 * M_PI * draws[i + 1]);
  };
}

Block constant(double value) {
  return [=](uint64_t, double *out) { std::fill_n(out, blockElements, value); };
}

Block linspace(double lo, double hi, int64_t last) {
  return [=](uint64_t first, double *out) {
    for (uint64_t i = 0; i < blockElements; ++i)
      out[i] = lo + (hi - lo) * double(first + i) / double(last);
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

Block valuesOf(const Parameter &p, uint64_t seed) {
  uint64_t key = hashKey(seed, p.value.name);
  const std::string &kind = p.init.kind;
  if (kind == "zeros")
    return constant(0);
  if (kind == "ones")
    return constant(1);
  if (kind == "constant")
    return constant(argument(p, 0));
  if (kind == "normal")
    return normal(key, argument(p, 0));
  if (kind == "uniform")
    return uniform(key, argument(p, 0), argument(p, 1));
  if (kind == "linspace")
    return linspace(argument(p, 0), argument(p, 1),
                    std::max<int64_t>(p.value.elements() - 1, 1));
  if (kind == "xavier_uniform")
    return uniform(key, -xavierLimit(p), xavierLimit(p));
  wrong(p, "init '" + kind + "' is unknown");
}

/// Whole blocks are drawn, whatever part of them is here: a shard begins where
/// it must.
template <typename T>
void fill(const Parameter &p, Part part, const Arena &arena,
          const Block &values, int threads) {
  T *data = reinterpret_cast<T *>(arena.at(p.value.at.offset));
  uint64_t end = part.first + part.count;
  int64_t firstBlock = int64_t(part.first / blockElements);
  int64_t blocks =
      int64_t((end + blockElements - 1) / blockElements) - firstBlock;
  // A few blocks take less than waking the threads.
#pragma omp parallel for schedule(static) num_threads(threads) if (blocks > 4)
  for (int64_t block = 0; block < blocks; ++block) {
    double drawn[blockElements];
    uint64_t start = uint64_t(firstBlock + block) * blockElements;
    values(start, drawn);
    uint64_t from = std::max(start, part.first);
    for (uint64_t i = from, n = std::min(start + blockElements, end); i < n;
         ++i)
      data[i - part.first] = T(drawn[i - start]);
  }
}

} // namespace

void initializeParameters(const Manifest &manifest, const Arena &arena,
                          uint64_t seed) {
  for (const Parameter &p : manifest.parameters) {
    if (p.isElsewhere)
      continue;
    Block values = valuesOf(p, seed);
    Part part = manifest.partOf(p, p.value.at);
    if (p.value.dtype == TTS_F32)
      fill<float>(p, part, arena, values, manifest.threads);
    else if (p.value.dtype == TTS_F64)
      fill<double>(p, part, arena, values, manifest.threads);
    else
      wrong(p, std::string("first values of dtype ") +
                   dtypeName(p.value.dtype) + " cannot be drawn");
  }
  refreshHalfCopies(manifest, arena);
  resetStates(manifest, arena);
}

void refreshHalfCopy(const Parameter &p, const Arena &arena) {
  if (p.halfCopy)
    convertFloats(p.halfDtype, arena.at(p.halfCopy.offset), TTS_F32,
                  arena.at(p.value.at.offset),
                  int64_t(p.halfCopy.size / dtypeSize(p.halfDtype)));
}

void refreshHalfCopies(const Manifest &manifest, const Arena &arena) {
  int64_t count = int64_t(manifest.parameters.size());
#pragma omp parallel for schedule(dynamic) num_threads(manifest.threads)
  for (int64_t i = 0; i < count; ++i)
    refreshHalfCopy(manifest.parameters[size_t(i)], arena);
}

void resetStates(const Manifest &manifest, const Arena &arena) {
  int64_t count = int64_t(manifest.parameters.size());
#pragma omp parallel for schedule(dynamic) num_threads(manifest.threads)
  for (int64_t i = 0; i < count; ++i) {
    const Parameter &p = manifest.parameters[size_t(i)];
    for (Slice state : {p.gradient, p.moment1, p.moment2})
      if (state)
        std::memset(arena.at(state.offset), 0, state.size);
    if (!p.ema)
      continue;
    uint64_t size = dtypeSize(p.value.dtype);
    Part own = manifest.partOf(p, p.ema);
    uint64_t before = own.first - manifest.partOf(p, p.value.at).first;
    std::memcpy(arena.at(p.ema.offset),
                arena.at(p.value.at.offset) + before * size, own.count * size);
  }
}

} // namespace tts::rt
