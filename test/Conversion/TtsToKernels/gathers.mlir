// RUN: tts-opt --tts-to-kernels --split-input-file %s | FileCheck %s
// REQUIRES: tts-opt

// An id outside the table reads row 0.
// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[I:[^:]*]]: memref<15xi32>, %[[T:[^:]*]]: memref<640xf32>
// CHECK-SAME:    rt.range = 15
// CHECK:         %[[ID:.*]] = memref.load %[[I]]
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %[[ID]]
// CHECK:         arith.select %[[IN]], %[[ID]]
// CHECK:         vector.load %[[T]]
func.func private @embedding(%i: tensor<3x5xi32>, %t: tensor<10x64xf32>) -> tensor<3x5x64xf32> attributes {rt.kernel} {
  %y = tts.embedding %i, %t : tensor<3x5xi32>, tensor<10x64xf32> to tensor<3x5x64xf32>
  return %y : tensor<3x5x64xf32>
}

// -----

// No two tasks write the same columns; the accumulator is added into in place.
// CHECK-LABEL: func.func @embedding_grad(
// CHECK-SAME:    %[[A:[^:]*]]: memref<640xf32>, %{{[^:]*}}: index, %{{[^:]*}}: index)
// CHECK-SAME:    rt.range = 2
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK:               vector.load %[[A]]
// CHECK:               vector.store %{{.*}}, %[[A]]
func.func private @embedding_grad(%i: tensor<3x5xi32>, %dy: tensor<3x5x64xf32>, %a: tensor<10x64xf32>) -> (tensor<10x64xf32> {rt.tied = 2 : i64}) attributes {rt.kernel} {
  %dt = tts.embedding_grad %i, %dy into %a : tensor<10x64xf32> : tensor<3x5xi32>, tensor<3x5x64xf32> to tensor<10x64xf32>
  return %dt : tensor<10x64xf32>
}

// -----

// One task an utterance: where a phone starts depends on those before it.
// CHECK-LABEL: func.func @length_regulate(
// CHECK-SAME:    rt.range = 4
// CHECK:         scf.for
// CHECK:           %[[END:.*]] = scf.for {{.*}} iter_args
// CHECK:             arith.minsi
// CHECK:           scf.for %{{.*}} = %[[END]] to
func.func private @length_regulate(%x: tensor<4x3x64xf32>, %d: tensor<4x3xi32>) -> tensor<4x9x64xf32> attributes {rt.kernel} {
  %y = tts.length_regulate %x, %d : tensor<4x3x64xf32>, tensor<4x3xi32> to tensor<4x9x64xf32>
  return %y : tensor<4x9x64xf32>
}

// -----

// Positions are f64 until they are rounded, once.
// CHECK-LABEL: func.func @sinusoid(
// CHECK:         math.powf {{.*}} : vector<16xf64>
// CHECK:         vector.interleave {{.*}} : vector<16xf64> -> vector<32xf64>
// CHECK:         arith.truncf {{.*}} : vector<32xf64> to vector<32xf32>
func.func private @sinusoid() -> tensor<50x64xf32> attributes {rt.kernel} {
  %y = tts.sinusoid : tensor<50x64xf32>
  return %y : tensor<50x64xf32>
}

// -----

// The keys beyond the length, and the lanes beyond the keys, are out of every pass.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME:    %[[S:[^:]*]]: memref<240xf32>, %{{[^:]*}}: memref<1xi32>, %{{[^:]*}}: index, %{{[^:]*}}: index)
// CHECK:         arith.minsi
// CHECK:         arith.cmpf ogt
// CHECK:         math.exp
// CHECK:         arith.select
// CHECK:         vector.maskedstore %[[S]]
// CHECK:         arith.divf
func.func private @softmax(%s: tensor<1x2x3x40xf32>, %n: tensor<1xi32>) -> (tensor<1x2x3x40xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %p = tts.key_softmax %s, %n {scale = 0.5 : f64} : tensor<1x2x3x40xf32>, tensor<1xi32>
  return %p : tensor<1x2x3x40xf32>
}
