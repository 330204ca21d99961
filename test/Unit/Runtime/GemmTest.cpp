//===- GemmTest.cpp - rt.gemm against three loops ------------------------===//
//
// Every transpose, beta, batch form and a few unfriendly shapes; small integer
// values make the products exact.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Gemm.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include "Runtime/Device/Cpu/PlainGemm.h"
#include "Runtime/Memory/Allocations.h"
#include "tts-runtime/Format.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <omp.h>
#include <random>

using namespace tts::rt;

namespace {

std::vector<int64_t> scalarsOf(const GemmShape &s, int64_t scratch) {
  return {s.dtype, s.m,       s.n,          s.k,          s.lda,
          s.ldb,   s.ldc,     s.transposeA, s.transposeB, s.accumulate,
          s.batch, s.strideA, s.strideB,    s.strideC,    s.dtypeC,
          s.bias,  scratch};
}

struct Problem {
  GemmShape shape;
  std::vector<float> a, b, c, want;

  explicit Problem(const GemmShape &s) : shape(s) {
    auto fill = [](std::vector<float> &x, size_t n, int step) {
      x.resize(n);
      for (size_t i = 0; i < n; ++i)
        x[i] = float(int(i * size_t(step) % 7) - 3);
    };
    int64_t rowsA = s.transposeA ? s.k : s.m, rowsB = s.transposeB ? s.n : s.k;
    fill(a, size_t((s.batch - 1) * s.strideA + rowsA * s.lda), 3);
    fill(b, size_t((s.batch - 1) * s.strideB + rowsB * s.ldb), 5);
    fill(c, size_t((s.batch - 1) * s.strideC + s.m * s.ldc), 2);
    want = c;
    for (int64_t i = 0; i < s.batch; ++i)
      multiply(a.data() + i * s.strideA, b.data() + i * s.strideB,
               want.data() + i * s.strideC);
  }

  void multiply(const float *a, const float *b, float *c) const {
    const GemmShape &s = shape;
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        float sum = s.accumulate ? c[m * s.ldc + n] : 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum += (s.transposeA ? a[k * s.lda + m] : a[m * s.lda + k]) *
                 (s.transposeB ? b[n * s.ldb + k] : b[k * s.ldb + n]);
        c[m * s.ldc + n] = sum;
      }
  }

  std::vector<int64_t> scalars(int64_t scratch) const {
    return scalarsOf(shape, scratch);
  }

  std::vector<uint64_t> bytes(uint64_t scratch) const {
    auto of = [](const std::vector<float> &x, TtsDType dtype) {
      return x.size() * uint64_t(elementBytes(dtype));
    };
    return {of(a, shape.dtype), of(b, shape.dtype), of(c, shape.dtypeC),
            scratch};
  }
};

/// `gap` elements between the rows of each matrix.
GemmShape shape(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool acc,
                int64_t gap = 0) {
  GemmShape s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.transposeA = ta;
  s.transposeB = tb;
  s.accumulate = acc;
  s.lda = (ta ? m : k) + gap;
  s.ldb = (tb ? k : n) + gap;
  s.ldc = n + gap;
  return s;
}

/// Scratch where the library has something, as it always has with AVX-512; 0
/// where plain loops stand in.
int64_t scratchOf(const GemmShape &s) {
  int64_t scratch = gemmScratchBytes(s, omp_get_max_threads());
  if (__builtin_cpu_supports("avx512f")) {
    EXPECT_GE(scratch, 0);
  }
  return std::max<int64_t>(scratch, 0);
}

void expectRight(Problem p) {
  int64_t scratch = scratchOf(p.shape);
  std::vector<char> room(size_t(scratch) + 64);
  GemmLibrary library;
  const Gemm &gemm =
      library.get(p.scalars(scratch).data(), TTS_GEMM_NUM_SCALARS,
                  p.bytes(uint64_t(scratch)), "test");
  void *operands[] = {p.a.data(), p.b.data(), p.c.data(), room.data()};
  countLargeAllocations();
  gemm.run(library.stream(), operands);
  EXPECT_EQ(largeAllocationsAfterStart(), 0u) << gemm.implementation();
  if (__builtin_cpu_supports("avx512f")) {
    EXPECT_EQ(std::string(gemm.implementation()).rfind("brg", 0), 0u)
        << gemm.implementation();
  }
  EXPECT_EQ(p.c, p.want) << gemm.implementation() << " " << p.shape.m << "x"
                         << p.shape.n << "x" << p.shape.k;
}

