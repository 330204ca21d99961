// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// The channels of a pair meet by shuffles: two to part them, of x and of the table, two to join them again.
// CHECK-LABEL: llvm.func @tts_rotate(
// CHECK-COUNT-6: nvvm.shfl
// PTX-LABEL: .entry tts_rotate(
// PTX:         shfl.sync.idx
func.func private @rotate(%x: tensor<2x5x3x32xf32>, %t: tensor<5x32xf32>) -> tensor<2x5x3x32xf32> attributes {rt.kernel} {
  %y = tts.rotary %x, %t {heads = 1} : tensor<2x5x3x32xf32>, tensor<5x32xf32>
  return %y : tensor<2x5x3x32xf32>
}
