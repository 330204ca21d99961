// RUN: tts-opt %s --tts-cpu-gemm-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Generated products in f64: a warp a row of C. Products are rounded before they are added.

// Rows of B combined: a lane has its column, and an element of A is the same for all lanes.
// CHECK-LABEL: llvm.func @tts_gemm_f64_1(
// CHECK-SAME:    rt.range = 16
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.fmul
// CHECK:         llvm.fadd
// PTX-LABEL: .entry tts_gemm_f64_1(
// PTX:         mul.rn.f64
// PTX:         add.rn.f64

// Rows of Bᵀ: a dot product in 32 lanes and the tree, added to what C holds by lane 0.
// CHECK-LABEL: llvm.func @tts_gemm_f64_2(
// CHECK-COUNT-12: nvvm.shfl.sync {{(down|idx)}}
// CHECK:         llvm.fadd
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.store
// PTX-LABEL: .entry tts_gemm_f64_2(
// PTX:         shfl.sync.down.b32
rt.program @products attributes {bucket = 0 : i64, kind = 2 : i64} {
  rt.entry "rt.gemm" [#rt.access<offset = 0, size = 4096, mode = 1, buffer = 0>, #rt.access<offset = 4096, size = 4096, mode = 1, buffer = 1>, #rt.access<offset = 8192, size = 4096, mode = 2, buffer = 2>] scalars [1, 16, 16, 16, 16, 16, 16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0] range 0 "combination"
  rt.entry "rt.gemm" [#rt.access<offset = 0, size = 4096, mode = 1, buffer = 0>, #rt.access<offset = 4096, size = 4096, mode = 1, buffer = 1>, #rt.access<offset = 8192, size = 4096, mode = 3, buffer = 2>] scalars [1, 16, 16, 16, 16, 16, 16, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0] range 0 "dot"
}
