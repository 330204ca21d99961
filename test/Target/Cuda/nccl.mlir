// A sum over ranks is one group of ncclAllReduce in place; the room for messages is not NCCL's concern.
// RUN: tts-opt %s --tts-cuda-collectives-to-nccl -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: %python %source/test/Target/Cuda/Inputs/nccl.py %t.dir tts_all_reduce_update_1 < %t.mlir | FileCheck %s --check-prefix=RUN-ON-LOOK-ALIKE
// RUN: %python %source/test/Target/Cuda/Inputs/nccl.py %t.dir tts_all_reduce_update_1 --none < %t.mlir | FileCheck %s --check-prefix=NONE
// REQUIRES: tts-opt

// RUN-ON-LOOK-ALIKE: group start
// RUN-ON-LOOK-ALIKE-NEXT: all-reduce of 30 of type 7, op 0, stream 7
// RUN-ON-LOOK-ALIKE-NEXT: all-reduce of 2 of type 8, op 0, stream 7
// RUN-ON-LOOK-ALIKE-NEXT: group end
// RUN-ON-LOOK-ALIKE: status 0
// RUN-ON-LOOK-ALIKE-NEXT: arena 3.0 6.0 3.0 6.0
// A call that fails does not leave the group open.
// NONE: all-reduce of 2
// NONE-NEXT: group end
// NONE: status 4

// CHECK-LABEL: rt.program @update
// CHECK: rt.entry "rt.all_reduce"
// CHECK-LABEL: module @collectives
// CHECK-DAG: llvm.func @ncclGroupStart() -> i32
// CHECK-DAG: llvm.func @ncclGroupEnd() -> i32
// CHECK-DAG: llvm.func @ncclAllReduce(!llvm.ptr, !llvm.ptr, i64, i32, i32, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.func @tts_all_reduce_update_1(%[[ARENA:.*]]: !llvm.ptr, %[[COMM:.*]]: !llvm.ptr, %[[STREAM:.*]]: !llvm.ptr) -> i32
// CHECK: %[[START:.*]] = llvm.call @ncclGroupStart
// CHECK: %[[OFFSET:.*]] = llvm.mlir.constant(64 : i64)
// CHECK: %[[G:.*]] = llvm.getelementptr %[[ARENA]][%[[OFFSET]]]
// CHECK: %[[N:.*]] = llvm.mlir.constant(30 : i64)
// CHECK: %[[F32:.*]] = llvm.mlir.constant(7 : i32)
// CHECK: %[[SUM:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[FIRST:.*]] = llvm.call @ncclAllReduce(%[[G]], %[[G]], %[[N]], %[[F32]], %[[SUM]], %[[COMM]], %[[STREAM]])
// CHECK: %[[FINE:.*]] = llvm.icmp "eq" %[[START]]
// CHECK: %[[STATUS:.*]] = llvm.select %[[FINE]], %[[FIRST]], %[[START]]
// CHECK: llvm.mlir.constant(256 : i64)
// CHECK: llvm.mlir.constant(2 : i64)
// CHECK: llvm.mlir.constant(8 : i32)
// CHECK: llvm.call @ncclAllReduce
// CHECK-NOT: llvm.call @ncclAllReduce
// CHECK: llvm.call @ncclGroupEnd
// CHECK: llvm.return
module {
  rt.program @update attributes {bucket = -1 : i64, kind = 4 : i64} {
    rt.entry "zero" [#rt.access<offset = 64, size = 120, mode = 2, buffer = 0>] scalars [] range 1 "zero"
    rt.entry "rt.all_reduce" [#rt.access<offset = 64, size = 120, mode = 3, buffer = 0>, #rt.access<offset = 256, size = 16, mode = 3, buffer = 1, dtype = 1>,
                              #rt.access<offset = 512, size = 256, mode = 2, buffer = 2, dtype = 6>] scalars [] range 0 "gradients"
  }
}
