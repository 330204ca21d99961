// Results have storage of their own, even where two are the same number.
// RUN: tts-opt %s --tts-differentiate-pipeline --cse --canonicalize | FileCheck %s

// CHECK-LABEL: func @zero(
// CHECK: %[[A:.*]] = tts.full 0.000000e+00 {tts.gradient = "a"}
// CHECK: %[[B:.*]] = tts.full 0.000000e+00 {tts.gradient = "b"}
// CHECK: return %[[A]], %[[B]]

// CHECK-LABEL: func @denominators(
// CHECK: %[[P:.*]] = tts.count
// CHECK: %[[Q:.*]] = tts.count
// CHECK: return %[[P]], %[[Q]]

func.func @train(%a: tensor<2x5xf32> {tts.param = "a"}, %b: tensor<2x5xf32> {tts.param = "b"},
                 %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
  -> (tensor<f32> {tts.loss = "p"}, tensor<f32> {tts.loss = "q"}, tensor<f32> {tts.denominator = "p"}, tensor<f32> {tts.denominator = "q"})
  attributes {tts.program = "train"} {
  %0 = tts.mse_loss %a, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
  %1 = tts.mse_loss %b, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
  %2 = tts.count %n : tensor<2xi32> to tensor<f32>
  return %0, %1, %2, %2 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
