// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Batch normalisation: sums down columns need no shuffle, a warp has 32 channels of its own.

// CHECK-LABEL: llvm.func @tts_statistics(
// CHECK-SAME:    rt.range = 8
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// PTX-LABEL: .entry tts_statistics(
// PTX:         div.rn.f32
// PTX:         sqrt.rn.f32
func.func private @statistics(%x: tensor<4x5x250xf32>, %l: tensor<4xi32>, %n: tensor<f32>) -> (tensor<250xf32>, tensor<250xf32>, tensor<250xf32>) attributes {rt.kernel} {
  %m, %r, %v = tts.batch_statistics %x, %l, %n {epsilon = 1.0e-5 : f64} : tensor<4x5x250xf32>, tensor<4xi32>, tensor<f32> to tensor<250xf32>
  return %m, %r, %v : tensor<250xf32>, tensor<250xf32>, tensor<250xf32>
}

// CHECK-LABEL: llvm.func @tts_statistics_grad(
// PTX-LABEL: .entry tts_statistics_grad(
func.func private @statistics_grad(%x: tensor<4x5x250xf32>, %m: tensor<250xf32>, %r: tensor<250xf32>, %dm: tensor<250xf32>, %dr: tensor<250xf32>, %l: tensor<4xi32>, %n: tensor<f32>) -> tensor<4x5x250xf32> attributes {rt.kernel} {
  %dx = tts.batch_statistics_grad %x, %m, %r, %dm, %dr, %l, %n : tensor<4x5x250xf32>, tensor<250xf32>, tensor<4xi32>, tensor<f32>
  return %dx : tensor<4x5x250xf32>
}

// CHECK-LABEL: llvm.func @tts_normalize(
// PTX-LABEL: .entry tts_normalize(
func.func private @normalize(%x: tensor<4x5x250xf32>, %m: tensor<250xf32>, %r: tensor<250xf32>, %g: tensor<250xf32>, %b: tensor<250xf32>) -> tensor<4x5x250xf32> attributes {rt.kernel} {
  %y = tts.batch_normalize %x, %m, %r, %g, %b : tensor<4x5x250xf32>, tensor<250xf32>
  return %y : tensor<4x5x250xf32>
}

// CHECK-LABEL: llvm.func @tts_normalize_grad(
// PTX-LABEL: .entry tts_normalize_grad(
func.func private @normalize_grad(%dy: tensor<4x5x250xf32>, %r: tensor<250xf32>, %g: tensor<250xf32>) -> tensor<4x5x250xf32> attributes {rt.kernel} {
  %dx = tts.batch_normalize_grad %dy, %r, %g : tensor<4x5x250xf32>, tensor<250xf32>
  return %dx : tensor<4x5x250xf32>
}

// CHECK-LABEL: llvm.func @tts_gamma_grad(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_gamma_grad(
func.func private @gamma_grad(%dy: tensor<4x5x250xf32>, %x: tensor<4x5x250xf32>, %m: tensor<250xf32>, %r: tensor<250xf32>, %a: tensor<250xf32>) -> (tensor<250xf32> {rt.tied = 4 : i64}) attributes {rt.kernel} {
  %dg = tts.batch_normalize_gamma_grad %dy, %x, %m, %r into %a : tensor<250xf32> : tensor<4x5x250xf32>, tensor<250xf32>
  return %dg : tensor<250xf32>
}

// CHECK-LABEL: llvm.func @tts_running(
// PTX-LABEL: .entry tts_running(
func.func private @running(%old: tensor<250xf32>, %batch: tensor<250xf32>, %n: tensor<f32>) -> tensor<250xf32> attributes {rt.kernel} {
  %next = tts.running_average %old, %batch, %n {momentum = 0.1 : f64, unbiased} : tensor<250xf32>, tensor<f32>
  return %next : tensor<250xf32>
}

// CHECK-LABEL: llvm.func @tts_adopt(
// PTX-LABEL: .entry tts_adopt(
func.func private @adopt(%old: tensor<250xf32>, %next: tensor<250xf32>, %clip: tensor<f32>) -> (tensor<250xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %new = tts.adopt %old, %next, %clip : tensor<250xf32>, tensor<f32>
  return %new : tensor<250xf32>
}
