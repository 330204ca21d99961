// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-polynomials
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Draws: eight counters give the words of 32 channels, which shuffles bring to their lanes; the rest stays in a lane.

// CHECK-LABEL: llvm.func @tts_noise(
// CHECK-COUNT-6: nvvm.shfl.sync idx
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_noise(
// PTX-COUNT-6: shfl.sync.idx.b32
// PTX:         sqrt.rn.f32
func.func private @noise(%u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x5x96xf32> attributes {rt.kernel} {
  %y = tts.normal %u, %d {stream = "a"} : tensor<3xi64>, tensor<2xi64> to tensor<3x5x96xf32>
  return %y : tensor<3x5x96xf32>
}

// CHECK-LABEL: llvm.func @tts_time(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_time(
func.func private @time(%u: tensor<40xi64>, %d: tensor<2xi64>) -> tensor<40xf32> attributes {rt.kernel} {
  %y = tts.uniform %u, %d {stream = "a"} : tensor<40xi64>, tensor<2xi64> to tensor<40xf32>
  return %y : tensor<40xf32>
}

// CHECK-LABEL: llvm.func @tts_span(
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.icmp "ult"
// PTX-LABEL: .entry tts_span(
func.func private @span(%n: tensor<3xi32>, %u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x70xf32> attributes {rt.kernel} {
  %y = tts.span_mask %n, %u, %d {low = 0.7 : f64, high = 1.0 : f64, stream = "a"} : tensor<3xi32>, tensor<3xi64>, tensor<2xi64> to tensor<3x70xf32>
  return %y : tensor<3x70xf32>
}

// CHECK-LABEL: llvm.func @tts_coin(
// PTX-LABEL: .entry tts_coin(
func.func private @coin(%d: tensor<2xi64>) -> tensor<f32> attributes {rt.kernel} {
  %y = tts.coin %d {rate = 0.2 : f64, stream = "a"} : tensor<2xi64> to tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: llvm.func @tts_mish(
// CHECK:         llvm.call_intrinsic "llvm.fma"
// PTX-LABEL: .entry tts_mish(
// PTX:         div.rn.f32
func.func private @mish(%x: tensor<5x7xf32>, %dy: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {rt.kernel} {
  %y = tts.mish %x : tensor<5x7xf32>
  %0 = tts.mish_grad %y, %dy : tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
