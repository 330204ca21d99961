// RUN: tts-opt --tts-select %s | FileCheck %s -enable-var-scope

// What the target chose is obeyed: the call stands where the last sum stood, adds
// the bias, then onto the residual's bytes.
// CHECK-LABEL: func.func @library(
// CHECK-SAME: %[[X:.*]]: tensor<2x9x64xf32>{{.*}}, %[[W:.*]]: tensor<3x64x64xf32>{{.*}}, %[[B:.*]]: tensor<64xf32>
// CHECK: %[[H:.*]] = rt.launch @tanh
// CHECK: %[[Y:.*]] = rt.conv1d %[[X]], %[[W]] onto %[[H]] bias %[[B]] {left = 1 : i64, rt.scratch = 512 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @library(%x: tensor<2x9x64xf32> {tts.input = "x"}, %w: tensor<3x64x64xf32> {tts.param = "w"},
                   %b: tensor<64xf32> {tts.param = "b"})
    -> (tensor<2x9x64xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %c = tts.conv1d %x, %w {left = 1, rt.scratch = 512 : i64} : tensor<2x9x64xf32>, tensor<3x64x64xf32> to tensor<2x9x64xf32>
  %bb = tts.broadcast %b dims [2] : tensor<64xf32> to tensor<2x9x64xf32>
  %s = tts.add %bb, %c : tensor<2x9x64xf32>
  %h = tts.tanh %x : tensor<2x9x64xf32>
  %y = tts.add %h, %s {rt.epilogue} : tensor<2x9x64xf32>
  return %y : tensor<2x9x64xf32>
}

// One tap is one product.
// CHECK-LABEL: func.func @one_tap(
// CHECK: rt.gemm {{.*}} bias %{{.*}} <m = 18, n = 32, k = 64, {{.*}} beta = 0, batch = 1,
// CHECK-NEXT: return
func.func @one_tap(%x: tensor<2x9x64xf32> {tts.input = "x"}, %w: tensor<1x64x32xf32> {tts.param = "w"},
                   %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x9x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %c = tts.conv1d %x, %w {left = 0} : tensor<2x9x64xf32>, tensor<1x64x32xf32> to tensor<2x9x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x9x32xf32>
  %y = tts.add %c, %bb {rt.epilogue} : tensor<2x9x32xf32>
  return %y : tensor<2x9x32xf32>
}

// Behind several taps' products no call has the whole sum: a kernel adds.
// CHECK-LABEL: func.func @three_taps(
// CHECK-COUNT-3: rt.gemm
// CHECK: rt.launch @add
func.func @three_taps(%x: tensor<2x9x64xf32> {tts.input = "x"}, %w: tensor<3x64x32xf32> {tts.param = "w"},
                      %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x9x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %c = tts.conv1d %x, %w {left = 1} : tensor<2x9x64xf32>, tensor<3x64x32xf32> to tensor<2x9x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x9x32xf32>
  %y = tts.add %c, %bb {rt.epilogue} : tensor<2x9x32xf32>
  return %y : tensor<2x9x32xf32>
}
