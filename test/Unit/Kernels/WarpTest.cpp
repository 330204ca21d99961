//===- WarpTest.cpp - warps do what one thread does with vectors ----------===//

#include "Compiled.h"
#include <algorithm>

using namespace tts::test;

namespace {

/// Lanes read what others wrote, as lanes and as scalars, before and after they
/// write: only the order of the kernel gives these numbers.
TEST(Warp, MemoryInTheOrderOfTheKernel) {
  Compiled compiled(R"(
    func.func @k(%x: memref<70xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %c36 = arith.constant 36 : index
      scf.for %i = %lo to %hi step %c1 {
        %a = vector.load %x[%c0] : memref<70xf32>, vector<32xf32>
        vector.store %a, %x[%c3] : memref<70xf32>, vector<32xf32>
        %b = vector.load %x[%c0] : memref<70xf32>, vector<32xf32>
        vector.store %b, %x[%c36] : memref<70xf32>, vector<32xf32>
        %s = memref.load %x[%c36] : memref<70xf32>
        memref.store %s, %x[%c1] : memref<70xf32>
        scf.for %j = %c0 to %c5 step %c1 {
          %c = vector.load %x[%j] : memref<70xf32>, vector<32xf32>
          %t = memref.load %x[%c1] : memref<70xf32>
          %u = vector.broadcast %t : f32 to vector<32xf32>
          %d = arith.addf %c, %u : vector<32xf32>
          vector.store %d, %x[%c5] : memref<70xf32>, vector<32xf32>
        }
        %e = memref.load %x[%c5] : memref<70xf32>
        memref.store %e, %x[%c0] : memref<70xf32>
      }
      return
    })");
  std::vector<float> x(70), expected;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i + 1);
  expected = x;
  std::vector<float> &y = expected;
  auto lanes = [&](size_t from, size_t to, float add) {
    std::vector<float> loaded(y.begin() + from, y.begin() + from + 32);
    for (size_t i = 0; i < 32; ++i)
      y[to + i] = loaded[i] + add;
  };
  lanes(0, 3, 0);
  lanes(0, 36, 0);
  y[1] = y[36];
  for (size_t j = 0; j < 5; ++j)
    lanes(j, 5, y[1]);
  y[0] = y[5];
  Kernel kernel = compiled["k"];
  run(kernel, {x});
  expectSame(x, expected);
}

/// Constants of every form: steps, runs, masks and anything at all.
TEST(Warp, Constants) {
  Compiled compiled(R"(
    func.func @k(%x: memref<32xi64>, %y: memref<32xf32>, %z: memref<32xi32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %steps = arith.constant dense<[-7, -4, -1, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56, 59, 62, 65, 68, 71, 74, 77, 80, 83, 86]> : vector<32xi64>
      %any = arith.constant dense<[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0, 9.0, 7.0, 9.0, 3.0, 2.0, 3.0, 8.0, 4.0, 6.0, 2.0, 6.0, 4.0, 3.0, 3.0, 8.0, 3.0, 2.0, 7.0, 9.0, 5.0]> : vector<32xf32>
      %mask = vector.constant_mask [5] : vector<32xi1>
      %ones = arith.constant dense<1> : vector<32xi32>
      scf.for %i = %lo to %hi step %c1 {
        vector.store %steps, %x[%c0] : memref<32xi64>, vector<32xi64>
        vector.store %any, %y[%c0] : memref<32xf32>, vector<32xf32>
        vector.maskedstore %z[%c0], %mask, %ones : memref<32xi32>, vector<32xi1>, vector<32xi32>
      }
      return
    })");
  std::vector<int64_t> x(32);
  std::vector<float> y(32);
  std::vector<int32_t> z(32);
  Kernel kernel = compiled["k"];
  run(kernel, {x, y, z});
  EXPECT_EQ(x[31], 86);
  EXPECT_EQ(y[30], 9);
  EXPECT_EQ(std::count(z.begin(), z.end(), 1), 5);
}

} // namespace