/// The numbers in memory as `dtype`.
std::vector<char> stored(const std::vector<float> &x, TtsDType dtype) {
  std::vector<char> bytes(x.size() * size_t(elementBytes(dtype)));
  convertFloats(dtype, bytes.data(), TTS_F32, x.data(), int64_t(x.size()));
  return bytes;
}

/// The same with operands of a half type; the sum is exact and rounded once.
void expectRightInHalf(GemmShape s, TtsDType dtype, TtsDType dtypeC) {
  s.dtype = dtype;
  s.dtypeC = dtypeC;
  Problem p(s);
  int64_t scratch = scratchOf(s);
  std::vector<char> room(size_t(scratch) + 64);
  std::vector<char> a = stored(p.a, dtype), b = stored(p.b, dtype),
                    c = stored(p.c, dtypeC);
  GemmLibrary library;
  const Gemm &gemm =
      library.get(p.scalars(scratch).data(), TTS_GEMM_NUM_SCALARS,
                  p.bytes(uint64_t(scratch)), "test");
  void *operands[] = {a.data(), b.data(), c.data(), room.data()};
  countLargeAllocations();
  gemm.run(library.stream(), operands);
  EXPECT_EQ(largeAllocationsAfterStart(), 0u) << gemm.implementation();
  EXPECT_EQ(c, stored(p.want, dtypeC))
      << gemm.implementation() << " " << s.m << "x" << s.n << "x" << s.k
      << " dtype " << dtype << " to " << dtypeC;
}

TEST(Gemm, HalfTypes) {
  omp_set_num_threads(2);
  int64_t sizes[][3] = {
      {5, 3, 7}, {64, 1, 33}, {17, 32, 1}, {96, 80, 64}, {33, 31, 130}};
  for (auto [dtype, dtypeC] : {std::pair(TTS_BF16, TTS_BF16),
                               {TTS_BF16, TTS_F32},
                               {TTS_F16, TTS_F16},
                               {TTS_F16, TTS_F32}})
    for (auto &[m, n, k] : sizes)
      for (int form = 0; form < 8; ++form)
        for (int64_t gap : {0, 3})
          expectRightInHalf(
              shape(m, n, k, form & 1, (form & 2) != 0, (form & 4) != 0, gap),
              dtype, dtypeC);
}

TEST(Gemm, HalfTypesBatched) {
  for (auto [dtype, dtypeC] :
       {std::pair(TTS_BF16, TTS_F32), {TTS_F16, TTS_F16}})
    for (int form = 0; form < 8; ++form) {
      GemmShape s = shape(9, 6, 5, form & 1, (form & 2) != 0, (form & 4) != 0);
      s.batch = 3;
      s.strideA = 200;
      s.strideB = 150;
      s.strideC = 100;
      expectRightInHalf(s, dtype, dtypeC);
      s.strideC = 0; // three products summed into one C
      if (s.accumulate && dtypeC == TTS_F32)
        expectRightInHalf(s, dtype, dtypeC);
    }
}

TEST(Gemm, EveryFormOfEveryShape) {
  omp_set_num_threads(2);
  int64_t sizes[][3] = {{5, 3, 7}, {64, 1, 33},  {1, 48, 16},  {17, 32, 1},
                        {1, 1, 1}, {96, 80, 64}, {33, 31, 130}};
  for (auto &[m, n, k] : sizes)
    for (int form = 0; form < 8; ++form)
      expectRight(
          Problem(shape(m, n, k, form & 1, (form & 2) != 0, (form & 4) != 0)));
}

TEST(Gemm, Batched) {
  for (int form = 0; form < 8; ++form) {
    GemmShape s = shape(9, 6, 5, form & 1, (form & 2) != 0, (form & 4) != 0);
    s.batch = 3;
    s.strideA = 200;
    s.strideB = 150;
    s.strideC = 100;
    expectRight(Problem(s));
  }
}

TEST(Gemm, GapsBetweenRowsArePacked) {
  // oneDNN 2.6 has only gemm:jit for rows with gaps, which allocates.
  for (int form = 0; form < 8; ++form)
    for (int64_t batch : {1, 3}) {
      GemmShape s = shape(9, 6, 5, form & 1, (form & 2) != 0, (form & 4) != 0,
                          /*gap=*/3);
      s.batch = batch;
      s.strideA = s.strideB = s.strideC = 200;
      expectRight(Problem(s));
    }
}

