// RUN: tts-opt --tts-select %s | FileCheck %s -enable-var-scope

// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[X:.*]]: tensor<2x5x8xf32>{{.*}}, %[[W:.*]]: tensor<3x8xf32>
// CHECK: %[[Y:.*]] = rt.empty : tensor<2x5x3xf32>
// CHECK: rt.gemm %[[X]], %[[W]] into %[[Y]]
// CHECK-SAME: <m = 10, n = 3, k = 8, lda = 8, ldb = 8, ldc = 3, transposeA = false, transposeB = true, beta = 0, batch = 1
func.func @linear(%x: tensor<2x5x8xf32> {tts.input = "x"}, %w: tensor<3x8xf32> {tts.param = "w"})
    -> (tensor<2x5x3xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.linear %x, %w {transpose} : tensor<2x5x8xf32>, tensor<3x8xf32> to tensor<2x5x3xf32>
  return %y : tensor<2x5x3xf32>
}

// The unshifted tap overwrites all rows of all utterances at once; a shifted
// one adds to the rows it reaches, per utterance.
// CHECK-LABEL: func.func @conv1d(
// CHECK: %[[C:.*]] = rt.gemm {{.*}} <m = 10, n = 4, k = 8, {{.*}} beta = 0, batch = 1, {{.*}}> {offset_b = 32 : i64}
// CHECK: %[[L:.*]] = rt.gemm {{.*}} into %[[C]] <m = 4, n = 4, k = 8, {{.*}} beta = 1, batch = 2, strideA = 40, strideB = 0, strideC = 20> {offset_c = 4 : i64}
// CHECK: rt.gemm {{.*}} into %[[L]] <m = 4, {{.*}}> {offset_a = 8 : i64, offset_b = 64 : i64}
func.func @conv1d(%x: tensor<2x5x8xf32> {tts.input = "x"}, %w: tensor<3x8x4xf32> {tts.param = "w"})
    -> (tensor<2x5x4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 1} : tensor<2x5x8xf32>, tensor<3x8x4xf32> to tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// A tap that no row of a short sequence reaches makes no product.
// CHECK-LABEL: func.func @short(
// CHECK-COUNT-3: rt.gemm
// CHECK-NOT: rt.gemm
// CHECK: return
func.func @short(%x: tensor<1x2x8xf32> {tts.input = "x"}, %w: tensor<9x8x4xf32> {tts.param = "w"})
    -> (tensor<1x2x4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 4} : tensor<1x2x8xf32>, tensor<9x8x4xf32> to tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// The filter's gradient adds into the accumulator's own storage.
// CHECK-LABEL: func.func @filter_grad(
// CHECK-SAME: %[[ACC:.*]]: tensor<1x8x4xf32>
// CHECK: rt.gemm {{.*}} into %[[ACC]] <m = 8, n = 4, k = 10, {{.*}} transposeA = true, transposeB = false, beta = 1
func.func @filter_grad(%acc: tensor<1x8x4xf32> {tts.gradient = "w"}, %x: tensor<2x5x8xf32> {tts.input = "x"},
                       %dy: tensor<2x5x4xf32> {tts.input = "dy"})
    -> (tensor<1x8x4xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
  %dw = tts.conv1d_filter_grad %x, %dy into %acc : tensor<1x8x4xf32> {left = 0} : tensor<2x5x8xf32>, tensor<2x5x4xf32> to tensor<1x8x4xf32>
  return %dw : tensor<1x8x4xf32>
}

