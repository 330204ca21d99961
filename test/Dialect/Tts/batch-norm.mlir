// Batch normalisation and what it is made of, printed as parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

!x = tensor<?x?x16xf32, #tts.dims<batch, frames, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>

// CHECK-LABEL: @batch_norm
// CHECK: tts.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64} : tensor<?x?x16xf32, #tts.dims<batch, frames, _>>, tensor<16xf32>, tensor<?xi32, #tts.dims<batch>>
func.func @batch_norm(%x: !x, %g: tensor<16xf32>, %b: tensor<16xf32>, %mean: tensor<16xf32>, %variance: tensor<16xf32>, %lengths: !lengths) -> !x {
  %y = tts.batch_norm %x, %g, %b, %mean, %variance, %lengths {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : !x, tensor<16xf32>, !lengths
  return %y : !x
}

// CHECK-LABEL: @parts
// CHECK: tts.batch_statistics
// CHECK: tts.batch_normalize %
// CHECK: tts.running_average {{.*}} {momentum = 1.000000e-01 : f64} :
// CHECK: tts.running_average {{.*}} {momentum = 1.000000e-01 : f64, unbiased} :
func.func @parts(%x: !x, %g: tensor<16xf32>, %b: tensor<16xf32>, %old: tensor<16xf32>, %lengths: !lengths) -> (!x, tensor<16xf32>, tensor<16xf32>) {
  %n = tts.count %lengths : !lengths to tensor<f32>
  %mean, %rstd, %variance = tts.batch_statistics %x, %lengths, %n {epsilon = 1.0e-5 : f64} : !x, !lengths, tensor<f32> to tensor<16xf32>
  %y = tts.batch_normalize %x, %mean, %rstd, %g, %b : !x, tensor<16xf32>
  %0 = tts.running_average %old, %mean, %n {momentum = 0.1 : f64} : tensor<16xf32>, tensor<f32>
  %1 = tts.running_average %old, %variance, %n {momentum = 0.1 : f64, unbiased} : tensor<16xf32>, tensor<f32>
  return %y, %0, %1 : !x, tensor<16xf32>, tensor<16xf32>
}