TEST(Gemm, HeadsInterleaved) {
  // One batch element per head, its columns inside the rows of the others.
  for (bool accumulate : {false, true}) {
    GemmShape scores = shape(40, 40, 4, false, true, accumulate);
    scores.batch = 2;
    scores.lda = scores.ldb = 8;
    scores.strideA = scores.strideB = 4;
    scores.strideC = 40 * 40;
    expectRight(Problem(scores));
    GemmShape mixed = shape(40, 4, 40, accumulate, false, accumulate);
    mixed.batch = 2;
    mixed.ldb = mixed.ldc = 8;
    mixed.strideB = mixed.strideC = 4;
    mixed.strideA = 40 * 40;
    expectRight(Problem(mixed));
  }
}

TEST(Gemm, SharedOperands) {
  GemmShape s = shape(8, 6, 4, true, false, true);
  s.batch = 4;
  s.strideA = 40;
  s.strideB = 40;
  s.strideC = 0; // four products summed into one C
  expectRight(Problem(s));
  s.strideB = 0;
  s.strideC = 100;
  expectRight(Problem(s));
  s = shape(8, 6, 4, true, false, true, /*gap=*/2); // and with gaps
  s.batch = 4;
  s.strideA = s.strideB = 100;
  s.strideC = 0;
  expectRight(Problem(s));
}

/// One product into `c`, with its old value where `accumulate` says so.
std::vector<float> product(GemmShape s, const std::vector<float> &a,
                           const std::vector<float> &b,
                           const std::vector<float> &bias,
                           std::vector<float> c) {
  GemmLibrary library;
  int64_t scratch = scratchOf(s);
  std::vector<char> room(size_t(scratch) + 64);
  std::vector<uint64_t> bytes = {a.size() * 4, b.size() * 4, c.size() * 4};
  std::vector<void *> operands = {const_cast<float *>(a.data()),
                                  const_cast<float *>(b.data()), c.data()};
  if (s.bias) {
    operands.push_back(const_cast<float *>(bias.data()));
    bytes.push_back(bias.size() * 4);
  }
  operands.push_back(room.data());
  bytes.push_back(uint64_t(scratch));
  const Gemm &gemm = library.get(scalarsOf(s, scratch).data(),
                                 TTS_GEMM_NUM_SCALARS, bytes, "test");
  countLargeAllocations();
  gemm.run(library.stream(), operands.data());
  EXPECT_EQ(largeAllocationsAfterStart(), 0u) << gemm.implementation();
  return c;
}

/// The bits of a, so that a NaN equals itself and -0 is not 0.
std::vector<uint32_t> bits(const std::vector<float> &a) {
  std::vector<uint32_t> result(a.size());
  std::memcpy(result.data(), a.data(), a.size() * 4);
  return result;
}

TEST(Gemm, AnEpilogueHasTheBitsOfAddingAfterwards) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  auto fill = [&](size_t n) {
    std::vector<float> x(n);
    for (float &value : x)
      value = normal(random);
    return x;
  };
  int64_t sizes[][3] = {{5, 3, 7},       {384, 256, 256}, {96, 80, 2048},
                        {200, 1, 256},   {36, 100, 1000}, {64, 1024, 300},
                        {300, 48, 3072}, {200, 256, 1024}};
  for (int threads : {1, 2})
    for (auto &[m, n, k] : sizes)
      for (int form = 0; form < 4; ++form) {
        omp_set_num_threads(threads);
        GemmShape s = shape(m, n, k, form & 1, (form & 2) != 0, false);
        std::vector<float> a = fill(size_t(m * k)), b = fill(size_t(k * n)),
                           bias = fill(size_t(n)), old = fill(size_t(m * n));
        a[0] = INFINITY;
        bias[0] = -0.0f;
        std::vector<float> sum = product(s, a, b, {}, old);
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += bias[i % size_t(n)];
        s.bias = true;
        EXPECT_EQ(bits(product(s, a, b, bias, old)), bits(sum))
            << m << "x" << n << "x" << k << " form " << form;
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += old[i];
        s.accumulate = true;
        EXPECT_EQ(bits(product(s, a, b, bias, old)), bits(sum))
            << m << "x" << n << "x" << k << " form " << form;
      }
}

