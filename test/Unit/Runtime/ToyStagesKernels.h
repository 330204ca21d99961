//===- ToyStagesKernels.h - the kernels of the toy over stages ------------===//
//
// B is the micro-batch, E the extent of both text and frames.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_RUNTIME_TOYSTAGESKERNELS_H
#define TTS_TEST_RUNTIME_TOYSTAGESKERNELS_H

#include "ToyKernels.h"

namespace tts::test {

/// (lengths, denominator) → each · Σ lengths
template <int B, int each>
void toyCount(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  float sum = 0;
  for (int i = 0; i < B; ++i)
    sum += each * as<int32_t>(p, 0)[i];
  *as<float>(p, 1) = sum;
}

/// (h, scale, bias) → h · scale + bias; the range is the batch.
template <int E> void toyScale(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo * E * 2; i < hi * E * 2; ++i)
    as<float>(p, 3)[i] =
        as<float>(p, 0)[i] * as<float>(p, 1)[i % 2] + as<float>(p, 2)[i % 2];
}

/// (dh', scale) → dh' · scale; the range is the batch.
template <int E> void toyScaleBack(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo * E * 2; i < hi * E * 2; ++i)
    as<float>(p, 2)[i] = as<float>(p, 0)[i] * as<float>(p, 1)[i % 2];
}

/// (dh', h) → scale's gradient += …, bias's += …
template <int B, int E>
void toyScaleGrad(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = 0; lo < hi && i < B * E * 2; ++i) {
    as<float>(p, 2)[i % 2] += as<float>(p, 0)[i] * as<float>(p, 1)[i];
    as<float>(p, 3)[i % 2] += as<float>(p, 0)[i];
  }
}

/// (h, mel, frame_lengths) → sum
template <int B, int E>
void toyMelLoss(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  float sum = 0;
  for (int i = 0; i < B; ++i)
    for (int t = 0; t < 2 * as<int32_t>(p, 2)[i]; ++t) {
      float d = as<float>(p, 0)[i * E * 2 + t] -
                0.5f * as<float>(p, 1)[i * E * 2 + t];
      sum += d * d;
    }
  *as<float>(p, 3) = sum;
}

/// (h, mel, frame_lengths, weight) → dh; the range is the batch.
template <int E> void toyMelGrad(void *const *p, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i)
    for (int t = 0; t < 2 * E; ++t) {
      int64_t at = i * E * 2 + t;
      float d = as<float>(p, 0)[at] - 0.5f * as<float>(p, 1)[at];
      bool valid = t < 2 * as<int32_t>(p, 2)[i];
      as<float>(p, 4)[at] = valid ? 2 * d * *as<float>(p, 3) : 0;
    }
}

/// (phones, phone_lengths, mean) → sum
template <int B, int E>
void toyPhoneLoss(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  float sum = 0;
  for (int i = 0; i < B; ++i)
    for (int t = 0; t < as<int32_t>(p, 1)[i]; ++t) {
      float d = *as<float>(p, 2) - as<int32_t>(p, 0)[i * E + t];
      sum += d * d;
    }
  *as<float>(p, 3) = sum;
}

/// (phones, phone_lengths, mean, weight) → mean's gradient += …
template <int B, int E>
void toyPhoneGrad(void *const *p, int64_t lo, int64_t hi) {
  for (int i = 0; lo < hi && i < B; ++i)
    for (int t = 0; t < as<int32_t>(p, 1)[i]; ++t)
      *as<float>(p, 4) += 2 *
                          (*as<float>(p, 2) - as<int32_t>(p, 0)[i * E + t]) *
                          *as<float>(p, 3);
}

/// (gradients) → Σ of squares of n parameters of 16 floats each
template <int n> void toySquares(void *const *p, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return;
  double sum = 0;
  for (int i = 0; i < 16 * n; ++i)
    sum += double(as<float>(p, 0)[i]) * as<float>(p, 0)[i];
  *as<double>(p, 1) = sum;
}

inline void toyRoot(void *const *p, int64_t lo, int64_t hi) {
  if (lo < hi)
    *as<float>(p, 1) = float(std::sqrt(*as<double>(p, 0)));
}

} // namespace tts::test

#endif // TTS_TEST_RUNTIME_TOYSTAGESKERNELS_H
