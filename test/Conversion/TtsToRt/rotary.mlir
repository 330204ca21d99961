// Heads become a dimension, by another name for the same bytes; q itself is overwritten.
// RUN: tts-opt --tts-select %s | FileCheck %s -enable-var-scope

// CHECK-LABEL: func.func @forward(
// CHECK: %[[Q:.*]] = rt.gemm
// CHECK: %[[SPLIT:.*]] = rt.alias %[[Q]] : tensor<2x5x64xf32> to tensor<2x5x2x32xf32>
// CHECK: %[[Y:.*]] = rt.launch @rotary_2x5x2x32xf32(%[[SPLIT]], {{.*}}in_place = array<i64: 0>
// CHECK: %[[BACK:.*]] = rt.alias %[[Y]] : tensor<2x5x2x32xf32> to tensor<2x5x64xf32>
// CHECK: return %[[BACK]]
func.func @forward(%x: tensor<2x5x64xf32> {tts.input = "x"}, %w: tensor<64x64xf32> {tts.param = "w"})
    -> (tensor<2x5x64xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %table = tts.sinusoid : tensor<5x32xf32>
  %q = tts.linear %x, %w : tensor<2x5x64xf32>, tensor<64x64xf32> to tensor<2x5x64xf32>
  %y = tts.rotary %q, %table {heads = 2} : tensor<2x5x64xf32>, tensor<5x32xf32>
  return %y : tensor<2x5x64xf32>
}
