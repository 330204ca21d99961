// RUN: tts-opt --tts-select --tts-memory %s | FileCheck %s -enable-var-scope

// A stash lives from forward to backward, a pointwise result takes over its
// dying operand, a gradient is its accumulator's own bytes, states come first.

// CHECK: module attributes
// CHECK-SAME: rt.arena_bytes = 1344
// CHECK-SAME: #rt.buffer<name = "w", {{[^>]*}} klass = 0, program = -1, last_program = -1, {{[^>]*}} offset = 0, size = 256>
// CHECK-SAME: #rt.buffer<name = "y", {{[^>]*}} klass = 5, program = 0, last_program = 1, first_entry = 1, last_entry = 1,
// CHECK-SAME: rt.persistent_bytes = 832

// CHECK: rt.program @forward_b0 attributes {bucket = 0 : i64, kind = 2 : i64}
// CHECK: rt.entry "rt.gemm"
// CHECK: rt.entry "tanh_
// CHECK: rt.program @backward_b0 attributes {bucket = 0 : i64, kind = 3 : i64}
// CHECK: rt.entry "rt.gemm"
module {
  func.func @forward_b0(%w: tensor<8x8xf32> {tts.param = "w"}, %x: tensor<8x8xf32> {tts.input = "x"})
      -> (tensor<8x8xf32> {tts.stash = "y"}, tensor<f32> {tts.loss = "l"})
      attributes {tts.program = "forward", tts.bucket_index = 0 : i64} {
    %0 = tts.linear %x, %w : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
    %1 = tts.tanh %0 : tensor<8x8xf32>
    %2 = tts.sum_to %1 dims [] : tensor<8x8xf32> to tensor<f32>
    return %1, %2 : tensor<8x8xf32>, tensor<f32>
  }
  func.func @backward_b0(%y: tensor<8x8xf32> {tts.stash = "y"}, %x: tensor<8x8xf32> {tts.input = "x"},
                         %g: tensor<8x8xf32> {tts.gradient = "w"})
      -> (tensor<8x8xf32> {tts.gradient = "w"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %0 = tts.mul %y, %y : tensor<8x8xf32>
    %1 = tts.weight_grad %x, %0 into %g : tensor<8x8xf32> : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
