// Attention by blocks of queries: which products, softmaxes and tensors there
// are; none has time twice.
// RUN: tts-opt --tts-select --split-input-file %s | FileCheck %s -enable-var-scope

// Six entries per block whatever the batch; the last, shorter block comes
// first. Heads stand before time.
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: tensor<{{.*}}150x150x
// CHECK-COUNT-3: rt.launch @swap_middle_3x2x150x4xf32
// CHECK: %[[Y0:.*]] = rt.empty : tensor<3x2x150x4xf32>
// CHECK: %[[S:.*]] = rt.gemm {{.*}} <m = 22, n = 150, k = 4, lda = 4, ldb = 4, ldc = 150, transposeA = false, transposeB = true, beta = 0, batch = 6, strideA = 600, strideB = 600, strideC = 3300> {offset_a = 512 : i64}
// CHECK: %[[P:.*]] = rt.launch @key_softmax_3x2x22x150xf32(%[[S]], %{{.*}}) {{.*}}tied = array<i64: 0>
// CHECK: %[[Y1:.*]] = rt.gemm %[[P]], %{{.*}} into %[[Y0]] <m = 22, n = 4, k = 150, {{.*}} batch = 6, strideA = 3300, strideB = 600, strideC = 600> {offset_c = 512 : i64}
// CHECK: rt.gemm {{.*}} <m = 64, n = 150, {{.*}} {offset_a = 256 : i64}
// CHECK: rt.launch @key_softmax_3x2x64x150xf32
// CHECK: rt.gemm {{.*}} into %[[Y1]] <m = 64, n = 4, k = 150, {{.*}} {offset_c = 256 : i64}
// CHECK: rt.gemm {{.*}} <m = 64, n = 150, k = 4
// CHECK: rt.launch @key_softmax_3x2x64x150xf32
// CHECK: rt.gemm {{.*}} <m = 64, n = 4, k = 150
// CHECK-NOT: rt.gemm
// CHECK: rt.launch @swap_middle_3x150x2x4xf32
// CHECK-NOT: tensor<{{.*}}150x150x
// CHECK: return
func.func @forward(%q: tensor<3x150x8xf32> {tts.input = "q"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<3x150x8xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.attention %q, %q, %q, %n {heads = 2} : tensor<3x150x8xf32>, tensor<3xi32>
  return %y : tensor<3x150x8xf32>
}

// -----

// Per block: scores again, dp, their gradient in place of dp; dv and dk
// overwrite in the first block, then add.
// CHECK-LABEL: func.func @backward(
// CHECK-NOT: tensor<{{.*}}150x150x
// CHECK-COUNT-4: rt.launch @swap_middle_3x2x150x4xf32
// CHECK: %[[DQ:.*]] = rt.empty : tensor<3x2x150x4xf32>
// CHECK: %[[DK:.*]] = rt.empty : tensor<3x2x150x4xf32>
// CHECK: %[[DV:.*]] = rt.empty : tensor<3x2x150x4xf32>
// CHECK: rt.gemm {{.*}} <m = 22, n = 150, k = 4
// CHECK: %[[P:.*]] = rt.launch @key_softmax_3x2x22x150xf32
// CHECK: %[[DP:.*]] = rt.gemm {{.*}} <m = 22, n = 150, k = 4
// CHECK: %[[DS:.*]] = rt.launch @key_softmax_grad_3x2x22x150xf32(%[[P]], %[[DP]]) {{.*}}tied = array<i64: 1>
// CHECK: %[[DV1:.*]] = rt.gemm %[[P]], %{{.*}} into %[[DV]] <m = 150, n = 4, k = 22, lda = 150, {{.*}} transposeA = true, transposeB = false, beta = 0, batch = 6, strideA = 3300, strideB = 600, strideC = 600> {offset_b = 512 : i64}
// CHECK: rt.gemm %[[DS]], %{{.*}} into %[[DQ]] <m = 22, n = 4, k = 150, {{.*}}> {offset_c = 512 : i64}
// CHECK: %[[DK1:.*]] = rt.gemm %[[DS]], %{{.*}} into %[[DK]] <m = 150, n = 4, k = 22, {{.*}} beta = 0
// CHECK: rt.gemm {{.*}} into %[[DV1]] <m = 150, n = 4, k = 64, {{.*}} beta = 1, {{.*}}> {offset_b = 256 : i64}
// CHECK: rt.gemm {{.*}} into %[[DK1]] <m = 150, n = 4, k = 64, {{.*}} beta = 1
// CHECK-COUNT-3: rt.launch @swap_middle_3x150x2x4xf32
// CHECK-NOT: tensor<{{.*}}150x150x
// CHECK: return
func.func @backward(%q: tensor<3x150x8xf32> {tts.input = "q"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<3x150x8xf32> {tts.output = "dq"}, tensor<3x150x8xf32> {tts.output = "dk"}, tensor<3x150x8xf32> {tts.output = "dv"})
    attributes {tts.program = "backward"} {
  %dq, %dk, %dv = tts.attention_grad %q, %q, %q, %q, %n {heads = 2} : tensor<3x150x8xf32>, tensor<3xi32>
  return %dq, %dk, %dv : tensor<3x150x8xf32>, tensor<3x150x8xf32>, tensor<3x150x8xf32>
}

// -----

// A causal block reads and scores the keys up to its last query only. The last
// block reaches all keys: it alone overwrites.
// CHECK-LABEL: func.func @causal(
// CHECK: rt.gemm {{.*}} <m = 22, n = 150, k = 4
// CHECK: rt.launch @key_softmax_3x2x22x150xf32
// CHECK: rt.gemm {{.*}} <m = 22, n = 4, k = 150
// CHECK: rt.gemm {{.*}} <m = 64, n = 128, k = 4, {{.*}} strideC = 8192>
// CHECK: rt.launch @key_softmax_3x2x64x128xf32
// CHECK: rt.gemm {{.*}} <m = 64, n = 4, k = 128, {{.*}} strideA = 8192, strideB = 600, strideC = 600>
// CHECK: rt.gemm {{.*}} <m = 64, n = 64, k = 4
// CHECK: rt.launch @key_softmax_3x2x64x64xf32
// CHECK: rt.gemm {{.*}} <m = 64, n = 4, k = 64
// CHECK: rt.gemm {{.*}} into %{{.*}} <m = 150, n = 4, k = 22, {{.*}} beta = 0
// CHECK: rt.gemm {{.*}} into %{{.*}} <m = 128, n = 4, k = 64, {{.*}} beta = 1
// CHECK: rt.gemm {{.*}} into %{{.*}} <m = 64, n = 4, k = 64, {{.*}} beta = 1
// CHECK: return
// CHECK: func.func private @key_softmax_3x2x22x150xf32
// CHECK: tts.key_softmax {{.*}} {causal, first_query = 128 : i64
func.func @causal(%q: tensor<3x150x8xf32> {tts.input = "q"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<3x150x8xf32> {tts.output = "y"}, tensor<3x150x8xf32> {tts.output = "dv"}) attributes {tts.program = "backward"} {
  %y = tts.attention %q, %q, %q, %n {heads = 2, causal} : tensor<3x150x8xf32>, tensor<3xi32>
  %dq, %dk, %dv = tts.attention_grad %q, %q, %q, %q, %n {heads = 2, causal} : tensor<3x150x8xf32>, tensor<3xi32>
  return %y, %dv : tensor<3x150x8xf32>, tensor<3x150x8xf32>
}

// -----

// Dropout is part of the softmax kernel in forward; backward keeps the
// probabilities before it for the gradient, which also gives the dropped ones.
// CHECK-LABEL: func.func @dropped(
// CHECK: %[[P:.*]] = rt.launch @key_softmax_2x1x20x20xf32(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: rt.gemm %[[P]],
// CHECK: %[[P2:.*]] = rt.launch @key_softmax_2x1x20x20xf32_1(%{{.*}}, %{{.*}})
// CHECK: %[[DP:.*]] = rt.gemm
// CHECK: %[[G:.*]]:2 = rt.launch @key_softmax_grad_2x1x20x20xf32(%[[P2]], %[[DP]], %{{.*}}, %{{.*}}) {{.*}}tied = array<i64: 1, 0>
// CHECK: rt.gemm %[[G]]#1, {{.*}} transposeA = true
// CHECK: rt.gemm %[[G]]#0, {{.*}} transposeA = false
// CHECK: rt.gemm %[[G]]#0, {{.*}} transposeA = true
// CHECK: func.func private @key_softmax_2x1x20x20xf32(
// CHECK: tts.key_softmax {{.*}} dropout {{.*}} {rate = 2.500000e-01 : f64, scale = {{.*}} : f64, stream = "s"}
// CHECK: func.func private @key_softmax_2x1x20x20xf32_1(
// CHECK-NOT: dropout
// CHECK: return
func.func @dropped(%q: tensor<2x20x4xf32> {tts.input = "q"}, %n: tensor<2xi32> {tts.input = "n"},
                   %u: tensor<2xi64> {tts.input = "utterance"}, %draw: tensor<2xi64> {tts.scalar = "draw"})
    -> (tensor<2x20x4xf32> {tts.output = "y"}, tensor<2x20x4xf32> {tts.output = "dq"}, tensor<2x20x4xf32> {tts.output = "dk"}, tensor<2x20x4xf32> {tts.output = "dv"})
    attributes {tts.program = "backward"} {
  %y = tts.attention %q, %q, %q, %n dropout %u, %draw {heads = 1, rate = 0.25 : f64, stream = "s"} : tensor<2x20x4xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  %dq, %dk, %dv = tts.attention_grad %q, %q, %q, %q, %n dropout %u, %draw {heads = 1, rate = 0.25 : f64, stream = "s"} : tensor<2x20x4xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  return %y, %dq, %dk, %dv : tensor<2x20x4xf32>, tensor<2x20x4xf32>, tensor<2x20x4xf32>, tensor<2x20x4xf32>
}

// -----

// One head is head-major as it is: nothing is transposed.
// CHECK-LABEL: func.func @one_head(
// CHECK-NOT: swap_middle
// CHECK: return
func.func @one_head(%q: tensor<2x20x4xf32> {tts.input = "q"}, %n: tensor<2xi32> {tts.input = "n"})
    -> (tensor<2x20x4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.attention %q, %q, %q, %n {heads = 1} : tensor<2x20x4xf32>, tensor<2xi32>
  return %y : tensor<2x20x4xf32>
}

// -----

// Keys beyond a cache: groups of a quarter of the utterances, which are views
// of the lengths, and longer blocks. Twice the batch makes no more entries.
// CHECK-LABEL: func.func @long(
// CHECK-NOT: tensor<{{.*}}600x600x
// CHECK: rt.gemm {{.*}} <m = 24, n = 600, k = 256, {{.*}} batch = 6, {{.*}}> {offset_a = 147456 : i64}
// CHECK: %[[N:.*]] = rt.slice %{{.*}}[0] : tensor<10xi32> to tensor<3xi32>
// CHECK: rt.launch @key_softmax_3x2x24x600xf32(%{{.*}}, %[[N]])
// CHECK: rt.gemm {{.*}} <m = 192, n = 600, k = 256, {{.*}} batch = 6, {{.*}}> {offset_a = 98304 : i64}
// CHECK: rt.gemm {{.*}} <m = 24, n = 600, k = 256, {{.*}} batch = 6, {{.*}}> {offset_a = 1069056 : i64, offset_b = 921600 : i64}
// CHECK: rt.slice %{{.*}}[3] : tensor<10xi32> to tensor<3xi32>
// CHECK: rt.gemm {{.*}} <m = 24, n = 600, k = 256, {{.*}} batch = 2,
// CHECK: rt.slice %{{.*}}[9] : tensor<10xi32> to tensor<1xi32>
// CHECK-NOT: tensor<{{.*}}600x600x
// CHECK: return
func.func @long(%q: tensor<10x600x512xf32> {tts.input = "q"}, %n: tensor<10xi32> {tts.input = "n"})
    -> (tensor<10x600x512xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.attention %q, %q, %q, %n {heads = 2} : tensor<10x600x512xf32>, tensor<10xi32>
  return %y : tensor<10x600x512xf32>
}

// -----

// Four query heads on two key heads: the two of a group are rows of their key head, side by side under each query, in
// every product; dk and dv have the keys' two heads.
// CHECK-LABEL: func.func @grouped(
// CHECK: rt.launch @swap_middle_3x2x150x8xf32
// CHECK: %[[Q:.*]] = rt.alias %{{.*}} : tensor<3x2x150x8xf32> to tensor<3x2x300x4xf32>
// CHECK: rt.launch @swap_middle_3x2x150x4xf32
// CHECK: rt.gemm %[[Q]], %[[K:.*]] into %{{.*}} <m = 44, n = 150, k = 4, {{.*}} batch = 6, strideA = 1200, strideB = 600, strideC = 6600> {offset_a = 1024 : i64}
// CHECK: %[[P:.*]] = rt.launch @key_softmax_3x2x44x150xf32
// CHECK: %[[DS:.*]] = rt.launch @key_softmax_grad_3x2x44x150xf32
// CHECK: rt.gemm %[[P]], {{.*}} <m = 150, n = 4, k = 44, {{.*}} transposeA = true, transposeB = false, beta = 0, batch = 6, strideA = 6600, strideB = 1200, strideC = 600> {offset_b = 1024 : i64}
// CHECK: rt.gemm %[[DS]], %[[K]] into {{.*}} <m = 44, n = 4, k = 150, {{.*}} strideA = 6600, strideB = 600, strideC = 1200> {offset_c = 1024 : i64}
// CHECK: rt.gemm %[[DS]], %[[Q]] into {{.*}} <m = 150, n = 4, k = 44, {{.*}} strideC = 600> {offset_b = 1024 : i64}
// CHECK: rt.gemm {{.*}} <m = 128, n = 128, k = 4
// CHECK: tts.key_softmax {{.*}} {causal, first_query = 128 : i64, group = 2 : i64
func.func @grouped(%q: tensor<3x150x16xf32> {tts.input = "q"}, %k: tensor<3x150x8xf32> {tts.input = "k"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<3x150x16xf32> {tts.output = "dq"}, tensor<3x150x8xf32> {tts.output = "dk"}, tensor<3x150x8xf32> {tts.output = "dv"})
    attributes {tts.program = "backward"} {
  %dq, %dk, %dv = tts.attention_grad %q, %q, %k, %k, %n {heads = 4, causal} : tensor<3x150x16xf32> keys tensor<3x150x8xf32>, tensor<3xi32>
  return %dq, %dk, %dv : tensor<3x150x16xf32>, tensor<3x150x8xf32>, tensor<3x150x8xf32>
}

// -----

// One key head: nothing is exchanged.
// CHECK-LABEL: func.func @one_key_head(
// CHECK-NOT: swap_middle
// CHECK: return
func.func @one_key_head(%q: tensor<3x150x16xf32> {tts.input = "q"}, %k: tensor<3x150x4xf32> {tts.input = "k"}, %n: tensor<3xi32> {tts.input = "n"})
    -> (tensor<3x150x16xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.attention %q, %k, %k, %n {heads = 4, causal} : tensor<3x150x16xf32> keys tensor<3x150x4xf32>, tensor<3xi32>
  return %y : tensor<3x150x16xf32>
}
