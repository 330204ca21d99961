// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-libdevice
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// What has no polynomial of ours is libdevice's, linked in where the toolkit is.

// CHECK-LABEL: llvm.func @tts_waves(
// PTX-LABEL: .entry tts_waves(
// CHECK:         llvm.call @__nv_sinf
// CHECK:         llvm.call @__nv_cosf
func.func private @waves(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel} {
  %0 = tts.sin %x : tensor<64xf32>
  %1 = tts.cos %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// Sines and cosines in f64 of the first 16 lanes, interleaved.
// CHECK-LABEL: llvm.func @tts_positions(
// CHECK:         llvm.call @__nv_pow
// CHECK:         llvm.call @__nv_sin
// CHECK:         llvm.call @__nv_cos
// CHECK-COUNT-4: nvvm.shfl.sync idx
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_positions(
// PTX-COUNT-4: shfl.sync.idx.b32
func.func private @positions() -> tensor<40x96xf32> attributes {rt.kernel} {
  %y = tts.sinusoid : tensor<40x96xf32>
  return %y : tensor<40x96xf32>
}

// CHECK-LABEL: llvm.func @tts_places(
// CHECK:         llvm.call @__nv_sin
// CHECK-COUNT-4: nvvm.shfl.sync idx
// PTX-LABEL: .entry tts_places(
func.func private @places(%x: tensor<4xf32>) -> tensor<4x96xf32> attributes {rt.kernel} {
  %y = tts.sinusoid_at %x {scale = 1000.0 : f64} : tensor<4xf32> to tensor<4x96xf32>
  return %y : tensor<4x96xf32>
}
