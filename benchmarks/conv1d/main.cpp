//===- main.cpp - convolution over time: oneDNN's own against products ---===//
//
// For each shape both ways of the runtime, in turn, the least of several
// processor times on one thread. Prints rows of `conv1d` of a hardware
// description (docs/planning.md).
//
// Usage: conv1d [batch,time,in,out,taps…]
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Conv1d.h"
#include "Runtime/Device/Cpu/Gemm.h"
#include "tts-runtime/Format.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <omp.h>
#include <random>

using namespace tts::rt;

namespace {

struct Arrays {
  std::vector<float> x, w, y;
  std::vector<char> scratch;
};

double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// The products that Select makes of a convolution, as calls.
std::vector<std::function<void()>> products(const Conv1dShape &s,
                                            GemmLibrary &library, Arrays &a) {
  std::vector<std::function<void()>> calls;
  for (int64_t n = 0; n < s.taps; ++n) {
    int64_t tap = n == 0 ? s.left : n <= s.left ? n - 1 : n; // left first
    int64_t shift = s.transpose ? s.left - tap : tap - s.left;
    int64_t rows = s.time - std::abs(shift);
    if (rows < 1)
      continue;
    bool whole = shift == 0;
    int64_t first = std::max<int64_t>(0, -shift);
    std::vector<int64_t> v(TTS_GEMM_NUM_SCALARS, 0);
    v[TTS_GEMM_M] = whole ? s.batch * s.time : rows;
    v[TTS_GEMM_N] = v[TTS_GEMM_LDC] = s.out;
    v[TTS_GEMM_K] = v[TTS_GEMM_LDA] = s.in;
    v[TTS_GEMM_LDB] = s.transpose ? s.in : s.out;
    v[TTS_GEMM_TRANSPOSE_B] = s.transpose;
    v[TTS_GEMM_BETA] = !whole;
    v[TTS_GEMM_BATCH] = whole ? 1 : s.batch;
    v[TTS_GEMM_STRIDE_A] = whole ? 0 : s.time * s.in;
    v[TTS_GEMM_STRIDE_C] = whole ? 0 : s.time * s.out;
    v[TTS_GEMM_SCRATCH] = int64_t(a.scratch.size());
    float *x = a.x.data() + (first + shift) * s.in;
    float *w = a.w.data() + tap * s.in * s.out;
    float *y = a.y.data() + first * s.out;
    const Gemm &gemm = library.get(
        v.data(), v.size(),
        {a.x.size() * 4, a.w.size() * 4, a.y.size() * 4, a.scratch.size()},
        "benchmark");
    void *room = a.scratch.data();
    calls.push_back([=, &gemm, &library] {
      void *operands[] = {x, w, y, room};
      gemm.run(library.stream(), operands);
    });
  }
  return calls;
}

double timeOnce(const std::vector<std::function<void()>> &calls) {
  double start = processorSeconds();
  for (const auto &call : calls)
    call();
  return processorSeconds() - start;
}

/// The largest difference of the two results, relative to the largest value.
double difference(const std::vector<float> &a, const std::vector<float> &b) {
  double most = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double(a[i]) - double(b[i])));
    scale = std::max(scale, std::abs(double(b[i])));
  }
  return most / scale;
}

void measure(Conv1dShape s, GemmLibrary &matmuls, Conv1dLibrary &convolutions) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Arrays a;
  a.x.resize(s.batch * s.time * s.in);
  a.w.resize(s.taps * s.in * s.out);
  a.y.resize(s.batch * s.time * s.out);
  for (auto *array : {&a.x, &a.w})
    for (float &value : *array)
      value = normal(random);
  a.scratch.resize((64 << 20) + a.w.size() * 8);

  int64_t v[TTS_CONV1D_NUM_SCALARS] = {
      TTS_F32, s.batch,     s.time,
      s.in,    s.out,       s.taps,
      s.left,  s.transpose, int64_t(a.scratch.size())};
  const LibraryCall *conv = nullptr;
  try {
    conv = &convolutions.get(
        v, TTS_CONV1D_NUM_SCALARS,
        {a.x.size() * 4, a.w.size() * 4, a.y.size() * 4, a.scratch.size()},
        "benchmark");
  } catch (const Error &) {
    return; // no such convolution: products it is
  }
  void *operands[] = {a.x.data(), a.w.data(), a.y.data(), a.scratch.data()};
  std::vector<std::function<void()>> library = {
      [&] { conv->run(matmuls.stream(), operands); }};
  auto taps = products(s, matmuls, a);

  double best[2] = {1e9, 1e9};
  std::vector<float> first;
  for (int round = 0; round < 7; ++round) {
    best[0] = std::min(best[0], timeOnce(taps));
    if (round == 0)
      first = a.y;
    best[1] = std::min(best[1], timeOnce(library));
  }
  double flops = 2.0 * s.batch * s.time * s.in * s.out * s.taps;
  std::fprintf(stderr,
               "%-14s %5ld rows %5ld -> %5ld, %2ld taps: products %6.1f, "
               "library %6.1f GF/s; they differ by %.1e\n",
               s.transpose ? "input_gradient" : "forward",
               long(s.batch * s.time), long(s.in), long(s.out), long(s.taps),
               flops / best[0] / 1e9, flops / best[1] / 1e9,
               difference(a.y, first));
  std::printf("{\"direction\": \"%s\", \"rows\": %ld, \"in\": %ld, "
              "\"out\": %ld, \"taps\": %ld, \"products_ns\": %.0f, "
              "\"library_ns\": %.0f}\n",
              s.transpose ? "input_gradient" : "forward",
              long(s.batch * s.time), long(s.in), long(s.out), long(s.taps),
              best[0] * 1e9, best[1] * 1e9);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  omp_set_num_threads(1);
  GemmLibrary matmuls;
  Conv1dLibrary convolutions(matmuls.engine());
  std::vector<Conv1dShape> shapes;
  auto add = [&](long batch, long time, long in, long out, long taps) {
    for (bool transpose : {false, true}) {
      Conv1dShape s;
      s.batch = batch, s.time = time, s.taps = taps;
      s.in = transpose ? out : in, s.out = transpose ? in : out;
      s.left = (taps - 1) / 2, s.transpose = transpose;
      shapes.push_back(s);
    }
  };
  for (int i = 1; i < argc; ++i) {
    long n[5];
    if (std::sscanf(argv[i], "%ld,%ld,%ld,%ld,%ld", n, n + 1, n + 2, n + 3,
                    n + 4) != 5) {
      std::fprintf(stderr,
                   "error: %s: no shape; write batch,time,in,out,taps\n",
                   argv[i]);
      return 2;
    }
    add(n[0], n[1], n[2], n[3], n[4]);
  }
  if (shapes.empty())
    for (auto [in, out] : {std::pair(96, 384), {256, 1024}, {512, 2048}})
      for (long time : {80, 160, 320, 640, 4608})
        for (auto [to, taps] :
             {std::pair(out, 9), {out, 3}, {in, 9}, {in, 3}, {out, 1}})
          if (time < 4608 || in == 256)
            add(time > 640 ? 8 : 1, time > 640 ? 576 : time, in, to, taps);
  for (const Conv1dShape &shape : shapes)
    measure(shape, matmuls, convolutions);
  return 0;
}
