// RUN: tts-opt --tts-to-kernels --split-input-file %s | FileCheck %s
// REQUIRES: tts-opt

// Elementwise kernels are flat: 70 numbers are two whole chunks and a masked one.
// CHECK-LABEL: func.func @add(
// CHECK-SAME:    %[[X:.*]]: memref<70xf32>, %[[Y:.*]]: memref<70xf32>, %[[Z:.*]]: memref<70xf32>,
// CHECK-SAME:    %[[LO:.*]]: index, %[[HI:.*]]: index) attributes {rt.kernel, rt.range = 3 : i64}
// CHECK:         scf.for %{{.*}} = %[[LO]] to
// CHECK:           vector.load %[[X]]
// CHECK:           vector.load %[[Y]]
// CHECK:           vector.store %{{.*}}, %[[Z]]
// CHECK:         scf.if
// CHECK:           vector.maskedstore %[[Z]]
func.func private @add(%x: tensor<2x35xf32>, %y: tensor<2x35xf32>) -> tensor<2x35xf32> attributes {rt.kernel} {
  %z = tts.add %x, %y : tensor<2x35xf32>
  return %z : tensor<2x35xf32>
}

// -----

// Broadcasts are indexing, intermediates never meet memory, every load stands before the stores.
// CHECK-LABEL: func.func @graph(
// CHECK-SAME:    %[[X:[^:]*]]: memref<96xf32>, %[[B:[^:]*]]: memref<32xf32>, %[[S:[^:]*]]: memref<3xf32>,
// CHECK-SAME:    %[[R0:[^:]*]]: memref<96xf32>, %[[R1:[^:]*]]: memref<96xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME:    rt.range = 3
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           vector.load %[[X]]
// CHECK:           vector.load %[[B]]
// CHECK:           memref.load %[[S]][%[[ROW]]]
// CHECK-NOT:       vector.load
// CHECK:           vector.store %{{.*}}, %[[R0]]
// CHECK-NEXT:      arith.muli
// CHECK-NEXT:      vector.store %{{.*}}, %[[R1]]
func.func private @graph(%x: tensor<3x32xf32>, %b: tensor<32xf32>, %s: tensor<3xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>) attributes {rt.kernel} {
  %0 = tts.broadcast %b dims [1] : tensor<32xf32> to tensor<3x32xf32>
  %1 = tts.broadcast %s dims [0] : tensor<3xf32> to tensor<3x32xf32>
  %2 = tts.add %x, %0 : tensor<3x32xf32>
  %3 = tts.mul %2, %1 : tensor<3x32xf32>
  return %2, %3 : tensor<3x32xf32>, tensor<3x32xf32>
}

// -----

// A tied result takes its argument's storage; settings are read before the loop.
// CHECK-LABEL: func.func @ema(
// CHECK-SAME:    %[[E:[^:]*]]: memref<64xf64>, %{{[^:]*}}: memref<64xf64>, %[[S:[^:]*]]: memref<8xf64>,
// CHECK-SAME:    %{{[^:]*}}: memref<1xf64>, %{{[^:]*}}: index, %{{[^:]*}}: index)
// CHECK:         memref.load %[[S]]
// CHECK:         scf.for
// CHECK-NOT:       memref.load
// CHECK:           vector.store %{{.*}}, %[[E]]
func.func private @ema(%e: tensor<64xf64>, %p: tensor<64xf64>, %s: tensor<8xf64>, %c: tensor<f64>) -> (tensor<64xf64> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %0 = tts.ema %e, %p, %s, %c : tensor<64xf64>, tensor<8xf64>, tensor<f64>
  return %0 : tensor<64xf64>
}

// -----

// Eight counters make 32 draws; the row's utterance is read once.
// CHECK-LABEL: func.func @dropout(
// CHECK-SAME:    %{{[^:]*}}: memref<1280xf32>, %[[U:[^:]*]]: memref<4xi64>
// CHECK:         memref.load %[[U]]
// CHECK:         scf.for
// CHECK:           arith.muli {{.*}} : vector<8xi64>
// CHECK:           vector.interleave {{.*}} : vector<16xi32> -> vector<32xi32>
// CHECK:           arith.cmpi uge
func.func private @dropout(%x: tensor<4x5x64xf32>, %u: tensor<4xi64>, %d: tensor<2xi64>) -> tensor<4x5x64xf32> attributes {rt.kernel} {
  %y = tts.dropout %x, %u, %d {rate = 0.25 : f64, stream = "s"} : tensor<4x5x64xf32>, tensor<4xi64>, tensor<2xi64>
  return %y : tensor<4x5x64xf32>
}

// -----

// Padding is selected away, never multiplied.
// CHECK-LABEL: func.func @mask(
// CHECK:         arith.cmpi slt, {{.*}} : i32
// CHECK:         arith.select {{.*}} : vector<32xf32>
// CHECK-NOT:     arith.mulf
func.func private @mask(%x: tensor<4x5x64xf32>, %n: tensor<4xi32>) -> tensor<4x5x64xf32> attributes {rt.kernel} {
  %y = tts.mask %x, %n : tensor<4x5x64xf32>, tensor<4xi32>
  return %y : tensor<4x5x64xf32>
}
