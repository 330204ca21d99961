// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Length regulator: a warp walks the phones of an utterance; all lanes take the same turns, no lane needs another.

// CHECK-LABEL: llvm.func @tts_regulate(
// CHECK-SAME:    rt.range = 4
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_regulate(
// PTX:         st.global.b32
func.func private @regulate(%x: tensor<4x3x70xf32>, %d: tensor<4x3xi32>) -> tensor<4x9x70xf32> attributes {rt.kernel} {
  %y = tts.length_regulate %x, %d : tensor<4x3x70xf32>, tensor<4x3xi32> to tensor<4x9x70xf32>
  return %y : tensor<4x9x70xf32>
}

// CHECK-LABEL: llvm.func @tts_regulate_grad(
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.fadd
// PTX-LABEL: .entry tts_regulate_grad(
// PTX:         add.rn.f32
func.func private @regulate_grad(%dy: tensor<4x9x70xf32>, %d: tensor<4x3xi32>) -> tensor<4x3x70xf32> attributes {rt.kernel} {
  %dx = tts.length_regulate_grad %dy, %d : tensor<4x9x70xf32>, tensor<4x3xi32> to tensor<4x3x70xf32>
  return %dx : tensor<4x3x70xf32>
}
