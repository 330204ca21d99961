// The step table's globals: constant, in their section, kernels by index and null for library functions.
// RUN: tts-opt --tts-rt-to-llvm %s | FileCheck %s
// RUN: tts-opt --tts-rt-to-llvm %s | FileCheck %s --check-prefix=GONE
// RUN: %mlir-opt-tts --pass-pipeline='builtin.module(tts-rt-to-llvm)' %s | FileCheck %s

// GONE-NOT: {{rt\.(program|entry|buffers|manifest|arena)}}
// GONE-NOT: tts.batch

// CHECK: llvm.mlir.global external constant @tts_table("TTSTABLE\02\00\00\00
// CHECK-SAME: encoder.0.ffn\00
// CHECK-SAME: model.mlir:7:3\00
// CHECK-SAME: {\22buckets\22:[{\22dims\22:{\22text\22:64}}],\22ema\22:null,\22frozen\22:false,\22lr\22:0.5,\22shape\22:[2,3]}
// CHECK-SAME: alignment = 64 : i64
// CHECK-SAME: section = ".tts.table"
// CHECK: llvm.mlir.global external constant @tts_kernels()
// CHECK-SAME: !llvm.array<2 x ptr>
// CHECK: %[[NULLS:.*]] = llvm.mlir.zero
// CHECK: %[[ADDRESS:.*]] = llvm.mlir.addressof @add
// CHECK: %[[FULL:.*]] = llvm.insertvalue %[[ADDRESS]], %[[NULLS]][1]
// CHECK: llvm.return %[[FULL]]
// CHECK: llvm.mlir.global external constant @tts_roles()
// CHECK-SAME: !llvm.array<1 x struct<(ptr, ptr)>>
// CHECK: llvm.mlir.addressof @tts_table
// CHECK: llvm.mlir.addressof @tts_kernels
// CHECK: llvm.mlir.global external constant @tts_num_roles(1 : i32)
// CHECK: llvm.mlir.global external constant @tts_abi_version(3 : i32)
module attributes {
  tts.batch = 4 : i64, rt.arena_bytes = 192 : i64, rt.persistent_bytes = 64 : i64,
  rt.buffers = [
    #rt.buffer<name = "w", loc = "w", klass = 0, program = -1, last_program = -1,
               first_entry = 0, last_entry = 0, offset = 0, size = 64>,
    #rt.buffer<name = "x", loc = "x", klass = 5, program = 0, last_program = 0,
               first_entry = 0, last_entry = 1, offset = 64, size = 64>],
  rt.manifest = {buckets = [{dims = {text = 64 : i64}}], lr = 0.5 : f64, ema, frozen = false,
                 shape = array<i64: 2, 3>}} {
  llvm.func @add(%operands: !llvm.ptr, %lo: i64, %hi: i64) attributes {rt.range = 16 : i64} {
    llvm.return
  }
  rt.program @forward_b0 attributes {kind = 2 : i64, bucket = 0 : i64} {
    rt.entry "rt.gemm" [#rt.access<offset = 0, size = 64, mode = 1, buffer = 0>,
                        #rt.access<offset = 0, size = 64, mode = 1, buffer = 0>,
                        #rt.access<offset = 64, size = 64, mode = 2, buffer = 1, dtype = 0>]
      scalars [0, 4, 4, 4, 4, 4, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] range 0 "encoder.0.ffn" loc("encoder.0.ffn"("model.mlir":7:3))
    rt.entry "add" [#rt.access<offset = 64, size = 64, mode = 3, buffer = 1>]
      scalars [] range 0 "encoder.0.bias"
  }
}
