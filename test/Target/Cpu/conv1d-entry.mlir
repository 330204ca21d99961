// RUN: tts-opt --tts-memory %s | FileCheck %s

// The library's call reads x and w whole, writes y whole, and has its scratch
// as last operand: {f32, batch, time, in, out, taps, left, transpose, f32,
// beta, bias, scratch}.
// CHECK: rt.program @eval
// CHECK: rt.entry "rt.conv1d"
// CHECK-SAME: size = 160, mode = 1
// CHECK-SAME: size = 240, mode = 1
// CHECK-SAME: size = 96, mode = 2
// CHECK-SAME: size = 512, mode = 2
// CHECK-SAME: scalars [0, 2, 4, 5, 3, 4, 1, 1, 0, 0, 0, 512] range 0

// A bias comes before the scratch; onto another value y takes its bytes.
// CHECK: rt.entry "rt.conv1d"
// CHECK-SAME: size = 160, mode = 1
// CHECK-SAME: size = 240, mode = 1
// CHECK-SAME: offset = [[X:[0-9]+]], size = 96, mode = 3
// CHECK-SAME: size = 12, mode = 1
// CHECK-SAME: size = 512, mode = 2
// CHECK-SAME: scalars [0, 2, 4, 5, 3, 4, 1, 1, 0, 1, 1, 512] range 0
// CHECK: rt.entry "rt.gemm"
// CHECK-SAME: offset = [[X]], size = 96, mode = 1
// CHECK-SAME: size = 24, mode = 1
// CHECK-SAME: size = 64, mode = 2
// CHECK-SAME: size = 8, mode = 1
// CHECK-SAME: scalars [0, 8, 2, 3, 3, 2, 2, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0] range 0
func.func @eval(%dy: tensor<2x4x5xf32> {tts.input = "dy"}, %w: tensor<4x3x5xf32> {tts.param = "w"},
                %bias: tensor<3xf32> {tts.param = "bias"}, %w2: tensor<3x2xf32> {tts.param = "w2"},
                %bias2: tensor<2xf32> {tts.param = "bias2"})
    -> (tensor<2x4x2xf32> {tts.output = "z"}) attributes {tts.program = "eval", tts.bucket_index = 0 : i64} {
  %dx = rt.conv1d %dy, %w transpose {left = 1 : i64, rt.scratch = 512 : i64} : tensor<2x4x5xf32>, tensor<4x3x5xf32> to tensor<2x4x3xf32>
  %both = rt.conv1d %dy, %w transpose onto %dx bias %bias {left = 1 : i64, rt.scratch = 512 : i64}
      : tensor<2x4x5xf32>, tensor<4x3x5xf32> onto tensor<2x4x3xf32> bias tensor<3xf32> to tensor<2x4x3xf32>
  %empty = rt.empty : tensor<2x4x2xf32>
  %z = rt.gemm %both, %w2 into %empty bias %bias2 <m = 8, n = 2, k = 3, lda = 3, ldb = 2, ldc = 2, transposeA = false,
      transposeB = false, beta = 0, batch = 1, strideA = 0, strideB = 0, strideC = 0>
      : tensor<2x4x3xf32>, tensor<3x2xf32>, tensor<2x4x2xf32>, tensor<2xf32>
  return %z : tensor<2x4x2xf32>
}
