// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Layer norm: a warp a row; mean and variance are two trees, and lane 0 stores what there is once a row.

// CHECK-LABEL: llvm.func @tts_norm(
// CHECK-SAME:    rt.range = 20
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// PTX-LABEL: .entry tts_norm(
// PTX:         sqrt.rn.f32
// PTX:         st.global.b32
func.func private @norm(%x: tensor<4x5x256xf32>, %g: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<4x5xf32>) attributes {rt.kernel} {
  %y, %m, %r = tts.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : tensor<4x5x256xf32>, tensor<256xf32> to tensor<4x5xf32>
  return %y, %m, %r : tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}

// CHECK-LABEL: llvm.func @tts_norm_grad(
// CHECK-COUNT-10: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_norm_grad(
// PTX:         shfl.sync.down.b32
func.func private @norm_grad(%dy: tensor<4x5x256xf32>, %x: tensor<4x5x256xf32>, %m: tensor<4x5xf32>, %r: tensor<4x5xf32>, %g: tensor<256xf32>) -> tensor<4x5x256xf32> attributes {rt.kernel} {
  %dx = tts.layer_norm_grad %dy, %x, %m, %r, %g : tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<256xf32>
  return %dx : tensor<4x5x256xf32>
}

// CHECK-LABEL: llvm.func @tts_gamma_grad(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_gamma_grad(
func.func private @gamma_grad(%dy: tensor<4x5x250xf32>, %x: tensor<4x5x250xf32>, %m: tensor<4x5xf32>, %r: tensor<4x5xf32>, %a: tensor<250xf32>) -> (tensor<250xf32> {rt.tied = 4 : i64}) attributes {rt.kernel} {
  %dg = tts.layer_norm_gamma_grad %dy, %x, %m, %r into %a : tensor<250xf32> : tensor<4x5x250xf32>, tensor<4x5xf32> to tensor<250xf32>
  return %dg : tensor<250xf32>
}

// A row with the sum that it is made of and the mask after it: the first pass leaves the sum where the result will be,
// and the warp meets before the second reads it.
// CHECK-LABEL: llvm.func @tts_norm_of_sum(
// CHECK:         llvm.store
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.load
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// PTX-LABEL: .entry tts_norm_of_sum(
func.func private @norm_of_sum(%x: tensor<4x5x256xf32>, %r: tensor<4x5x256xf32>, %g: tensor<256xf32>, %b: tensor<256xf32>, %n: tensor<4xi32>) -> tensor<4x5x256xf32> attributes {rt.kernel} {
  %s = tts.add %x, %r : tensor<4x5x256xf32>
  %y, %m, %d = tts.layer_norm %s, %g, %b {epsilon = 1.0e-5 : f64} : tensor<4x5x256xf32>, tensor<256xf32> to tensor<4x5xf32>
  %z = tts.mask %y, %n : tensor<4x5x256xf32>, tensor<4xi32>
  return %z : tensor<4x5x256xf32>
}

// RMS norm: one tree, and one number a row.
// CHECK-LABEL: llvm.func @tts_rms(
// CHECK-SAME:    rt.range = 20
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// PTX-LABEL: .entry tts_rms(
// PTX:         sqrt.rn.f32
func.func private @rms(%x: tensor<4x5x256xf32>, %g: tensor<256xf32>) -> (tensor<4x5x256xf32>, tensor<4x5xf32>) attributes {rt.kernel} {
  %y, %r = tts.rms_norm %x, %g {epsilon = 1.0e-6 : f64} : tensor<4x5x256xf32>, tensor<256xf32> to tensor<4x5xf32>
  return %y, %r : tensor<4x5x256xf32>, tensor<4x5xf32>
}

// CHECK-LABEL: llvm.func @tts_rms_grad(
// CHECK-COUNT-5: nvvm.shfl.sync down
// PTX-LABEL: .entry tts_rms_grad(
// PTX:         shfl.sync.down.b32
func.func private @rms_grad(%dy: tensor<4x5x256xf32>, %x: tensor<4x5x256xf32>, %r: tensor<4x5xf32>, %g: tensor<256xf32>) -> tensor<4x5x256xf32> attributes {rt.kernel} {
  %dx = tts.rms_norm_grad %dy, %x, %r, %g : tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<256xf32>
  return %dx : tensor<4x5x256xf32>
}

// CHECK-LABEL: llvm.func @tts_rms_gamma(
// PTX-LABEL: .entry tts_rms_gamma(
// PTX:         add.rn.f32
func.func private @rms_gamma(%dy: tensor<4x5x256xf32>, %x: tensor<4x5x256xf32>, %r: tensor<4x5xf32>, %a: tensor<256xf32>) -> (tensor<256xf32> {rt.tied = 3 : i64}) attributes {rt.kernel} {
  %dg = tts.rms_norm_gamma_grad %dy, %x, %r into %a : tensor<256xf32> : tensor<4x5x256xf32>, tensor<4x5xf32> to tensor<256xf32>
  return %dg : tensor<256xf32>
}
