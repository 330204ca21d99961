//===- Conv1dTest.cpp - rt.conv1d against its definition ------------------===//
//
// Small integer values make the sums exact, so results are compared bit by
// bit. A machine without oneDNN's batch-reduce convolution has nothing here.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Conv1d.h"
#include "Runtime/Device/Cpu/Gemm.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include "Runtime/Memory/Allocations.h"
#include "tts-runtime/Format.h"
#include <gtest/gtest.h>
#include <omp.h>
#include <random>

using namespace tts::rt;

namespace {

Conv1dShape shape(int64_t batch, int64_t time, int64_t in, int64_t out,
                  int64_t taps, int64_t left, bool transpose) {
  Conv1dShape s;
  s.batch = batch, s.time = time, s.in = in, s.out = out;
  s.taps = taps, s.left = left, s.transpose = transpose;
  return s;
}

struct Problem {
  Conv1dShape s;
  std::vector<float> x, w, bias, old;

  explicit Problem(const Conv1dShape &shape) : s(shape) {
    x.resize(size_t(s.batch * s.time * s.in));
    w.resize(size_t(s.taps * s.in * s.out));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(int(i * 3 % 7) - 3);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = float(int(i * 5 % 11) - 5);
  }

  std::vector<float> defined() const {
    std::vector<float> y(size_t(s.batch * s.time * s.out));
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t t = 0; t < s.time; ++t)
        for (int64_t j = 0; j < s.taps; ++j) {
          int64_t from = s.transpose ? t - j + s.left : t + j - s.left;
          if (from < 0 || from >= s.time)
            continue;
          for (int64_t i = 0; i < s.in; ++i)
            for (int64_t o = 0; o < s.out; ++o)
              y[size_t((b * s.time + t) * s.out + o)] +=
                  x[size_t((b * s.time + from) * s.in + i)] *
                  w[size_t(s.transpose ? (j * s.out + o) * s.in + i
                                       : (j * s.in + i) * s.out + o)];
        }
    return y;
  }

  std::vector<int64_t> scalars(int64_t scratch) const {
    return {s.dtype, s.batch,     s.time,   s.in,         s.out,  s.taps,
            s.left,  s.transpose, s.dtypeY, s.accumulate, s.bias, scratch};
  }

  /// `values` in memory as `dtype`.
  static std::vector<char> stored(const std::vector<float> &values,
                                  TtsDType dtype) {
    std::vector<char> bytes(values.size() * size_t(elementBytes(dtype)));
    convertFloats(dtype, bytes.data(), TTS_F32, values.data(),
                  int64_t(values.size()));
    return bytes;
  }

  /// As f32, whatever the types in memory.
  std::vector<float> run() const {
    int64_t scratch = conv1dScratchBytes(s, omp_get_max_threads());
    EXPECT_GT(scratch, 0);
    std::vector<char> room(size_t(scratch), char(0xff));
    std::vector<float> y = old;
    y.resize(size_t(s.batch * s.time * s.out), -1.0f);
    std::vector<char> inX = stored(x, s.dtype), inW = stored(w, s.dtype),
                      outY = stored(y, s.dtypeY);
    GemmLibrary engine;
    Conv1dLibrary library(engine.engine());
    std::vector<uint64_t> bytes = {inX.size(), inW.size(), outY.size()};
    std::vector<void *> operands = {inX.data(), inW.data(), outY.data()};
    if (s.bias) {
      bytes.push_back(bias.size() * 4);
      operands.push_back(const_cast<float *>(bias.data()));
    }
    bytes.push_back(uint64_t(scratch));
    operands.push_back(room.data());
    const Conv1d &conv = library.get(scalars(scratch).data(),
                                     TTS_CONV1D_NUM_SCALARS, bytes, "test");
    countLargeAllocations();
    conv.run(engine.stream(), operands.data());
    EXPECT_EQ(largeAllocationsAfterStart(), 0u);
    convertFloats(TTS_F32, y.data(), s.dtypeY, outY.data(), int64_t(y.size()));
    return y;
  }
};

Conv1dShape inBf16(Conv1dShape s) {
  s.dtype = s.dtypeY = TTS_BF16;
  return s;
}

class Conv1d : public testing::Test {
protected:
  void SetUp() override {
    omp_set_num_threads(2);
    if (!__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(conv1dScratchBytes(shape(1, 8, 16, 16, 3, 1, false), 1), -1);
      GTEST_SKIP() << "oneDNN has it with AVX-512 only";
    }
  }
};

TEST_F(Conv1d, IsWhatItsDefinitionSays) {
  int64_t sizes[][5] = {{1, 9, 16, 16, 3},  {3, 20, 96, 384, 9},
                        {2, 33, 80, 40, 5}, {1, 4, 32, 64, 9},
                        {2, 17, 7, 13, 3},  {2, 50, 256, 64, 1}};
  for (auto &[batch, time, in, out, taps] : sizes)
    for (int64_t left : {(taps - 1) / 2, taps - 1, int64_t(0)})
      for (bool transpose : {false, true}) {
        Problem p(shape(batch, time, in, out, taps, left, transpose));
        if (conv1dScratchBytes(p.s, 2) < 0)
          continue; // Select makes products of it
        EXPECT_EQ(p.run(), p.defined())
            << in << " to " << out << ", " << taps << " taps, left " << left
            << (transpose ? ", transposed" : "");
      }
}

