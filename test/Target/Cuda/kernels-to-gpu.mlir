// RUN: tts-opt %s --tts-kernels-to-gpu --canonicalize --cse --split-input-file | FileCheck %s
// REQUIRES: tts-opt

// Warps take the numbers of the range in turn; a chunk's lane loads and stores beside its neighbour.
// CHECK-LABEL: gpu.func @tts_double(
// CHECK-SAME:    %[[X:[^:]*]]: memref<64xf32>, %[[Y:[^:]*]]: memref<64xf32>, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index
// CHECK-SAME:    kernel attributes {known_block_size = array<i32: 128, 1, 1>, rt.range = 2 : i64}
// CHECK:         %[[THREAD:.*]] = gpu.thread_id x
// CHECK:         %[[BLOCK:.*]] = gpu.block_id x
// CHECK:         %[[BLOCKS:.*]] = gpu.grid_dim x
// CHECK-DAG:     %[[LANE:.*]] = arith.remui %[[THREAD]], %c32
// CHECK-DAG:     %[[OFBLOCK:.*]] = arith.muli %[[BLOCK]], %c4
// CHECK-DAG:     %[[INBLOCK:.*]] = arith.divui %[[THREAD]], %c32
// CHECK:         %[[WARP:.*]] = arith.addi %[[OFBLOCK]], %[[INBLOCK]]
// CHECK:         %[[WARPS:.*]] = arith.muli %[[BLOCKS]], %c4
// CHECK:         %[[FIRST:.*]] = arith.addi %[[LO]], %[[WARP]]
// CHECK:         scf.for %[[TASK:.*]] = %[[FIRST]] to %[[HI]] step %[[WARPS]] {
// CHECK:           %[[COLUMN:.*]] = arith.muli %[[TASK]], %c32
// CHECK:           %[[AT:.*]] = arith.addi %[[COLUMN]], %[[LANE]]
// CHECK:           %[[V:.*]] = memref.load %[[X]][%[[AT]]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[V]], %[[V]] : f32
// CHECK:           nvvm.bar.warp.sync
// CHECK:           memref.store %[[SUM]], %[[Y]][%[[AT]]]
func.func @double(%x: memref<64xf32>, %y: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 2 : i64} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %lo to %hi step %c1 {
    %at = arith.muli %i, %c32 : index
    %v = vector.load %x[%at] : memref<64xf32>, vector<32xf32>
    %s = arith.addf %v, %v : vector<32xf32>
    vector.store %s, %y[%at] : memref<64xf32>, vector<32xf32>
  }
  return
}

// -----

// The tail: lanes below three, and nothing of memory in the others.
// CHECK-LABEL: gpu.func @tts_tail(
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c3_i32
// CHECK:         scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT:      %[[OLD:.*]] = memref.load
// CHECK-NEXT:      scf.yield %[[OLD]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %cst
// CHECK:         nvvm.bar.warp.sync
// CHECK-NEXT:    scf.if %[[INSIDE]] {
// CHECK-NEXT:      memref.store
func.func @tail(%x: memref<35xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : vector<32xf32>
  %mask = vector.constant_mask [3] : vector<32xi1>
  scf.for %i = %lo to %hi step %c1 {
    %v = vector.maskedload %x[%c32], %mask, %zero : memref<35xf32>, vector<32xi1>, vector<32xf32> into vector<32xf32>
    vector.maskedstore %x[%c32], %mask, %v : memref<35xf32>, vector<32xi1>, vector<32xf32>
  }
  return
}

// -----

// Lanes 0 … 15 have the sum with 16 … 31; then all have lane 0's, which one lane stores.
// CHECK-LABEL: gpu.func @tts_halves(
// CHECK:         %[[LANE:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:         %[[NUMBER:.*]] = arith.sitofp %[[LANE]] : i32 to f64
// CHECK:         %[[HALF:.*]], %{{.*}} = gpu.shuffle down %[[NUMBER]], %c16_i32, %c32_i32 : f64
// CHECK:         %[[SUM:.*]] = arith.addf %[[NUMBER]], %[[HALF]] : f64
// CHECK:         %[[FIRST:.*]], %{{.*}} = gpu.shuffle idx %[[SUM]], %c0_i32, %c32_i32 : f64
// CHECK:         %[[ISFIRST:.*]] = arith.cmpi ult, %[[LANE]], %c1_i32
// CHECK:         scf.if %[[ISFIRST]] {
// CHECK-NEXT:      memref.store %[[FIRST]]
func.func @halves(%x: memref<1xf64>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %iota = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : vector<32xi32>
  scf.for %i = %lo to %hi step %c1 {
    %v = arith.sitofp %iota : vector<32xi32> to vector<32xf64>
    %a = vector.extract_strided_slice %v {offsets = [0], sizes = [16], strides = [1]} : vector<32xf64> to vector<16xf64>
    %b = vector.extract_strided_slice %v {offsets = [16], sizes = [16], strides = [1]} : vector<32xf64> to vector<16xf64>
    %s = arith.addf %a, %b : vector<16xf64>
    %first = vector.extract %s[0] : f64 from vector<16xf64>
    memref.store %first, %x[%c0] : memref<1xf64>
  }
  return
}

// -----

// A load after a store waits for the store of every lane, and the next store for the load.
// CHECK-LABEL: gpu.func @tts_order(
// CHECK:         memref.load
// CHECK:         nvvm.bar.warp.sync
// CHECK:         memref.store
// CHECK-NOT:     memref.{{load|store}}
// CHECK:         nvvm.bar.warp.sync
// CHECK:         memref.load
// CHECK-NOT:     memref.{{load|store}}
// CHECK:         nvvm.bar.warp.sync
// CHECK:         memref.store
// CHECK-NOT:     nvvm.bar.warp.sync
func.func @order(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %a = vector.load %x[%c0] : memref<64xf32>, vector<32xf32>
    vector.store %a, %x[%c1] : memref<64xf32>, vector<32xf32>
    %b = vector.load %x[%c0] : memref<64xf32>, vector<32xf32>
    vector.store %b, %x[%c1] : memref<64xf32>, vector<32xf32>
  }
  return
}
