// Losses and the update of parameters: printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

!mel = tensor<?x?x80xf32, #tts.dims<batch, frames, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>

// CHECK-LABEL: func @losses(
func.func @losses(%p: !mel, %t: !mel, %n: !lengths) -> (!mel, !mel, tensor<f32>) {
  // CHECK: %[[SUM:.*]] = tts.l1_loss %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x80xf32, #tts.dims<batch, frames, _>>, tensor<?xi32, #tts.dims<batch>> to tensor<f32>
  %0 = tts.l1_loss %p, %t, %n : !mel, !lengths to tensor<f32>
  // CHECK: tts.mse_loss %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x80xf32
  %1 = tts.mse_loss %p, %t, %n : !mel, !lengths to tensor<f32>
  // CHECK: tts.l1_loss_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[SUM]] : tensor<?x?x80xf32, #tts.dims<batch, frames, _>>, tensor<?xi32, #tts.dims<batch>>, tensor<f32>
  %2 = tts.l1_loss_grad %p, %t, %n, %0 : !mel, !lengths, tensor<f32>
  // CHECK: tts.mse_loss_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[SUM]] :
  %3 = tts.mse_loss_grad %p, %t, %n, %0 : !mel, !lengths, tensor<f32>
  // CHECK: tts.count %{{.*}} {per = 8.000000e+01 : f64} : tensor<?xi32, #tts.dims<batch>> to tensor<f32>
  %4 = tts.count %n {per = 80.0 : f64} : !lengths to tensor<f32>
  // CHECK: tts.count %{{.*}} : tensor<?xi32, #tts.dims<batch>> to tensor<f32>
  %5 = tts.count %n : !lengths to tensor<f32>
  return %2, %3, %4 : !mel, !mel, tensor<f32>
}

!x = tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
!ids = tensor<?x?xi32, #tts.dims<batch, frames>>
!steps = tensor<?x?xf32, #tts.dims<batch, frames>>

// CHECK-LABEL: func @cross_entropy(
func.func @cross_entropy(%x: !x, %w: tensor<8x9xf32>, %t: !ids, %n: !lengths, %acc: tensor<8x9xf32>) -> (tensor<8x9xf32>, !x, tensor<f32>) {
  // CHECK: %[[SUM:.*]], %[[LSE:.*]] = tts.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, frames, _>>, tensor<8x9xf32>, tensor<?x?xi32, #tts.dims<batch, frames>>, tensor<?xi32, #tts.dims<batch>> to tensor<f32>, tensor<?x?xf32, #tts.dims<batch, frames>>
  %sum, %lse = tts.linear_cross_entropy %x, %w, %t, %n : !x, tensor<8x9xf32>, !ids, !lengths to tensor<f32>, !steps
  // CHECK: tts.linear_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LSE]], %[[SUM]] into %{{.*}} : tensor<8x9xf32> {ignore_index = 3 : i64} :
  %dw, %dx = tts.linear_cross_entropy_grad %x, %w, %t, %n, %lse, %sum into %acc : tensor<8x9xf32> {ignore_index = 3 : i64} : !x, tensor<8x9xf32>, !ids, !lengths, !steps, tensor<f32> to tensor<8x9xf32>
  // CHECK: tts.count_targets %{{.*}}, %{{.*}} {classes = 9 : i64} :
  %count = tts.count_targets %t, %n {classes = 9 : i64} : !ids, !lengths to tensor<f32>
  return %dw, %dx, %count : tensor<8x9xf32>, !x, tensor<f32>
}

// CHECK-LABEL: func @rows_of_cross_entropy(
func.func @rows_of_cross_entropy(%l: tensor<4x9xf32>, %t: tensor<2x5xi32>, %n: tensor<2xi32>, %rows: tensor<10xi32>, %four: tensor<4xi32>, %a: tensor<10xf32>, %part: tensor<4xf32>, %d: tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<4x9xf32>) {
  // CHECK: tts.target_rows %{{.*}}, %{{.*}} {classes = 9 : i64, ignore_index = -100 : i64} : tensor<2x5xi32>, tensor<2xi32>
  %told = tts.target_rows %t, %n {classes = 9 : i64, ignore_index = -100 : i64} : tensor<2x5xi32>, tensor<2xi32>
  // CHECK: tts.row_cross_entropy %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {first_row = 5 : i64} : tensor<4x9xf32>, tensor<10xi32>, tensor<10xf32>
  %losses, %lse = tts.row_cross_entropy %l, %rows, %a, %a {first_row = 5 : i64} : tensor<4x9xf32>, tensor<10xi32>, tensor<10xf32>
  // CHECK: tts.row_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x9xf32>, tensor<4xi32>, tensor<4xf32>, tensor<f32>
  %dl = tts.row_cross_entropy_grad %l, %four, %part, %d : tensor<4x9xf32>, tensor<4xi32>, tensor<4xf32>, tensor<f32>
  return %losses, %lse, %dl : tensor<10xf32>, tensor<10xf32>, tensor<4x9xf32>
}

// CHECK-LABEL: func @update(
func.func @update(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %e: tensor<8xf32>,
                  %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[A:.*]] = tts.sum_squares %{{.*}} : tensor<8xf32> to tensor<f32>
  %0 = tts.sum_squares %g : tensor<8xf32> to tensor<f32>
  // CHECK: %[[B:.*]] = tts.sum_squares %{{.*}} into %[[A]] : tensor<f32> : tensor<8xf32> to tensor<f32>
  %1 = tts.sum_squares %p into %0 : tensor<f32> : tensor<8xf32> to tensor<f32>
  // CHECK: %[[CLIP:.*]], %{{.*}} = tts.clip_factor %[[B]] {max_norm = 1.000000e+00 : f64} : tensor<f32>
  %clip, %norm = tts.clip_factor %1 {max_norm = 1.0 : f64} : tensor<f32>
  // CHECK: tts.clip_factor %[[B]] : tensor<f32>
  %clip2, %norm2 = tts.clip_factor %1 : tensor<f32>
  // CHECK: %[[P:.*]], %{{.*}}, %{{.*}} = tts.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[CLIP]] : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %p1, %m1, %v1 = tts.adamw %p, %g, %m, %v, %s, %clip : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  // CHECK: tts.sgd %{{.*}}, %{{.*}}, %{{.*}}, %[[CLIP]] : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %p2 = tts.sgd %p, %g, %s, %clip : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  // CHECK: tts.ema %{{.*}}, %[[P]], %{{.*}}, %[[CLIP]] : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %e1 = tts.ema %e, %p1, %s, %clip : tensor<8xf32>, tensor<8xf32>, tensor<f32>
  return %p2, %e1 : tensor<8xf32>, tensor<8xf32>
}
