// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-polynomials
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Softmax over valid keys: the largest score in the same tree as the sum; exponentials stand in memory in between, each
// lane's its own.

// CHECK-LABEL: llvm.func @tts_softmax(
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// CHECK:         llvm.call_intrinsic "llvm.fma"
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// CHECK:         llvm.fdiv
// PTX-LABEL: .entry tts_softmax(
// PTX:         shfl.sync.down.b32 {{.*}}, 16, 31, -1;
// PTX:         setp.gt.f32
// PTX:         shfl.sync.down.b32 {{.*}}, 8, 31, -1;
// PTX:         fma.rn.f32
// PTX:         div.rn.f32
func.func private @softmax(%s: tensor<2x3x100xf32>, %n: tensor<1xi32>) -> (tensor<2x3x100xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %p = tts.key_softmax %s, %n {scale = 0.5 : f64} : tensor<2x3x100xf32>, tensor<1xi32>
  return %p : tensor<2x3x100xf32>
}

// CHECK-LABEL: llvm.func @tts_softmax_grad(
// CHECK-COUNT-5: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_softmax_grad(
// PTX-NOT:     fma
// PTX:         shfl.sync.down.b32
// PTX-NOT:     fma
// PTX:         sub.rn.f32
func.func private @softmax_grad(%p: tensor<2x3x100xf32>, %dp: tensor<2x3x100xf32>) -> (tensor<2x3x100xf32> {rt.tied = 1 : i64}) attributes {rt.kernel} {
  %ds = tts.key_softmax_grad %p, %dp {scale = 0.5 : f64} : tensor<2x3x100xf32>
  return %ds : tensor<2x3x100xf32>
}
