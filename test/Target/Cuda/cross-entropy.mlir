// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-polynomials
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// A warp a row of logits: the largest and the sum are two trees, lane 0 stores what there is once a row.
// CHECK-LABEL: llvm.func @tts_rows(
// CHECK-SAME:    rt.range = 8
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         llvm.call_intrinsic "llvm.fma"
// CHECK-COUNT-5: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_rows(
// PTX:         setp.gt.f32
// PTX:         fma.rn.f32
func.func private @rows(%l: tensor<8x100xf32>, %t: tensor<20xi32>, %a: tensor<20xf32>, %b: tensor<20xf32>) -> (tensor<20xf32> {rt.tied = 2 : i64}, tensor<20xf32> {rt.tied = 3 : i64}) attributes {rt.kernel} {
  %x, %y = tts.row_cross_entropy %l, %t, %a, %b {first_row = 4 : i64} : tensor<8x100xf32>, tensor<20xi32>, tensor<20xf32>
  return %x, %y : tensor<20xf32>, tensor<20xf32>
}

// CHECK-LABEL: llvm.func @tts_rows_grad(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_rows_grad(
// PTX:         fma.rn.f32
func.func private @rows_grad(%l: tensor<8x100xf32>, %t: tensor<8xi32>, %a: tensor<8xf32>, %d: tensor<f32>) -> (tensor<8x100xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %x = tts.row_cross_entropy_grad %l, %t, %a, %d : tensor<8x100xf32>, tensor<8xi32>, tensor<8xf32>, tensor<f32>
  return %x : tensor<8x100xf32>
}

// CHECK-LABEL: llvm.func @tts_targets(
// PTX-LABEL: .entry tts_targets(
func.func private @targets(%t: tensor<4x50xi32>, %n: tensor<4xi32>) -> tensor<4x50xi32> attributes {rt.kernel} {
  %x = tts.target_rows %t, %n {classes = 100 : i64, ignore_index = -100 : i64} : tensor<4x50xi32>, tensor<4xi32>
  return %x : tensor<4x50xi32>
}

// CHECK-LABEL: llvm.func @tts_count(
// CHECK-COUNT-5: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_count(
func.func private @count(%t: tensor<4x50xi32>, %n: tensor<4xi32>) -> tensor<f32> attributes {rt.kernel} {
  %x = tts.count_targets %t, %n {classes = 100 : i64} : tensor<4x50xi32>, tensor<4xi32> to tensor<f32>
  return %x : tensor<f32>
}
