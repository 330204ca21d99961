//===- ToyKernels.h - the toy model's kernels, per shape -----------------===//
//
// Written as the compiler's are: addresses and a part of a range. B is the
// micro-batch, E the extent of both text and frames.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_RUNTIME_TOYKERNELS_H
#define TTS_TEST_RUNTIME_TOYKERNELS_H

#include "tts-runtime/Abi.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tts::test {

template <typename T> T *as(void *const *operands, int i) {
  return static_cast<T *>(operands[i]);
}

/// (frame_lengths, phone_lengths) → denominators of mel and phone.
template <int B, int E>
void toyDenominators(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  float frames = 0, phones = 0;
  for (int i = 0; i < B; ++i) {
    frames += 2 * as<int32_t>(p, 0)[i];
    phones += as<int32_t>(p, 1)[i];
  }
  *as<float>(p, 2) = frames;
  *as<float>(p, 3) = phones;
}

/// (h, b) → h + b on every frame; the range is the batch.
template <int B, int E>
void toyAddBias(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo * E * 2; i < hi * E * 2; ++i)
    as<float>(p, 0)[i] += as<float>(p, 1)[i % 2];
}

/// (pred, mel, frame_lengths, phones, phone_lengths, c) → sums of both losses.
template <int B, int E> void toyLoss(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  float mel = 0, phone = 0;
  for (int i = 0; i < B; ++i) {
    for (int t = 0; t < as<int32_t>(p, 2)[i]; ++t)
      for (int j = 0; j < 2; ++j) {
        int at = (i * E + t) * 2 + j;
        float d = as<float>(p, 0)[at] - 0.5f * as<float>(p, 1)[at];
        mel += d * d;
      }
    for (int t = 0; t < as<int32_t>(p, 4)[i]; ++t) {
      float d = *as<float>(p, 5) - as<int32_t>(p, 3)[i * E + t];
      phone += d * d;
    }
  }
  *as<float>(p, 6) = mel;
  *as<float>(p, 7) = phone;
}

/// (pred, mel, frame_lengths, weight) → d loss / d pred; the range is the
/// batch.
template <int B, int E>
void toyGradPred(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i)
    for (int t = 0; t < E; ++t)
      for (int j = 0; j < 2; ++j) {
        int64_t at = (i * E + t) * 2 + j;
        float d = as<float>(p, 0)[at] - 0.5f * as<float>(p, 1)[at];
        bool valid = t < as<int32_t>(p, 2)[i];
        as<float>(p, 4)[at] = valid ? 2 * d * *as<float>(p, 3) : 0;
      }
}

/// (dpred, phones, phone_lengths, weight, c) → gb += …, gc += …
template <int B, int E>
void toyGradRest(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  for (int i = 0; i < B * E; ++i)
    for (int j = 0; j < 2; ++j)
      as<float>(p, 5)[j] += as<float>(p, 0)[i * 2 + j];
  for (int i = 0; i < B; ++i)
    for (int t = 0; t < as<int32_t>(p, 2)[i]; ++t)
      *as<float>(p, 6) += 2 *
                          (*as<float>(p, 4) - as<int32_t>(p, 1)[i * E + t]) *
                          *as<float>(p, 3);
}

/// w, b and c lie one after the other, padded to 16 floats each.
constexpr int toyStates = 3 * 16;

inline void toyZero(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i)
    as<float>(p, 0)[i] = 0;
}

/// (gradients, clip) → grad_norm
inline void toyNorm(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  double sum = 0;
  for (int i = 0; i < toyStates; ++i)
    sum += double(as<float>(p, 0)[i]) * as<float>(p, 0)[i];
  *as<float>(p, 1) = float(std::sqrt(sum));
}

/// A planted fault: TOY_FLIP=RANK:UPDATE in the environment flips a bit of that
/// rank's first weight after that update.
inline void toyFlip(float &weight) {
  static int updates = 0, rank = -1, update = -1;
  const char *flip = std::getenv("TOY_FLIP");
  const char *self = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!flip || !self || std::sscanf(flip, "%d:%d", &rank, &update) != 2)
    return;
  if (++updates == update && rank == std::atoi(self))
    reinterpret_cast<uint32_t &>(weight) ^= 1;
}

/// (weights, gradients, m, v, ema, optimizer, grad_norm): AdamW, then EMA.
template <int clipPerMille>
void toyAdam(void *const *p, int64_t lo, int64_t hi) {
  const float *o = as<float>(p, 5);
  float norm = *as<float>(p, 6), clip = clipPerMille * 1e-3f;
  if (!std::isfinite(norm))
    return;
  float scale = clip > 0 && norm > clip ? clip / norm : 1;
  for (int64_t i = lo; i < hi; ++i) {
    float g = as<float>(p, 1)[i] * scale;
    float &w = as<float>(p, 0)[i], &m = as<float>(p, 2)[i];
    float &v = as<float>(p, 3)[i], &e = as<float>(p, 4)[i];
    m = o[1] * m + (1 - o[1]) * g;
    v = o[2] * v + (1 - o[2]) * g * g;
    w -= o[0] * o[4] * w;
    w -= o[0] * (m * o[5]) / (std::sqrt(v * o[6]) + o[3]);
    e = o[7] * e + (1 - o[7]) * w;
  }
  if (lo == 0 && lo < hi)
    toyFlip(*as<float>(p, 0));
}

} // namespace tts::test

#endif // TTS_TEST_RUNTIME_TOYKERNELS_H
