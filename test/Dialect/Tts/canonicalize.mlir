// Folds and canonicalizations, and what must not be merged.
// RUN: tts-opt %s --canonicalize --cse | FileCheck %s

!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>
!utterances = tensor<?xi64, #tts.dims<batch>>

// CHECK-LABEL: func @cast_to_same(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
func.func @cast_to_same(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NOT: tts.cast
  // CHECK: return %[[X]]
  %0 = tts.cast %x : tensor<8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Rounding to bf16 and back is not the identity.
// CHECK-LABEL: func @cast_rounds(
func.func @cast_rounds(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-COUNT-2: tts.cast
  %0 = tts.cast %x : tensor<8xf32> to tensor<8xbf16>
  %1 = tts.cast %0 : tensor<8xbf16> to tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func @mask_of_mask(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?x8xf32, #tts.dims<batch, text, _>>, %[[N:[^:]*]]:
func.func @mask_of_mask(%x: !x, %n: !lengths, %other: !lengths) -> (!x, !x) {
  // CHECK: %[[M:.*]] = tts.mask %[[X]], %[[N]]
  %0 = tts.mask %x, %n : !x, !lengths
  %1 = tts.mask %0, %n : !x, !lengths
  // CHECK: %[[O:.*]] = tts.mask %[[M]], %{{.*}}
  %2 = tts.mask %0, %other : !x, !lengths
  // CHECK: return %[[M]], %[[O]]
  return %1, %2 : !x, !x
}

// CHECK-LABEL: func @dropout_of_nothing(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?x8xf32
func.func @dropout_of_nothing(%x: !x, %u: !utterances, %draw: tensor<2xi64>) -> !x {
  // CHECK: return %[[X]]
  %0 = tts.dropout %x, %u, %draw {rate = 0.0 : f64, stream = "d"} : !x, !utterances, tensor<2xi64>
  return %0 : !x
}

// Two streams are two draws; the same stream is the same draw.
// CHECK-LABEL: func @dropout_streams(
func.func @dropout_streams(%x: !x, %u: !utterances, %draw: tensor<2xi64>) -> (!x, !x, !x) {
  // CHECK: %[[A:.*]] = tts.dropout {{.*}} stream = "a"
  // CHECK: %[[B:.*]] = tts.dropout {{.*}} stream = "b"
  %0 = tts.dropout %x, %u, %draw {rate = 0.1 : f64, stream = "a"} : !x, !utterances, tensor<2xi64>
  %1 = tts.dropout %x, %u, %draw {rate = 0.1 : f64, stream = "b"} : !x, !utterances, tensor<2xi64>
  %2 = tts.dropout %x, %u, %draw {rate = 0.1 : f64, stream = "a"} : !x, !utterances, tensor<2xi64>
  // CHECK: return %[[A]], %[[B]], %[[A]]
  return %0, %1, %2 : !x, !x, !x
}

// CHECK-LABEL: func @accumulate_in_place(
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[DY:[^:]*]]: {{.*}}, %[[ACC:[^:]*]]: tensor<8x8xf32>)
func.func @accumulate_in_place(%x: !x, %dy: !x, %acc: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: %[[FIRST:.*]] = tts.weight_grad %[[X]], %[[DY]] into %[[ACC]]
  // CHECK: %[[SECOND:.*]] = tts.weight_grad %[[DY]], %[[X]] into %[[FIRST]]
  // CHECK-NOT: tts.accumulate
  // CHECK: return %[[SECOND]]
  %0 = tts.weight_grad %x, %dy : !x, !x to tensor<8x8xf32>
  %1 = tts.weight_grad %dy, %x : !x, !x to tensor<8x8xf32>
  %2 = tts.accumulate %acc, %0 : tensor<8x8xf32>
  %3 = tts.accumulate %2, %1 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// A gradient with another reader is computed once, then added.
// CHECK-LABEL: func @accumulate_shared(
func.func @accumulate_shared(%x: !x, %acc: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[S:.*]] = tts.sum_to %{{.*}} dims [2] : tensor<?x?x8xf32
  // CHECK: %[[A:.*]] = tts.accumulate %{{.*}}, %[[S]]
  // CHECK: return %[[A]], %[[S]]
  %0 = tts.sum_to %x dims [2] : !x to tensor<8xf32>
  %1 = tts.accumulate %acc, %0 : tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<8xf32>
}
