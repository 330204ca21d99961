// RUN: tts-opt --tts-to-kernels --split-input-file %s | FileCheck %s
// RUN: tts-opt --tts-to-kernels --tts-lower-math --split-input-file %s | FileCheck %s --check-prefix=MATH
// REQUIRES: tts-opt

// Loads widen, ops compute in f32, every result is rounded, and a store takes what is rounded already.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:.*]]: memref<64xbf16>, %[[Y:.*]]: memref<64xbf16>, %[[Z:.*]]: memref<64xbf16>
// CHECK:         %[[A:.*]] = vector.load %[[X]]{{.*}} vector<32xbf16>
// CHECK:         arith.extf %[[A]] : vector<32xbf16> to vector<32xf32>
// CHECK:         %[[S:.*]] = arith.addf {{.*}} : vector<32xf32>
// CHECK:         %[[R:.*]] = arith.truncf %[[S]] : vector<32xf32> to vector<32xbf16>
// CHECK:         %[[W:.*]] = arith.extf %[[R]]
// CHECK:         %[[P:.*]] = arith.mulf %[[W]],
// CHECK:         arith.truncf %[[P]]
// CHECK:         vector.store {{.*}}, %[[Z]]{{.*}} vector<32xbf16>
// The rounding to bf16 is in integers; no machine's own flushes its denormals.
// MATH-LABEL: func.func @chain(
// MATH-NOT:     arith.truncf
// MATH-NOT:     arith.extf
// MATH:         return
func.func private @chain(%x: tensor<2x32xbf16>, %y: tensor<2x32xbf16>) -> tensor<2x32xbf16> attributes {rt.kernel} {
  %0 = tts.add %x, %y : tensor<2x32xbf16>
  %1 = tts.mul %0, %y : tensor<2x32xbf16>
  return %1 : tensor<2x32xbf16>
}

// -----

// What is a number of its operands is not rounded again.
// CHECK-LABEL: func.func @exact(
// CHECK-COUNT-1: arith.truncf
// CHECK-NOT:     arith.truncf
// CHECK:         return
func.func private @exact(%x: tensor<2x32xf16>) -> tensor<2x32xf16> attributes {rt.kernel} {
  %0 = tts.relu %x : tensor<2x32xf16>
  %1 = tts.neg %0 : tensor<2x32xf16>
  %2 = tts.abs %1 : tensor<2x32xf16>
  return %2 : tensor<2x32xf16>
}

// -----

// Statistics and sums of half numbers are f32.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME:    memref<128xbf16>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<128xbf16>, %{{.*}}: memref<2xf32>
// CHECK-NOT:     arith.addf {{.*}}bf16
// CHECK:         memref.store {{.*}} : memref<2xf32>
func.func private @norm(%x: tensor<2x64xbf16>, %g: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<2x64xbf16>, tensor<2xf32>, tensor<2xf32>) attributes {rt.kernel} {
  %y, %m, %r = tts.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : tensor<2x64xbf16>, tensor<64xf32> to tensor<2xf32>
  return %y, %m, %r : tensor<2x64xbf16>, tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME:    %[[S:.*]]: memref<192xf32>, %{{.*}}: memref<1xi32>, %[[N:.*]]: memref<192xbf16>
// CHECK:         vector.store {{.*}}, %[[N]]{{.*}} vector<32xbf16>
func.func private @softmax(%s: tensor<1x2x3x32xf32>, %n: tensor<1xi32>) -> (tensor<1x2x3x32xf32> {rt.tied = 0 : i64}, tensor<1x2x3x32xbf16>) attributes {rt.kernel} {
  %p, %h = tts.key_softmax %s, %n {scale = 0.5 : f64} : tensor<1x2x3x32xf32>, tensor<1xi32> narrow tensor<1x2x3x32xbf16>
  return %p, %h : tensor<1x2x3x32xf32>, tensor<1x2x3x32xbf16>
}
