// A linear layer and its cross entropy by chunks of steps: no tensor has all steps times classes.
// RUN: tts-opt --tts-select --split-input-file %s | FileCheck %s -enable-var-scope

// 300 steps of 10,000 logits: 32 at a time, the last chunk has 12.
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: {{(3x100|300)x10000}}
// CHECK: %[[ROWS:.*]] = rt.launch @target_rows_3x100xi32
// CHECK: %[[TARGETS:.*]] = rt.alias %[[ROWS]] : tensor<3x100xi32> to tensor<300xi32>
// CHECK: %[[L0:.*]] = rt.gemm %{{.*}}, %{{.*}} into %{{.*}} <m = 32, n = 10000, k = 8, {{.*}} beta = 0
// CHECK: %[[SUMS:.*]]:2 = rt.launch @row_cross_entropy_300xf32(%[[L0]], %[[TARGETS]], %{{.*}}, %{{.*}}) {{.*}}tied = array<i64: 2, 3>
// CHECK: %[[L1:.*]] = rt.gemm {{.*}} <m = 32, n = 10000, k = 8, {{.*}} {offset_a = 256 : i64}
// CHECK: rt.launch @row_cross_entropy_300xf32_1(%[[L1]], %[[TARGETS]], %[[SUMS]]#0, %[[SUMS]]#1)
// CHECK: rt.gemm {{.*}} <m = 12, n = 10000, k = 8, {{.*}} {offset_a = 2304 : i64}
// CHECK-NOT: rt.gemm
// CHECK: rt.launch @sum_to_3xf32
// CHECK: rt.launch @sum_to_f32
// CHECK: return
func.func @forward(%x: tensor<3x100x8xf32> {tts.input = "x"}, %w: tensor<8x10000xf32> {tts.param = "w"}, %t: tensor<3x100xi32> {tts.input = "t"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<3x100xf32> {tts.stash = "lse"}) attributes {tts.program = "forward"} {
  %sum, %lse = tts.linear_cross_entropy %x, %w, %t, %n : tensor<3x100x8xf32>, tensor<8x10000xf32>, tensor<3x100xi32>, tensor<3xi32> to tensor<f32>, tensor<3x100xf32>
  return %sum, %lse : tensor<f32>, tensor<3x100xf32>
}

// -----

// Backward makes a chunk's logits again, their gradient in their place, and adds into dw there; all chunks but the
// last, shorter one share one kernel.
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[ACC:[^:]*]]: tensor<8x10000xf32> {tts.gradient = "w"}
// CHECK-NOT: {{(3x100|300)x10000}}
// CHECK: %[[L0:.*]] = rt.gemm {{.*}} <m = 32, n = 10000, k = 8
// CHECK: %[[D0:.*]] = rt.launch @row_cross_entropy_grad_32x10000xf32(%[[L0]], {{.*}}tied = array<i64: 0>
// CHECK: %[[DX:.*]] = rt.gemm %[[D0]], %{{.*}} into %{{.*}} <m = 32, n = 8, k = 10000, {{.*}} transposeB = true, beta = 0
// CHECK: %[[DW:.*]] = rt.gemm %{{.*}}, %[[D0]] into %[[ACC]] <m = 8, n = 10000, k = 32, {{.*}} transposeA = true, transposeB = false, beta = 1
// CHECK: %[[L1:.*]] = rt.gemm {{.*}} {offset_a = 256 : i64}
// CHECK: %[[T1:.*]] = rt.slice %{{.*}}[32] : tensor<300xi32> to tensor<32xi32>
// CHECK: %[[LSE1:.*]] = rt.slice %{{.*}}[32] : tensor<300xf32> to tensor<32xf32>
// CHECK: %[[D1:.*]] = rt.launch @row_cross_entropy_grad_32x10000xf32(%[[L1]], %[[T1]], %[[LSE1]]
// CHECK: rt.gemm %[[D1]], %{{.*}} into %[[DX]] <{{.*}}> {offset_c = 256 : i64}
// CHECK: rt.gemm %{{.*}}, %[[D1]] into %[[DW]] <{{.*}} beta = 1, {{.*}} {offset_a = 256 : i64}
// CHECK: rt.launch @row_cross_entropy_grad_12x10000xf32
// CHECK: return
func.func @backward(%x: tensor<3x100x8xf32> {tts.input = "x"}, %w: tensor<8x10000xf32> {tts.param = "w"}, %t: tensor<3x100xi32> {tts.input = "t"}, %n: tensor<3xi32> {tts.input = "n"}, %lse: tensor<3x100xf32> {tts.stash = "lse"}, %d: tensor<f32> {tts.scalar = "loss_weight.l"}, %acc: tensor<8x10000xf32> {tts.gradient = "w"})
    -> (tensor<8x10000xf32> {tts.gradient = "w"}, tensor<3x100x8xf32> {tts.output = "dx"}) attributes {tts.program = "backward"} {
  %dw, %dx = tts.linear_cross_entropy_grad %x, %w, %t, %n, %lse, %d into %acc : tensor<8x10000xf32> : tensor<3x100x8xf32>, tensor<8x10000xf32>, tensor<3x100xi32>, tensor<3xi32>, tensor<3x100xf32>, tensor<f32> to tensor<8x10000xf32>
  return %dw, %dx : tensor<8x10000xf32>, tensor<3x100x8xf32>
}