// Two rows reach three taps of five; the others' gradient is zero and is written, too (tts-check wants every byte of a gradient).
// CHECK-LABEL: func.func @short_filter_grad(
// CHECK-SAME: %[[ACC:.*]]: tensor<5x8x4xf32>
// CHECK: %[[ZERO:.*]] = rt.launch @full_5x8x4xf32
// CHECK-COUNT-3: rt.gemm
// CHECK-NOT: rt.gemm
// CHECK: rt.launch @accumulate_5x8x4xf32(%[[ACC]], %{{.*}}) {{.*}}tied = array<i64: 0>
func.func @short_filter_grad(%acc: tensor<5x8x4xf32> {tts.gradient = "w"}, %x: tensor<2x2x8xf32> {tts.input = "x"},
                             %dy: tensor<2x2x4xf32> {tts.input = "dy"})
    -> (tensor<5x8x4xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
  %dw = tts.conv1d_filter_grad %x, %dy into %acc : tensor<5x8x4xf32> {left = 2} : tensor<2x2x8xf32>, tensor<2x2x4xf32> to tensor<5x8x4xf32>
  return %dw : tensor<5x8x4xf32>
}

// With groups the rows of all utterances, two more each, are one run: a product per tap, its batch over the groups.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[P:.*]] = rt.launch @pad_time_3x7x8xf32
// CHECK: %[[A:.*]] = rt.gemm %[[P]], {{.*}} <m = 19, n = 3, k = 4, lda = 8, ldb = 6, ldc = 6, {{.*}} beta = 0, batch = 2, strideA = 4, strideB = 3, strideC = 3> : tensor
// CHECK: %[[B:.*]] = rt.gemm %[[P]], {{.*}} into %[[A]] <m = 19, {{.*}} beta = 1, batch = 2, {{.*}}> {offset_a = 8 : i64, offset_b = 24 : i64}
// CHECK: %[[C:.*]] = rt.gemm %[[P]], {{.*}} into %[[B]] {{.*}} {offset_a = 16 : i64, offset_b = 48 : i64}
// CHECK: rt.launch @unpad_time_3x5x6xf32(%[[C]])
func.func @groups(%x: tensor<3x5x8xf32> {tts.input = "x"}, %w: tensor<3x4x6xf32> {tts.param = "w"})
    -> (tensor<3x5x6xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 1, groups = 2} : tensor<3x5x8xf32>, tensor<3x4x6xf32> to tensor<3x5x6xf32>
  return %y : tensor<3x5x6xf32>
}

// CHECK-LABEL: func.func @groups_input_grad(
// CHECK: %[[P:.*]] = rt.launch @pad_time_3x7x6xf32
// CHECK: rt.gemm %[[P]], {{.*}} <m = 19, n = 4, k = 3, lda = 6, ldb = 6, ldc = 8, transposeA = false, transposeB = true, beta = 0, batch = 2, strideA = 3, strideB = 3, strideC = 4> {offset_a = 12 : i64}
func.func @groups_input_grad(%dy: tensor<3x5x6xf32> {tts.input = "dy"}, %w: tensor<3x4x6xf32> {tts.param = "w"})
    -> (tensor<3x5x8xf32> {tts.output = "dx"}) attributes {tts.program = "eval"} {
  %dx = tts.conv1d_input_grad %dy, %w {left = 1, groups = 2} : tensor<3x5x6xf32>, tensor<3x4x6xf32> to tensor<3x5x8xf32>
  return %dx : tensor<3x5x8xf32>
}

// CHECK-LABEL: func.func @groups_filter_grad(
// CHECK: rt.gemm {{.*}} <m = 4, n = 3, k = 19, lda = 8, ldb = 6, ldc = 6, transposeA = true, transposeB = false, beta = 1, batch = 2, strideA = 4, strideB = 3, strideC = 3> : tensor
// CHECK: rt.gemm {{.*}} {offset_a = 8 : i64, offset_c = 24 : i64}
func.func @groups_filter_grad(%acc: tensor<3x4x6xf32> {tts.gradient = "w"}, %x: tensor<3x5x8xf32> {tts.input = "x"},
                              %dy: tensor<3x5x6xf32> {tts.input = "dy"})
    -> (tensor<3x4x6xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
  %dw = tts.conv1d_filter_grad %x, %dy into %acc : tensor<3x4x6xf32> {left = 1, groups = 2} : tensor<3x5x8xf32>, tensor<3x5x6xf32> to tensor<3x4x6xf32>
  return %dw : tensor<3x4x6xf32>
}
