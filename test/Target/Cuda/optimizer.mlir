// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Updates in place: a warp's lanes have loaded all their old values before one of them stores a new one.

// CHECK-LABEL: llvm.func @tts_adamw(
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// CHECK:         nvvm.bar.warp.sync
// CHECK-COUNT-3: llvm.store
// PTX-LABEL: .entry tts_adamw(
// PTX:         sqrt.rn.f32
// PTX:         div.rn.f32
// PTX:         bar.warp.sync -1;
// PTX-NEXT:    st.global.b32
// PTX-NEXT:    st.global.b32
// PTX-NEXT:    st.global.b32
func.func private @adamw(%p: tensor<960xf32>, %g: tensor<960xf32>, %m: tensor<960xf32>, %v: tensor<960xf32>, %s: tensor<8xf32>, %c: tensor<f32>)
    -> (tensor<960xf32> {rt.tied = 0 : i64}, tensor<960xf32> {rt.tied = 2 : i64}, tensor<960xf32> {rt.tied = 3 : i64}) attributes {rt.kernel} {
  %np, %nm, %nv = tts.adamw %p, %g, %m, %v, %s, %c : tensor<960xf32>, tensor<8xf32>, tensor<f32>
  return %np, %nm, %nv : tensor<960xf32>, tensor<960xf32>, tensor<960xf32>
}

// CHECK-LABEL: llvm.func @tts_sgd(
// PTX-LABEL: .entry tts_sgd(
func.func private @sgd(%p: tensor<70xf32>, %g: tensor<70xf32>, %s: tensor<8xf32>, %c: tensor<f32>) -> (tensor<70xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %np = tts.sgd %p, %g, %s, %c : tensor<70xf32>, tensor<8xf32>, tensor<f32>
  return %np : tensor<70xf32>
}

// CHECK-LABEL: llvm.func @tts_ema(
// PTX-LABEL: .entry tts_ema(
func.func private @ema(%e: tensor<70xf32>, %p: tensor<70xf32>, %s: tensor<8xf32>, %c: tensor<f32>) -> (tensor<70xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %ne = tts.ema %e, %p, %s, %c : tensor<70xf32>, tensor<8xf32>, tensor<f32>
  return %ne : tensor<70xf32>
}

// One number: all lanes compute it, one stores it.
// CHECK-LABEL: llvm.func @tts_clip(
// PTX-LABEL: .entry tts_clip(
// PTX:         sqrt.rn.f32
func.func private @clip(%s: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {rt.kernel} {
  %f, %n = tts.clip_factor %s {max_norm = 2.0 : f64} : tensor<f32>
  return %f, %n : tensor<f32>, tensor<f32>
}

// Many tensors: a warp finds out which one its number means, and works on that one's memory.
// CHECK-LABEL: llvm.func @tts_many(
// CHECK:         llvm.switch
// CHECK:         nvvm.bar.warp.sync
// PTX-LABEL: .entry tts_many(
func.func private @many(%p0: tensor<70xf32>, %g0: tensor<70xf32>, %p1: tensor<9000xf32>, %g1: tensor<9000xf32>, %s: tensor<8xf32>, %c: tensor<f32>)
    -> (tensor<70xf32> {rt.tied = 0 : i64}, tensor<9000xf32> {rt.tied = 2 : i64}) attributes {rt.kernel} {
  %0 = tts.sgd %p0, %g0, %s, %c : tensor<70xf32>, tensor<8xf32>, tensor<f32>
  %1 = tts.sgd %p1, %g1, %s, %c : tensor<9000xf32>, tensor<8xf32>, tensor<f32>
  return %0, %1 : tensor<70xf32>, tensor<9000xf32>
}
