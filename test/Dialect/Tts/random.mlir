// Draws: printed as they were parsed, with and without the update's numbers.
// RUN: tts-opt %s | tts-opt | FileCheck %s

!b = tensor<?xf32, #tts.dims<batch>>
!bt = tensor<?x?xf32, #tts.dims<batch, frames>>
!btc = tensor<?x?x80xf32, #tts.dims<batch, frames, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>
!ids = tensor<?xi64, #tts.dims<batch>>

// CHECK-LABEL: func @draws(
func.func @draws(%n: !lengths, %u: !ids, %draw: tensor<2xi64>) {
  // CHECK: tts.normal %{{.*}}, %{{.*}} {stream = "noise"} : tensor<?xi64, #tts.dims<batch>>, tensor<2xi64> to tensor<?x?x80xf32, #tts.dims<batch, frames, _>>
  %0 = tts.normal %u, %draw {stream = "noise"} : !ids, tensor<2xi64> to !btc
  // CHECK: tts.normal %{{[^,]*}} {stream = "noise"} : tensor<?xi64, #tts.dims<batch>> to tensor<?x?xf32, #tts.dims<batch, frames>>
  %1 = tts.normal %u {stream = "noise"} : !ids to !bt
  // CHECK: tts.uniform %{{.*}}, %{{.*}} {stream = "t"} : tensor<?xi64, #tts.dims<batch>>, tensor<2xi64> to tensor<?xf32, #tts.dims<batch>>
  %2 = tts.uniform %u, %draw {stream = "t"} : !ids, tensor<2xi64> to !b
  // CHECK: tts.span_mask %{{.*}}, %{{.*}}, %{{.*}} {high = 1.000000e+00 : f64, low = {{0.69.*}} : f64, stream = "span"} : tensor<?xi32, #tts.dims<batch>>, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64> to tensor<?x?xf32, #tts.dims<batch, frames>>
  %3 = tts.span_mask %n, %u, %draw {low = 0.7 : f64, high = 1.0 : f64, stream = "span"} : !lengths, !ids, tensor<2xi64> to !bt
  // CHECK: tts.coin %{{.*}} {rate = 2.000000e-01 : f64, stream = "drop"} : tensor<2xi64> to tensor<f32>
  %4 = tts.coin %draw {rate = 0.2 : f64, stream = "drop"} : tensor<2xi64> to tensor<f32>
  return
}
