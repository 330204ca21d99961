// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Losses: the sum over valid steps is one task of one warp; the gradient is a map.

// CHECK-LABEL: llvm.func @tts_l1(
// CHECK-SAME:    rt.range = 1
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// PTX-LABEL: .entry tts_l1(
// PTX-COUNT-5: shfl.sync.down.b32
func.func private @l1(%p: tensor<4x5x80xf32>, %t: tensor<4x5x80xf32>, %n: tensor<4xi32>) -> tensor<f32> attributes {rt.kernel} {
  %s = tts.l1_loss %p, %t, %n : tensor<4x5x80xf32>, tensor<4xi32> to tensor<f32>
  return %s : tensor<f32>
}

// A square is added after it was rounded.
// CHECK-LABEL: llvm.func @tts_mse(
// PTX-LABEL: .entry tts_mse(
// PTX:         shfl.sync.down.b32
func.func private @mse(%p: tensor<4x5xf32>, %t: tensor<4x5xf32>, %n: tensor<4xi32>) -> tensor<f32> attributes {rt.kernel} {
  %s = tts.mse_loss %p, %t, %n : tensor<4x5xf32>, tensor<4xi32> to tensor<f32>
  return %s : tensor<f32>
}

// CHECK-LABEL: llvm.func @tts_l1_grad(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_l1_grad(
func.func private @l1_grad(%p: tensor<4x5x80xf32>, %t: tensor<4x5x80xf32>, %n: tensor<4xi32>, %d: tensor<f32>) -> tensor<4x5x80xf32> attributes {rt.kernel} {
  %g = tts.l1_loss_grad %p, %t, %n, %d : tensor<4x5x80xf32>, tensor<4xi32>, tensor<f32>
  return %g : tensor<4x5x80xf32>
}

// CHECK-LABEL: llvm.func @tts_mse_grad(
// PTX-LABEL: .entry tts_mse_grad(
// PTX:         mul.rn.f32
func.func private @mse_grad(%p: tensor<4x5xf32>, %t: tensor<4x5xf32>, %n: tensor<4xi32>, %d: tensor<f32>) -> tensor<4x5xf32> attributes {rt.kernel} {
  %g = tts.mse_loss_grad %p, %t, %n, %d : tensor<4x5xf32>, tensor<4xi32>, tensor<f32>
  return %g : tensor<4x5xf32>
}
