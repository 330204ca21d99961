// RUN: tts-opt --tts-to-kernels --split-input-file %s | FileCheck %s
// REQUIRES: tts-opt

// Sums of rows: one task a row, 32 lanes, then a tree of five additions.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    rt.range = 15
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)
// CHECK:         vector.extract_strided_slice {{.*}}offsets = [16], sizes = [16]
// CHECK:         arith.addf {{.*}} : vector<16xf32>
// CHECK:         arith.addf {{.*}} : vector<8xf32>
// CHECK:         arith.addf {{.*}} : vector<4xf32>
// CHECK:         arith.addf {{.*}} : vector<2xf32>
// CHECK:         arith.addf {{.*}} : vector<1xf32>
func.func private @rows(%x: tensor<3x5x64xf32>) -> tensor<3x5xf32> attributes {rt.kernel} {
  %y = tts.sum_to %x dims [0, 1] : tensor<3x5x64xf32> to tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Sums of columns: one task a chunk of columns, eight rows at a time.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME:    rt.range = 2
// CHECK:         scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>)
func.func private @columns(%x: tensor<3x5x64xf32>) -> tensor<64xf32> attributes {rt.kernel} {
  %y = tts.sum_to %x dims [2] : tensor<3x5x64xf32> to tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

// One number is one task; an operand made by maps is computed where it is read.
// CHECK-LABEL: func.func @all(
// CHECK-SAME:    %[[X:[^:]*]]: memref<960xf64>, %[[A:[^:]*]]: memref<1xf64>, %{{[^:]*}}: index
// CHECK-SAME:    rt.range = 1
// CHECK:         vector.load %[[X]]
// CHECK-NEXT:    math.absf
// CHECK:         memref.load %[[A]]
// CHECK:         memref.store %{{.*}}, %[[A]]
func.func private @all(%x: tensor<3x5x64xf64>, %a: tensor<f64>) -> (tensor<f64> {rt.tied = 1 : i64}) attributes {rt.kernel} {
  %0 = tts.abs %x : tensor<3x5x64xf64>
  %y = tts.sum_to %0 dims [] into %a : tensor<f64> : tensor<3x5x64xf64> to tensor<f64>
  return %y : tensor<f64>
}

// -----

// Padding adds exactly nothing to a loss.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    rt.range = 1
// CHECK:         arith.subf
// CHECK:         math.absf
// CHECK:         arith.select
// CHECK:         arith.addf
func.func private @loss(%p: tensor<4x5x80xf32>, %t: tensor<4x5x80xf32>, %n: tensor<4xi32>) -> tensor<f32> attributes {rt.kernel} {
  %s = tts.l1_loss %p, %t, %n : tensor<4x5x80xf32>, tensor<4xi32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// Mean, then variance, then the result: three passes over a row.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME:    rt.range = 20
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:           scf.for
// CHECK:           math.sqrt
// CHECK:           scf.for
// CHECK-NOT:       scf.for
func.func private @norm(%x: tensor<4x5x256xf32>, %g: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<4x5xf32>) attributes {rt.kernel} {
  %y, %m, %r = tts.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : tensor<4x5x256xf32>, tensor<256xf32> to tensor<4x5xf32>
  return %y, %m, %r : tensor<4x5x256xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}
