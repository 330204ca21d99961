// Sums over ranks are printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

// CHECK-LABEL: func @sum
func.func @sum(%a: tensor<4x2xf32>, %b: tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>) {
  // CHECK: tts.all_reduce %{{.*}}, %{{.*}} : (tensor<4x2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>)
  %0:2 = tts.all_reduce %a, %b : (tensor<4x2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<3xf32>
}
