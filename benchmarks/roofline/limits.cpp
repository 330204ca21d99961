//===- limits.cpp - what this machine allows: oneDNN alone, a copy ------===//
//
// Reads "threads T" and "copy BYTES", then "gemm M N K BATCH ACCUMULATE SUM TA
// TB TAPS" lines and "round"s from stdin; a round measures every shape once and
// a copy, and answers with one line: seconds of each shape, in order, in the
// best layout and as it is stored (A or B transposed), and the copy's bytes per
// second. Each shape is computed in every layout that oneDNN may like best
// (plain, blocked weights, all free; a batch as one call or one call each) and
// the fastest counts: operands stay where they are, so this is the steady
// state.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dnnl.hpp>
#include <iostream>
#include <omp.h>
#include <sstream>
#include <string>
#include <vector>

using namespace dnnl;
using Dims = memory::dims;

namespace {

constexpr double blockSeconds = 2e-3; ///< one measurement
constexpr int blocks = 3;

int threads = 1;
size_t copyBytes = size_t(1) << 30;

/// One thread is measured by its own clock, which a busy machine does not
/// distort; several by the wall's.
double now() {
  timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Shape {
  long m, n, k, batch;
  bool accumulate;
  bool sum;                    ///< the elements of the batch add up in one C
  bool transposeA, transposeB; ///< as a step has them
  long taps; ///< of a convolution: so many products over the same A add up
};

enum class Layout { Stored, Plain, BlockedWeights, Free };

/// One way to compute a shape.
class Variant {
public:
  Variant(const Shape &shape, Layout layout, bool batched,
          const engine &engine) {
    long batch = batched ? shape.batch : 1;
    repeats = shape.batch / batch;
    sum = shape.sum;
    sameA = shape.taps > 1;
    stored = layout == Layout::Stored;
    bool isStored = layout == Layout::Stored;
    auto describe = [&](long rows, long columns, bool isFree,
                        bool isTransposed = false) {
      Dims dims = {rows, columns};
      auto tag = isTransposed ? memory::format_tag::ba : memory::format_tag::ab;
      if (batched) {
        dims.insert(dims.begin(), batch);
        tag = isTransposed ? memory::format_tag::acb : memory::format_tag::abc;
      }
      return memory::desc(dims, memory::data_type::f32,
                          isFree ? memory::format_tag::any : tag);
    };
    bool isFree = layout == Layout::Free;
    auto a = describe(shape.m, shape.k, isFree, isStored && shape.transposeA);
    bool isBlocked = isFree || layout == Layout::BlockedWeights;
    auto b =
        describe(shape.k, shape.n, isBlocked, isStored && shape.transposeB);
    auto c = describe(shape.m, shape.n, isFree && !shape.accumulate);
    primitive_attr attributes;
    if (shape.accumulate) {
      post_ops sum;
      sum.append_sum(1);
      attributes.set_post_ops(sum);
    }
    matmul::primitive_desc chosen(matmul::desc(a, b, c), attributes, engine);
    product = matmul(chosen);
    operands = {
        {DNNL_ARG_SRC, memory(chosen.src_desc(), engine, nullptr)},
        {DNNL_ARG_WEIGHTS, memory(chosen.weights_desc(), engine, nullptr)},
        {DNNL_ARG_DST, memory(chosen.dst_desc(), engine, nullptr)}};
  }

  size_t bytes(int argument) const {
    return operands.at(argument).get_desc().get_size();
  }
  long calls() const { return repeats; }
  bool isStored() const { return stored; }

  /// The whole batch: utterances share the weights, products that add up (of
  /// a weight's gradient, of a convolution's taps) share C.
  void run(stream &stream, char *a, char *b, char *c) {
    for (long i = 0; i < repeats; ++i) {
      operands[DNNL_ARG_SRC].set_data_handle(a + i * step(DNNL_ARG_SRC),
                                             stream);
      operands[DNNL_ARG_WEIGHTS].set_data_handle(b + i * step(DNNL_ARG_WEIGHTS),
                                                 stream);
      operands[DNNL_ARG_DST].set_data_handle(c + i * step(DNNL_ARG_DST),
                                             stream);
      product.execute(stream, operands);
    }
    stream.wait();
  }

private:
  size_t step(int argument) const {
    bool stays = (sum && argument == DNNL_ARG_DST) ||
                 (sameA && argument == DNNL_ARG_SRC) ||
                 (!sum && argument == DNNL_ARG_WEIGHTS);
    return stays ? 0 : (bytes(argument) + 63) / 64 * 64;
  }

  matmul product;
  std::unordered_map<int, memory> operands;
  long repeats;
  bool sum, stored, sameA;
};

/// Least seconds of a few blocks of calls.
template <typename Body> double least(Body body) {
  double start = now();
  body();
  double once = std::max(now() - start, 1e-9), best = once;
  int repeats = std::max(1, int(blockSeconds / once));
  for (int block = 0; block < blocks; ++block) {
    start = now();
    for (int i = 0; i < repeats; ++i)
      body();
    best = std::min(best, (now() - start) / repeats);
  }
  return best;
}

char *allocate(size_t bytes) {
  bytes = (bytes + (2 << 20)) / 64 * 64;
  auto *data = static_cast<char *>(std::aligned_alloc(64, bytes));
  if (!data) {
    std::fprintf(stderr,
                 "error: limits: %zu bytes are not to be had; "
                 "measure on a larger machine\n",
                 bytes);
    std::exit(7);
  }
  auto *values = reinterpret_cast<float *>(data);
  for (size_t i = 0; i < bytes / sizeof(float); ++i)
    values[i] = 1e-3f * float(i % 17);
  return data;
}

double copyRate() {
  static char *from = allocate(copyBytes), *to = allocate(copyBytes);
  double start = now();
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int part = 0; part < threads; ++part) {
    size_t lo = copyBytes / threads * part;
    std::memcpy(to + lo, from + lo, copyBytes / threads);
  }
  return 2.0 * copyBytes / (now() - start);
}

class Limits {
public:
  void add(const Shape &shape) {
    shapes.emplace_back();
    if (shape.taps <= 1)
      return addVariants(shape);
    // A convolution: one product with all taps side by side, or one per tap.
    Shape whole = shape, each = shape;
    whole.k *= shape.taps;
    whole.taps = 1;
    each.batch = shape.taps;
    each.accumulate = each.sum = true;
    addVariants(whole);
    addVariants(each);
  }

