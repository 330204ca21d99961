//===- GemmTest.cpp - generated matrix products ---------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class GeneratedGemm : public ::testing::Test {};
TYPED_TEST_SUITE(GeneratedGemm, FloatTypes);

template <typename T> std::vector<Gemm> cases() {
  std::vector<Gemm> list;
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t beta : {0, 1}) {
        std::string name = "g" + std::to_string(list.size());
        // m 5, n 35, k 37: rows longer than they need be.
        list.push_back({name, nameOf<T>(), 5, 35, 37, ta ? 6 : 40, tb ? 39 : 36,
                        37, ta, tb, beta});
      }
  // A batch of three, each its own C; one that sums into one C; one column.
  list.push_back({"each", nameOf<T>(), 3, 33, 4, 4, 33, 33, false, false, 0, 3,
                  12, 132, 99});
  list.push_back({"sum", nameOf<T>(), 3, 33, 4, 4, 33, 33, false, false, 1, 3,
                  12, 132, 0});
  list.push_back({"column", nameOf<T>(), 7, 1, 33, 33, 1, 1, false, false, 1});
  return list;
}

int64_t extent(int64_t batch, int64_t stride, int64_t rows, int64_t leading,
               int64_t columns) {
  return (batch - 1) * stride + (rows - 1) * leading + columns;
}

TYPED_TEST(GeneratedGemm, DoesWhatTheEntrySays) {
  using T = TypeParam;
  Compiled compiled("", cases<T>());
  for (const Gemm &g : cases<T>()) {
    auto rows = [](bool transposed, int64_t x, int64_t y) {
      return transposed ? y : x;
    };
    std::vector<T> a =
        random<T>(extent(g.batch, g.strideA, rows(g.transposeA, g.m, g.k),
                         g.lda, rows(g.transposeA, g.k, g.m)),
                  1);
    std::vector<T> b =
        random<T>(extent(g.batch, g.strideB, rows(g.transposeB, g.k, g.n),
                         g.ldb, rows(g.transposeB, g.n, g.k)),
                  2);
    std::vector<T> c = random<T>(extent(g.batch, g.strideC, g.m, g.ldc, g.n),
                                 3),
                   expected = c;
    for (int64_t p = 0; p < g.batch; ++p)
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum += double(a[p * g.strideA +
                            (g.transposeA ? k * g.lda + i : i * g.lda + k)]) *
                   double(b[p * g.strideB +
                            (g.transposeB ? j * g.ldb + k : k * g.ldb + j)]);
          T &out = expected[p * g.strideC + i * g.ldc + j];
          out = T((g.beta ? double(out) : 0) + sum);
        }
    run(compiled[g.name], {a, b, c});
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], expected[i], 200 * std::numeric_limits<T>::epsilon())
          << g.name << " at " << i;
  }
}

} // namespace
