// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Tables: a row's lanes are consecutive columns; the gradient of a table is one warp a chunk of columns.

// CHECK-LABEL: llvm.func @tts_embed(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_embed(
// PTX:         ld.global.b32
func.func private @embed(%i: tensor<3x5xi32>, %t: tensor<4x70xf32>) -> tensor<3x5x70xf32> attributes {rt.kernel} {
  %y = tts.embedding %i, %t : tensor<3x5xi32>, tensor<4x70xf32> to tensor<3x5x70xf32>
  return %y : tensor<3x5x70xf32>
}

// Sums that stand in memory between two ids: every lane sees what it stored.
// CHECK-LABEL: llvm.func @tts_embed_grad(
// CHECK-SAME:    rt.range = 3
// CHECK:         llvm.fadd
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.store
// PTX-LABEL: .entry tts_embed_grad(
// PTX:         add.rn.f32
// PTX-NEXT:    bar.warp.sync -1;
// PTX-NEXT:    st.global.b32
func.func private @embed_grad(%i: tensor<3x5xi32>, %dy: tensor<3x5x96xf32>, %a: tensor<4x96xf32>) -> (tensor<4x96xf32> {rt.tied = 2 : i64}) attributes {rt.kernel} {
  %dt = tts.embedding_grad %i, %dy into %a : tensor<4x96xf32> : tensor<3x5xi32>, tensor<3x5x96xf32> to tensor<4x96xf32>
  return %dt : tensor<4x96xf32>
}

// CHECK-LABEL: llvm.func @tts_buckets(
// PTX-LABEL: .entry tts_buckets(
func.func private @buckets(%x: tensor<3x40xf32>, %b: tensor<7xf32>) -> tensor<3x40xi32> attributes {rt.kernel} {
  %y = tts.bucketize %x, %b : tensor<3x40xf32>, tensor<7xf32> to tensor<3x40xi32>
  return %y : tensor<3x40xi32>
}