  void round() {
    if (!a) {
      a = allocate(aBytes);
      b = allocate(bBytes);
      c = allocate(cBytes);
    }
    for (std::vector<Variant> &variants : shapes) {
      double best = 1e30, stored = 1e30;
      for (Variant &variant : variants) {
        double seconds = least([&] { variant.run(line, a, b, c); });
        best = std::min(best, seconds);
        if (variant.isStored())
          stored = std::min(stored, seconds);
      }
      std::printf("%.9g %.9g ", best, stored);
    }
    std::printf("%.9g\n", copyRate());
    std::fflush(stdout);
  }

private:
  void addVariants(const Shape &shape) {
    std::vector<Variant> &variants = shapes.back();
    for (Layout layout :
         {Layout::Stored, Layout::Plain, Layout::BlockedWeights, Layout::Free})
      for (bool batched : {false, true}) {
        if (batched && (shape.batch == 1 || shape.sum))
          continue;
        try {
          variants.emplace_back(shape, layout, batched, cpu);
        } catch (const error &) {
          continue; // this layout does not exist for this shape
        }
        grow(aBytes, variants.back(), DNNL_ARG_SRC);
        grow(bBytes, variants.back(), DNNL_ARG_WEIGHTS);
        grow(cBytes, variants.back(), DNNL_ARG_DST);
      }
  }

  static void grow(size_t &bytes, const Variant &variant, int argument) {
    bytes = std::max(bytes, (variant.bytes(argument) + 64) * variant.calls());
  }

  engine cpu{engine::kind::cpu, 0};
  stream line{cpu};
  std::vector<std::vector<Variant>> shapes;
  size_t aBytes = 0, bBytes = 0, cBytes = 0;
  char *a = nullptr, *b = nullptr, *c = nullptr;
};

} // namespace

int main() {
  Limits limits;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream words(text);
    std::string what;
    Shape shape{};
    words >> what;
    if (what == "threads" && words >> threads)
      omp_set_num_threads(threads);
    else if (what == "copy" && words >> copyBytes)
      continue;
    else if (what == "gemm" && words >> shape.m >> shape.n >> shape.k >>
                                   shape.batch >> shape.accumulate >>
                                   shape.sum >> shape.transposeA >>
                                   shape.transposeB >> shape.taps)
      limits.add(shape);
    else if (what == "round")
      limits.round();
    else {
      std::fprintf(stderr,
                   "error: limits: '%s' is no command; say threads, copy, "
                   "gemm or round\n",
                   text.c_str());
      return 2;
    }
  }
  return 0;
}