TEST_F(Conv1d, InBf16TheSumIsRoundedOnce) {
  if (conv1dScratchBytes(inBf16(shape(1, 9, 16, 16, 3, 1, false)), 2) < 0)
    GTEST_SKIP() << "oneDNN has it with AVX512-BF16 only";
  for (auto &[batch, time, in, out, taps] : std::vector<std::array<int64_t, 5>>{
           {3, 20, 96, 384, 9}, {2, 33, 80, 40, 5}, {2, 17, 64, 32, 3}})
    for (bool transpose : {false, true})
      for (TtsDType dtypeY : {TTS_BF16, TTS_F32}) {
        Problem p(
            inBf16(shape(batch, time, in, out, taps, taps / 2, transpose)));
        p.s.dtypeY = dtypeY;
        if (conv1dScratchBytes(p.s, 2) < 0)
          continue;
        std::vector<float> want = p.defined();
        for (float &value : want)
          value = dtypeY == TTS_BF16 ? fromBf16(toBf16(value)) : value;
        EXPECT_EQ(p.run(), want) << in << " to " << out << ", " << taps
                                 << (transpose ? " taps, transposed" : " taps");
      }
}

TEST_F(Conv1d, ServesTheShapesOfTheModels) {
  for (bool transpose : {false, true})
    for (auto [in, out] : {std::pair(96, 384), {256, 1024}, {512, 2048}})
      EXPECT_GT(conv1dScratchBytes(shape(8, 576, in, out, 9, 4, transpose), 2),
                0);
}

TEST_F(Conv1d, NeitherThreadsNorNeighboursChangeABit) {
  Problem both(shape(3, 41, 96, 128, 9, 4, false));
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (auto *values : {&both.x, &both.w})
    for (float &value : *values)
      value = normal(random);
  std::vector<float> together = both.run();
  omp_set_num_threads(1);
  EXPECT_EQ(both.run(), together);
  for (int64_t b = 0; b < 3; ++b) {
    Problem alone = both;
    alone.s.batch = 1;
    int64_t rows = both.s.time * both.s.in, out = both.s.time * both.s.out;
    alone.x.assign(both.x.begin() + b * rows, both.x.begin() + (b + 1) * rows);
    EXPECT_EQ(alone.run(),
              std::vector<float>(together.begin() + b * out,
                                 together.begin() + (b + 1) * out));
  }
}

TEST_F(Conv1d, AnEpilogueHasTheBitsOfAddingAfterwards) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  int64_t sizes[][5] = {{2, 96, 256, 384, 9},
                        {3, 33, 96, 80, 3},
                        {2, 130, 512, 64, 1},
                        {1, 20, 64, 256, 5}};
  for (int threads : {1, 2})
    for (auto &[batch, time, in, out, taps] : sizes)
      for (bool transpose : {false, true}) {
        omp_set_num_threads(threads);
        Problem p(shape(batch, time, in, out, taps, taps / 2, transpose));
        p.bias.resize(size_t(out));
        p.old.resize(size_t(batch * time * out));
        for (auto *values : {&p.x, &p.w, &p.bias, &p.old})
          for (float &value : *values)
            value = normal(random);
        std::vector<float> sum = p.run();
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += p.bias[i % size_t(out)];
        p.s.bias = true;
        EXPECT_EQ(p.run(), sum) << in << " to " << out;
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += p.old[i];
        p.s.accumulate = true;
        EXPECT_EQ(p.run(), sum) << in << " to " << out;
      }
}

TEST_F(Conv1d, RefusesWhatDoesNotFit) {
  Problem p(shape(1, 9, 16, 16, 3, 1, false));
  GemmLibrary engine;
  Conv1dLibrary library(engine.engine());
  std::vector<uint64_t> bytes = {p.x.size() * 4, p.w.size() * 4, 9 * 16 * 4,
                                 1 << 20};
  auto refused = [&](std::vector<int64_t> scalars,
                     std::vector<uint64_t> sizes) {
    try {
      library.get(scalars.data(), uint32_t(scalars.size()), sizes, "entry 'e'");
    } catch (const Error &error) {
      return error.code == Exit::Refused;
    }
    return false;
  };
  EXPECT_FALSE(refused(p.scalars(1 << 20), bytes));
  for (size_t operand = 0; operand < 3; ++operand) {
    std::vector<uint64_t> less = bytes;
    less[operand] -= 4;
    EXPECT_TRUE(refused(p.scalars(1 << 20), less)) << operand;
  }
  std::vector<uint64_t> noRoom = bytes;
  noRoom[3] = 64;
  EXPECT_TRUE(refused(p.scalars(64), noRoom));
  std::vector<int64_t> biased = p.scalars(1 << 20);
  biased[TTS_CONV1D_BIAS] = 1;
  EXPECT_TRUE(refused(biased, bytes)); // no operand for it
  std::vector<uint64_t> five = {bytes[0], bytes[1], bytes[2], 64, 1 << 20};
  EXPECT_FALSE(refused(biased, five));
  five[3] -= 4;
  EXPECT_TRUE(refused(biased, five));
  std::vector<int64_t> f64 = p.scalars(1 << 20), outside = f64;
  f64[TTS_CONV1D_DTYPE] = TTS_F64;
  EXPECT_TRUE(refused(f64, bytes));
  outside[TTS_CONV1D_LEFT] = 3;
  EXPECT_TRUE(refused(outside, bytes));
}

} // namespace
