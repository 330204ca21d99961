//===- PlainGemm.cpp - a product that the library has no good way to do --===//

#include "Runtime/Device/Cpu/PlainGemm.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include <algorithm>

namespace tts::rt {

namespace {

/// Columns of C that are summed side by side.
constexpr int64_t width = 64;

/// A matrix of a float type; the element at (i, j) of its product's view.
struct View {
  const char *data;
  TtsDType dtype;
  int64_t rowStride, columnStride;

  float at(int64_t i, int64_t j) const {
    int64_t index = i * rowStride + j * columnStride;
    if (dtype == TTS_F32)
      return reinterpret_cast<const float *>(data)[index];
    uint16_t bits = reinterpret_cast<const uint16_t *>(data)[index];
    return dtype == TTS_BF16 ? fromBf16(bits) : fromF16(bits);
  }
};

View viewOf(const void *data, TtsDType dtype, int64_t first, int64_t leading,
            bool transpose) {
  return {static_cast<const char *>(data) + first * elementBytes(dtype), dtype,
          transpose ? 1 : leading, transpose ? leading : 1};
}

} // namespace

void multiplyPlainly(const GemmShape &s, void *const *operands,
                     int64_t element) {
  View a =
      viewOf(operands[0], s.dtype, element * s.strideA, s.lda, s.transposeA);
  View b =
      viewOf(operands[1], s.dtype, element * s.strideB, s.ldb, s.transposeB);
  View old = viewOf(operands[2], s.dtypeC, element * s.strideC, s.ldc, false);
  char *c = const_cast<char *>(old.data);
  const float *bias =
      s.bias ? static_cast<const float *>(operands[3]) : nullptr;
  constexpr int64_t worthThreads = 1 << 14;
#pragma omp parallel for collapse(2) if (s.m * s.n * s.k > worthThreads)
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t first = 0; first < s.n; first += width) {
      int64_t columns = std::min(width, s.n - first);
      float sums[width] = {};
      for (int64_t k = 0; k < s.k; ++k) {
        float x = a.at(i, k);
        for (int64_t j = 0; j < columns; ++j)
          sums[j] += x * b.at(k, first + j);
      }
      for (int64_t j = 0; j < columns; ++j) {
        if (bias)
          sums[j] += bias[first + j];
        if (s.accumulate)
          sums[j] += old.at(i, first + j);
      }
      convertFloats(s.dtypeC, c + (i * s.ldc + first) * elementBytes(s.dtypeC),
                    TTS_F32, sums, columns);
    }
}

} // namespace tts::rt
