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
func.func private @softmax(%s: tensor<1x2x3x100xf32>, %n: tensor<1xi32>) -> (tensor<1x2x3x100xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %p = tts.key_softmax %s, %n {scale = 0.5 : f64} : tensor<1x2x3x100xf32>, tensor<1xi32>
  return %p : tensor<1x2x3x100xf32>
}

// CHECK-LABEL: llvm.func @tts_softmax_grad(
// CHECK-COUNT-5: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_softmax_grad(
// PTX-NOT:     fma
// PTX:         shfl.sync.down.b32
// PTX-NOT:     fma
// PTX:         sub.rn.f32
func.func private @softmax_grad(%p: tensor<1x2x3x100xf32>, %dp: tensor<1x2x3x100xf32>) -> (tensor<1x2x3x100xf32> {rt.tied = 1 : i64}) attributes {rt.kernel} {
  %ds = tts.key_softmax_grad %p, %dp {scale = 0.5 : f64} : tensor<1x2x3x100xf32>
  return %ds : tensor<1x2x3x100xf32>
}

// Dropout's words come from the lanes of eight counters; the sign of a probability says between the passes that it was
// dropped.
// CHECK-LABEL: llvm.func @tts_dropped_grad(
// CHECK: nvvm.shfl.sync idx
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK: llvm.bitcast
// PTX-LABEL: .entry tts_dropped_grad(
// PTX: shfl.sync.idx.b32
// PTX: shfl.sync.down.b32
func.func private @dropped_grad(%p: tensor<1x2x3x100xf32>, %dp: tensor<1x2x3x100xf32>, %u: tensor<1xi64>, %d: tensor<2xi64>) -> (tensor<1x2x3x100xf32> {rt.tied = 1 : i64}, tensor<1x2x3x100xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %ds, %dropped = tts.key_softmax_grad %p, %dp dropout %u, %d {scale = 0.5 : f64, rate = 0.1 : f64, stream = "s"} : tensor<1x2x3x100xf32>, tensor<1xi64>, tensor<2xi64> to tensor<1x2x3x100xf32>
  return %ds, %dropped : tensor<1x2x3x100xf32>, tensor<1x2x3x100xf32>
}
