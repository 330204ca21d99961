// What ranks exchange is printed as it was parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

// CHECK-LABEL: func @sum
func.func @sum(%a: tensor<4x2xf32>, %b: tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>) {
  // CHECK: tts.all_reduce %{{.*}}, %{{.*}} : (tensor<4x2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>)
  %0:2 = tts.all_reduce %a, %b : (tensor<4x2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @shards
func.func @shards(%a: tensor<3x3xf32>, %g: tensor<3x3xf32>, %h: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  // CHECK: %[[S:.*]] = tts.shard %{{.*}} over 4 : (tensor<3x3xf32>) -> tensor<3xf32>
  %0 = tts.shard %a over 4 : (tensor<3x3xf32>) -> tensor<3xf32>
  // CHECK: %[[G:.*]] = tts.reduce_scatter %{{.*}} over 4 : tensor<3x3xf32> to tensor<3xf32>
  %1 = tts.reduce_scatter %g over 4 : tensor<3x3xf32> to tensor<3xf32>
  // CHECK: tts.reduce_scatter %{{.*}} into %[[G]] over 4 : tensor<3x3xf32> into tensor<3xf32> to tensor<3xf32>
  %2 = tts.reduce_scatter %h into %1 over 4 : tensor<3x3xf32> into tensor<3xf32> to tensor<3xf32>
  // CHECK: tts.all_gather %[[S]] over 4 : (tensor<3xf32>) -> tensor<3x3xf32>
  %3 = tts.all_gather %0 over 4 : (tensor<3xf32>) -> tensor<3x3xf32>
  return %3, %2 : tensor<3x3xf32>, tensor<3xf32>
}
