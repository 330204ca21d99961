// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// A convolution per channel: a warp a time step, the taps in a loop; its filter's gradient a warp a chunk of channels.

// CHECK-LABEL: llvm.func @tts_depthwise(
// CHECK-SAME:    rt.range = 15
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_depthwise(
// PTX-NOT:     fma
// PTX:         mul.rn.f32
// PTX:         add.rn.f32
func.func private @depthwise(%x: tensor<3x5x70xf32>, %w: tensor<7x70xf32>) -> tensor<3x5x70xf32> attributes {rt.kernel} {
  %y = tts.depthwise_conv1d %x, %w {left = 3 : i64} : tensor<3x5x70xf32>, tensor<7x70xf32>
  return %y : tensor<3x5x70xf32>
}

// CHECK-LABEL: llvm.func @tts_filter_grad(
// CHECK-SAME:    rt.range = 3
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_filter_grad(
func.func private @filter_grad(%x: tensor<3x5x70xf32>, %dy: tensor<3x5x70xf32>, %a: tensor<7x70xf32>) -> (tensor<7x70xf32> {rt.tied = 2 : i64}) attributes {rt.kernel} {
  %dw = tts.depthwise_conv1d_filter_grad %x, %dy into %a : tensor<7x70xf32> {left = 3 : i64} : tensor<3x5x70xf32> to tensor<7x70xf32>
  return %dw : tensor<7x70xf32>
}

// CHECK-LABEL: llvm.func @tts_time_norm(
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// PTX-LABEL: .entry tts_time_norm(
// PTX:         sqrt.rn.f32
func.func private @time_norm(%x: tensor<3x5x70xf32>) -> tensor<3x70xf32> attributes {rt.kernel} {
  %n = tts.time_norm %x : tensor<3x5x70xf32> to tensor<3x70xf32>
  return %n : tensor<3x70xf32>
}

// CHECK-LABEL: llvm.func @tts_time_norm_grad(
// PTX-LABEL: .entry tts_time_norm_grad(
// PTX:         div.rn.f32
func.func private @time_norm_grad(%x: tensor<3x5x70xf32>, %n: tensor<3x70xf32>, %dn: tensor<3x70xf32>) -> tensor<3x5x70xf32> attributes {rt.kernel} {
  %dx = tts.time_norm_grad %x, %n, %dn : tensor<3x5x70xf32>, tensor<3x70xf32>
  return %dx : tensor<3x5x70xf32>
}

// Rows of zeros between utterances, and without them again.
// CHECK-LABEL: llvm.func @tts_pad(
// CHECK-SAME:    rt.range = 21
// PTX-LABEL: .entry tts_pad(
func.func private @pad(%x: tensor<3x5x70xf32>) -> tensor<3x7x70xf32> attributes {rt.kernel} {
  %y = tts.pad_time %x {left = 1 : i64} : tensor<3x5x70xf32> to tensor<3x7x70xf32>
  return %y : tensor<3x7x70xf32>
}

// CHECK-LABEL: llvm.func @tts_unpad(
// PTX-LABEL: .entry tts_unpad(
func.func private @unpad(%x: tensor<19x70xf32>) -> tensor<3x5x70xf32> attributes {rt.kernel} {
  %y = tts.unpad_time %x {period = 7 : i64} : tensor<19x70xf32> to tensor<3x5x70xf32>
  return %y : tensor<3x5x70xf32>
}