TEST(Gemm, PlainLoopsAreRight) {
  // What stands in where the library has nothing, whatever it has here.
  for (auto [dtype, dtypeC] : {std::pair(TTS_F32, TTS_F32),
                               {TTS_BF16, TTS_BF16},
                               {TTS_BF16, TTS_F32},
                               {TTS_F16, TTS_F16}})
    for (int form = 0; form < 8; ++form) {
      GemmShape s =
          shape(9, 130, 5, form & 1, (form & 2) != 0, (form & 4) != 0, 3);
      s.dtype = dtype;
      s.dtypeC = dtypeC;
      s.batch = 2;
      s.strideA = s.strideB = s.strideC = 2000;
      Problem p(s);
      std::vector<char> a = stored(p.a, dtype), b = stored(p.b, dtype),
                        c = stored(p.c, dtypeC);
      void *operands[] = {a.data(), b.data(), c.data()};
      for (int64_t element : {0, 1})
        multiplyPlainly(s, operands, element);
      EXPECT_EQ(c, stored(p.want, dtypeC)) << "form " << form;
    }
  GemmShape s = shape(1, 2, 1, false, false, true);
  s.bias = true;
  float a = 2, b[] = {3, 4}, c[] = {5, 6}, bias[] = {1e8f, 1};
  void *operands[] = {&a, b, c, bias};
  multiplyPlainly(s, operands, 0);
  // The bias is added to the sum first, then C's old value.
  EXPECT_EQ(c[0], (6 + 1e8f) + 5);
  EXPECT_EQ(c[1], 15);
}

TEST(Gemm, WhatCannotRunIsRefused) {
  Problem p(shape(64, 64, 64, true, true, false));
  omp_set_num_threads(2);
  int64_t scratch = scratchOf(p.shape);
  auto refusal = [&](std::vector<int64_t> scalars,
                     std::vector<uint64_t> bytes) {
    GemmLibrary library;
    try {
      library.get(scalars.data(), uint32_t(scalars.size()), bytes, "entry 'x'");
      return std::string();
    } catch (const Error &e) {
      EXPECT_EQ(e.code, Exit::Refused);
      return std::string(e.what());
    }
  };
  EXPECT_EQ(refusal(p.scalars(scratch), p.bytes(uint64_t(scratch))), "");
  if (__builtin_cpu_supports("avx512f")) {
    ASSERT_GT(scratch, 0);
    std::string little =
        refusal(p.scalars(scratch - 64), p.bytes(uint64_t(scratch)));
    EXPECT_NE(little.find("scratch"), std::string::npos) << little;
    EXPECT_NE(little.find("recompile"), std::string::npos) << little;
  }
  auto f64 = p.scalars(scratch);
  f64[TTS_GEMM_DTYPE] = TTS_F64;
  EXPECT_NE(refusal(f64, p.bytes(uint64_t(scratch))), "");
  auto narrowed = p.scalars(scratch); // f32 operands have no bf16 result
  narrowed[TTS_GEMM_DTYPE_C] = TTS_BF16;
  EXPECT_NE(refusal(narrowed, p.bytes(uint64_t(scratch))), "");
  auto bytes = p.bytes(uint64_t(scratch));
  bytes[2] -= 4; // one element less than C touches
  EXPECT_NE(refusal(p.scalars(scratch), bytes).find("outside"),
            std::string::npos);
  EXPECT_NE(refusal({1, 2, 3}, p.bytes(0)), "");
  auto biased = p.scalars(scratch);
  biased[TTS_GEMM_BIAS] = 1;
  bytes = p.bytes(uint64_t(scratch));
  bytes.insert(bytes.begin() + 3, 64 * 4);
  EXPECT_EQ(refusal(biased, bytes), "");
  bytes[3] -= 4; // one element less than a row
  EXPECT_NE(refusal(biased, bytes).find("outside"), std::string::npos);
  bytes[3] += 4;
  biased[TTS_GEMM_BATCH] = 2;
  EXPECT_NE(refusal(biased, bytes).find("single product"), std::string::npos);
}

TEST(Gemm, OnePrimitivePerShape) {
  GemmLibrary library;
  for (int round = 0; round < 2; ++round)
    for (int form = 0; form < 8; ++form) {
      Problem p(shape(96, 80, 256, form & 1, (form & 2) != 0, (form & 4) != 0));
      library.get(p.scalars(1 << 22).data(), TTS_GEMM_NUM_SCALARS,
                  p.bytes(1 << 22), "x");
    }
  EXPECT_EQ(library.primitives().size(), 8u);
}

} // namespace
