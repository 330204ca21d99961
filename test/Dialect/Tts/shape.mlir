// Broadcasts, sums, gathers, time: printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!y = tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
!ids = tensor<?x?xi32, #tts.dims<batch, text>>
!lengths = tensor<?xi32, #tts.dims<batch>>

// CHECK-LABEL: func @made_from_nothing(
func.func @made_from_nothing() -> (!x, tensor<?x8xf32, #tts.dims<text, _>>) {
  // CHECK: tts.full 5.000000e-01 : tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %0 = tts.full 0.5 : !x
  // CHECK: tts.sinusoid : tensor<?x8xf32, #tts.dims<text, _>>
  %1 = tts.sinusoid : tensor<?x8xf32, #tts.dims<text, _>>
  return %0, %1 : !x, tensor<?x8xf32, #tts.dims<text, _>>
}

// CHECK-LABEL: func @rotary(
func.func @rotary(%x: !x, %table: tensor<?x4xf32, #tts.dims<text, _>>) -> !x {
  // CHECK: tts.rotary %{{.*}}, %{{.*}} {heads = 2 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?x4xf32, #tts.dims<text, _>>
  %0 = tts.rotary %x, %table {heads = 2} : !x, tensor<?x4xf32, #tts.dims<text, _>>
  // CHECK: tts.rotary %{{.*}}, %{{.*}} {heads = 2 : i64, inverse} :
  %1 = tts.rotary %0, %table {heads = 2, inverse} : !x, tensor<?x4xf32, #tts.dims<text, _>>
  return %1 : !x
}

// CHECK-LABEL: func @broadcast(
func.func @broadcast(%bias: tensor<8xf32>, %acc: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[B:.*]] = tts.broadcast %{{.*}} dims [2] : tensor<8xf32> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %0 = tts.broadcast %bias dims [2] : tensor<8xf32> to !x
  // CHECK: tts.sum_to %[[B]] dims [] : tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<f32>
  %1 = tts.sum_to %0 dims [] : !x to tensor<f32>
  // CHECK: %[[S:.*]] = tts.sum_to %[[B]] dims [0, 1] :
  %2 = tts.sum_to %0 dims [0, 1] : !x to tensor<?x?xf32, #tts.dims<batch, text>>
  // CHECK: %[[U:.*]] = tts.unsqueeze %[[S]] {dim = 2 : i64} : tensor<?x?xf32, #tts.dims<batch, text>> to tensor<?x?x1xf32, #tts.dims<batch, text, _>>
  %3 = tts.unsqueeze %2 {dim = 2 : i64} : tensor<?x?xf32, #tts.dims<batch, text>> to tensor<?x?x1xf32, #tts.dims<batch, text, _>>
  // CHECK: tts.squeeze %[[U]] {dim = 2 : i64} : tensor<?x?x1xf32, #tts.dims<batch, text, _>> to tensor<?x?xf32, #tts.dims<batch, text>>
  %4 = tts.squeeze %3 {dim = 2 : i64} : tensor<?x?x1xf32, #tts.dims<batch, text, _>> to tensor<?x?xf32, #tts.dims<batch, text>>
  // CHECK: tts.sum_to %[[B]] dims [2] into %{{.*}} : tensor<8xf32> : tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<8xf32>
  %5 = tts.sum_to %0 dims [2] into %acc : tensor<8xf32> : !x to tensor<8xf32>
  return %5 : tensor<8xf32>
}

// CHECK-LABEL: func @gather(
func.func @gather(%x: !x, %ids: !ids, %n: !lengths, %u: tensor<?xi64, #tts.dims<batch>>, %draw: tensor<2xi64>,
                  %table: tensor<40x8xf32>, %pitch: tensor<?x?xf32, #tts.dims<batch, text>>,
                  %boundaries: tensor<15xf32>) -> tensor<40x8xf32> {
  // CHECK: tts.mask %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?xi32, #tts.dims<batch>>
  %0 = tts.mask %x, %n : !x, !lengths
  // CHECK: tts.bucketize %{{.*}}, %{{.*}} : tensor<?x?xf32, #tts.dims<batch, text>>, tensor<15xf32> to tensor<?x?xi32, #tts.dims<batch, text>>
  %1 = tts.bucketize %pitch, %boundaries : tensor<?x?xf32, #tts.dims<batch, text>>, tensor<15xf32> to !ids
  // CHECK: tts.embedding %{{.*}}, %{{.*}} : tensor<?x?xi32, #tts.dims<batch, text>>, tensor<40x8xf32> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %2 = tts.embedding %1, %table : !ids, tensor<40x8xf32> to !x
  // CHECK: tts.embedding_grad %{{.*}}, %{{.*}} into %{{.*}} : tensor<40x8xf32> : tensor<?x?xi32, #tts.dims<batch, text>>, tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<40x8xf32>
  %3 = tts.embedding_grad %ids, %2 into %table : tensor<40x8xf32> : !ids, !x to tensor<40x8xf32>
  // CHECK: tts.dropout %{{.*}}, %{{.*}}, %{{.*}} {rate = 1.000000e-01 : f64, stream = "encoder.0.drop"} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64>
  %4 = tts.dropout %0, %u, %draw {rate = 0.1 : f64, stream = "encoder.0.drop"} : !x, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64>
  return %3 : tensor<40x8xf32>
}

// CHECK-LABEL: func @length_regulate(
func.func @length_regulate(%x: !x, %durations: !ids) -> !x {
  // CHECK: tts.length_regulate %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?x?xi32, #tts.dims<batch, text>> to tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
  %0 = tts.length_regulate %x, %durations : !x, !ids to !y
  // CHECK: tts.length_regulate_grad %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, frames, _>>, tensor<?x?xi32, #tts.dims<batch, text>> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %1 = tts.length_regulate_grad %0, %durations : !y, !ids to !x
  return %1 : !x
}

// CHECK-LABEL: func @parts(
func.func @parts(%a: !x, %b: tensor<?x?x3xf32, #tts.dims<batch, text, _>>, %t: tensor<?xf32, #tts.dims<batch>>) {
  // CHECK: %[[W:.*]] = tts.concat %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?x?x3xf32, #tts.dims<batch, text, _>> to tensor<?x?x11xf32, #tts.dims<batch, text, _>>
  %0 = tts.concat %a, %b : !x, tensor<?x?x3xf32, #tts.dims<batch, text, _>> to tensor<?x?x11xf32, #tts.dims<batch, text, _>>
  // CHECK: tts.split %[[W]] : tensor<?x?x11xf32, #tts.dims<batch, text, _>> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?x?x3xf32, #tts.dims<batch, text, _>>
  %1:2 = tts.split %0 : tensor<?x?x11xf32, #tts.dims<batch, text, _>> to !x, tensor<?x?x3xf32, #tts.dims<batch, text, _>>
  // CHECK: tts.sum_to %{{.*}} dims [0, 2] : tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<?x8xf32, #tts.dims<batch, _>>
  %2 = tts.sum_to %a dims [0, 2] : !x to tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: tts.sinusoid_at %{{.*}} {scale = 1.000000e+03 : f64} : tensor<?xf32, #tts.dims<batch>> to tensor<?x8xf32, #tts.dims<batch, _>>
  %3 = tts.sinusoid_at %t {scale = 1000.0 : f64} : tensor<?xf32, #tts.dims<batch>> to tensor<?x8xf32, #tts.dims<batch, _>>
  return
}
