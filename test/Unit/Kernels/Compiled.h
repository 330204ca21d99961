//===- Compiled.h - kernels compiled in the test's own process --*- C++ -*-===//

#ifndef TTS_TEST_UNIT_KERNELS_COMPILED_H
#define TTS_TEST_UNIT_KERNELS_COMPILED_H

#include "tts-runtime/Abi.h"
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tts::test {

/// A kernel's entry point, the same for a lane of a warp, and its range.
struct Kernel {
  TtsKernel entry = nullptr, lane = nullptr;
  int64_t range = 0;
};

/// What one memory operand of a kernel holds.
struct Memory {
  int64_t count = 0;
  unsigned bits = 0;
  bool isFloat = false;
};

/// A matrix product for `emitGemmKernel`, in the order of rt::GemmAttr.
struct Gemm {
  std::string name, element;
  int64_t m, n, k, lda, ldb, ldc;
  bool transposeA, transposeB;
  int64_t beta, batch = 1, strideA = 0, strideB = 0, strideC = 0;
  std::string elementC = ""; ///< of C, if not the same
};

/// A module of kernels, taken through tts-to-kernels, the CPU pipeline and
/// emitObject, and loaded; and through the CUDA pipeline, for warps that run on
/// this CPU. A failure is a failure of the test.
class Compiled {
public:
  explicit Compiled(const std::string &text,
                    const std::vector<Gemm> &gemms = {});
  ~Compiled();
  Kernel operator[](const std::string &name) const;
  /// Every kernel's operands, by name.
  const std::map<std::string, std::vector<Memory>> &operands() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The diagnostic that tts-to-kernels gives on a module it must refuse.
std::string refusal(const std::string &text);

/// `text` with each $key replaced.
std::string fill(std::string text,
                 const std::map<std::string, std::string> &values);

/// Memory of one kernel operand.
struct Operand {
  void *data;
  size_t bytes;

  template <typename T>
  Operand(std::vector<T> &values)
      : data(values.data()), bytes(values.size() * sizeof(T)) {}
  Operand(void *data, size_t bytes) : data(data), bytes(bytes) {}
};

/// Runs the whole range at once; then, from the same memory, in two parts for
/// several cuts, the second part first, and by warps of several grids, whose
/// lanes run in either order. Expects the same bits.
void run(const Kernel &kernel, std::vector<Operand> operands);

template <typename T> std::string nameOf();
template <> inline std::string nameOf<float>() { return "f32"; }
template <> inline std::string nameOf<double>() { return "f64"; }

using FloatTypes = ::testing::Types<float, double>;

/// Numbers that look like activations, the same on every run.
template <typename T>
std::vector<T> random(size_t count, uint32_t seed, double scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(normal(generator));
  return values;
}

/// Same bits, any NaN like any other.
template <typename T> bool same(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) ||
         std::memcmp(&x, &y, sizeof(T)) == 0;
}

template <typename T>
void expectSame(const std::vector<T> &actual, const std::vector<T> &expected,
                const std::string &what = "") {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(same(actual[i], expected[i]))
        << what << "[" << i << "] is " << actual[i] << ", not " << expected[i];
}

/// How many representable numbers apart, a NaN only like a NaN.
template <typename T> double ulps(T actual, double expected) {
  T rounded = T(expected);
  if (same(actual, rounded) || actual == rounded)
    return 0;
  if (!std::isfinite(double(actual)) || !std::isfinite(double(rounded)))
    return std::numeric_limits<double>::infinity();
  double spacing =
      std::max<double>(std::fabs(rounded), std::numeric_limits<T>::min()) *
      std::numeric_limits<T>::epsilon();
  return std::fabs(double(actual) - expected) / spacing * 2;
}

/// Lane l adds elements l, l+32, …; then 16 with 16, 8, 4, 2, 1.
template <typename T> T tree(std::array<T, 32> lanes) {
  for (int half = 16; half; half /= 2)
    for (int l = 0; l < half; ++l)
      lanes[l] = lanes[l] + lanes[l + half];
  return lanes[0];
}
/// The sum of `rows` rows of `columns` terms in that order.
template <typename T, typename Fn>
T laneSum(int64_t rows, int64_t columns, Fn term) {
  std::array<T, 32> lanes{};
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      lanes[c % 32] += term(r * columns + c);
  return tree(lanes);
}

} // namespace tts::test

#endif // TTS_TEST_UNIT_KERNELS_COMPILED_H
