// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Broadcast, full, mask and swap: nothing moves between lanes.

// CHECK-LABEL: llvm.func @tts_broadcasts(
// CHECK-SAME:    rt.range = 15
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_broadcasts(
// PTX:         mul.rn.f32
// PTX:         add.rn.f32
func.func private @broadcasts(%c: tensor<70xf32>, %b: tensor<3x5xf32>, %x: tensor<3x5x70xf32>) -> tensor<3x5x70xf32> attributes {rt.kernel} {
  %0 = tts.broadcast %c dims [2] : tensor<70xf32> to tensor<3x5x70xf32>
  %1 = tts.broadcast %b dims [0, 1] : tensor<3x5xf32> to tensor<3x5x70xf32>
  %2 = tts.mul %0, %1 : tensor<3x5x70xf32>
  %3 = tts.add %2, %x : tensor<3x5x70xf32>
  return %3 : tensor<3x5x70xf32>
}

// CHECK-LABEL: llvm.func @tts_mask(
// PTX-LABEL: .entry tts_mask(
func.func private @mask(%x: tensor<4x5x70xf32>, %n: tensor<4xi32>) -> tensor<4x5x70xf32> attributes {rt.kernel} {
  %y = tts.mask %x, %n : tensor<4x5x70xf32>, tensor<4xi32>
  return %y : tensor<4x5x70xf32>
}

// CHECK-LABEL: llvm.func @tts_swap(
// PTX-LABEL: .entry tts_swap(
func.func private @swap(%x: tensor<2x5x3x70xf32>) -> tensor<2x3x5x70xf32> attributes {rt.kernel} {
  %y = tts.swap_middle %x : tensor<2x5x3x70xf32> to tensor<2x3x5x70xf32>
  return %y : tensor<2x3x5x70xf32>
}

// CHECK-LABEL: llvm.func @tts_full(
// PTX-LABEL: .entry tts_full(
func.func private @full() -> tensor<7x5xf32> attributes {rt.kernel} {
  %y = tts.full 2.5 : tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}

// Parts: a chunk of lanes stands elsewhere in the whole tensor, nothing moves between lanes.
// CHECK-LABEL: llvm.func @tts_concat(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_concat(
func.func private @concat(%a: tensor<3x5x70xf32>, %b: tensor<3x5x7xf32>) -> tensor<3x5x77xf32> attributes {rt.kernel} {
  %y = tts.concat %a, %b : tensor<3x5x70xf32>, tensor<3x5x7xf32> to tensor<3x5x77xf32>
  return %y : tensor<3x5x77xf32>
}

// CHECK-LABEL: llvm.func @tts_split(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_split(
func.func private @split(%x: tensor<3x77xf32>) -> (tensor<3x70xf32>, tensor<3x7xf32>) attributes {rt.kernel} {
  %a, %b = tts.split %x : tensor<3x77xf32> to tensor<3x70xf32>, tensor<3x7xf32>
  return %a, %b : tensor<3x70xf32>, tensor<3x7xf32>
}
