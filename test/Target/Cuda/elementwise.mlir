// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-polynomials
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Element-wise: 32 elements a warp and turn; multiply and add stay two roundings, the polynomial's fma stay one.

// CHECK-LABEL: llvm.func @tts_axpb(
// CHECK-SAME:    nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>, rt.range = 8
// CHECK:         nvvm.read.ptx.sreg.tid.x
// CHECK:         nvvm.read.ptx.sreg.ctaid.x
// CHECK:         nvvm.read.ptx.sreg.nctaid.x
// CHECK:         llvm.fmul {{.*}} : f32
// CHECK:         llvm.fadd {{.*}} : f32
// PTX-LABEL: .entry tts_axpb(
// PTX-NOT:     fma
// PTX:         mul.rn.f32
// PTX-NOT:     fma
// PTX:         add.rn.f32
// PTX-NOT:     fma
// PTX-LABEL: .entry tts_gelu(
// PTX:         fma.rn.f32
// PTX:         div.rn.f32
// PTX-LABEL: .entry tts_roots(
// PTX:         sqrt.rn.f32
// PTX-LABEL: .entry tts_logs(
// PTX-LABEL: .entry tts_relu(
func.func private @axpb(%a: tensor<3x80xf32>, %x: tensor<3x80xf32>, %b: tensor<3x80xf32>) -> (tensor<3x80xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %0 = tts.mul %a, %x : tensor<3x80xf32>
  %1 = tts.add %0, %b : tensor<3x80xf32>
  return %1 : tensor<3x80xf32>
}

// The tail of 35 = 32 + 3 elements: loads and stores of three lanes.
// CHECK-LABEL: llvm.func @tts_gelu(
// CHECK:         llvm.call_intrinsic "llvm.fma"
func.func private @gelu(%x: tensor<5x7xf32>, %dy: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {rt.kernel} {
  %y = tts.gelu %x : tensor<5x7xf32>
  %0 = tts.gelu_grad %y, %dy : tensor<5x7xf32>
  %1 = tts.silu %0 : tensor<5x7xf32>
  %2 = tts.sigmoid %1 : tensor<5x7xf32>
  %3 = tts.tanh %2 : tensor<5x7xf32>
  return %3 : tensor<5x7xf32>
}

// CHECK-LABEL: llvm.func @tts_roots(
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
func.func private @roots(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel} {
  %0 = tts.sqrt %x : tensor<64xf32>
  %1 = tts.rsqrt %0 : tensor<64xf32>
  %2 = tts.abs %1 : tensor<64xf32>
  %3 = tts.sign %2 : tensor<64xf32>
  %4 = tts.neg %3 : tensor<64xf32>
  return %4 : tensor<64xf32>
}

// CHECK-LABEL: llvm.func @tts_logs(
func.func private @logs(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel} {
  %0 = tts.exp %x : tensor<64xf32>
  %1 = tts.log %0 : tensor<64xf32>
  %2 = tts.log1p %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}

// CHECK-LABEL: llvm.func @tts_relu(
func.func private @relu(%x: tensor<64xf64>, %dy: tensor<64xf64>) -> tensor<64xf32> attributes {rt.kernel} {
  %0 = tts.relu %x : tensor<64xf64>
  %1 = tts.relu_grad %0, %dy : tensor<64xf64>
  %2 = tts.cast %1 : tensor<64xf64> to tensor<64xf32>
  return %2 : tensor<64xf32>
}

// CHECK-LABEL: llvm.func @tts_quotients(
// PTX-LABEL: .entry tts_quotients(
// PTX:         sub.rn.f32
// PTX:         div.rn.f32
// PTX:         add.rn.f32
func.func private @quotients(%a: tensor<64xf32>, %x: tensor<64xf32>) -> (tensor<64xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %0 = tts.sub %x, %a : tensor<64xf32>
  %1 = tts.div %0, %x : tensor<64xf32>
  %2 = tts.accumulate %a, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}

// CHECK-LABEL: llvm.func @tts_durations(
// CHECK:         llvm.call_intrinsic "llvm.roundeven"
// PTX-LABEL: .entry tts_durations(
// PTX:         cvt.rni.f32.f32
// PTX:         cvt.rzi.s32.f32
func.func private @durations(%x: tensor<64xf32>) -> tensor<64xi32> attributes {rt.kernel} {
  %0 = tts.round_to_int %x : tensor<64xf32> to tensor<64xi32>
  return %0 : tensor<64xi32>
}
