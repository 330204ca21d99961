// RUN: tts-opt --tts-memory %s | FileCheck %s

// The library's call reads x and w whole, writes y whole, and has its scratch
// as fourth operand: {f32, batch, time, in, out, taps, left, transpose, scratch}.
// CHECK: rt.program @eval
// CHECK: rt.entry "rt.conv1d"
// CHECK-SAME: size = 160, mode = 1
// CHECK-SAME: size = 240, mode = 1
// CHECK-SAME: size = 96, mode = 2
// CHECK-SAME: size = 512, mode = 2
// CHECK-SAME: scalars [0, 2, 4, 5, 3, 4, 1, 1, 0, 512] range 0
func.func @eval(%dy: tensor<2x4x5xf32> {tts.input = "dy"}, %w: tensor<4x3x5xf32> {tts.param = "w"})
    -> (tensor<2x4x3xf32> {tts.output = "dx"}) attributes {tts.program = "eval", tts.bucket_index = 0 : i64} {
  %dx = rt.conv1d %dy, %w transpose {left = 1 : i64, rt.scratch = 512 : i64} : tensor<2x4x5xf32>, tensor<4x3x5xf32> to tensor<2x4x3xf32>
  return %dx : tensor<2x4x3xf32>
}
