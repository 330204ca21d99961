// What the module's attributes change in @update.
// RUN: split-file %s %t
// RUN: tts-opt %t/plain.mlir --tts-differentiate | FileCheck %s --check-prefix=PLAIN
// RUN: tts-opt %t/sgd.mlir --tts-differentiate | FileCheck %s --check-prefix=SGD
// RUN: tts-opt %t/frozen.mlir --tts-differentiate | FileCheck %s --check-prefix=FROZEN

// Without attributes: AdamW, no clipping, no moving average; f64 parameters have f64 settings.
// PLAIN-LABEL: func @update(
// PLAIN-NOT: tts.ema
// PLAIN-SAME: tts.moment2 = "w"
// PLAIN-SAME: tensor<8xf64> {tts.scalar = "optimizer"}
// PLAIN: tts.clip_factor %{{[^ ]*}} : tensor<f64>
// PLAIN: tts.adamw
// PLAIN-NOT: tts.ema

// SGD-LABEL: func @update(
// SGD-NOT: tts.moment
// SGD-SAME: tts.program = "update"
// SGD: tts.sgd
// SGD-NOT: tts.ema

// With everything frozen the norm is 0 and nothing else happens.
// FROZEN-LABEL: func @backward()
// FROZEN-LABEL: func @update() ->
// FROZEN-NEXT: %[[ZERO:.*]] = tts.full 0.000000e+00 : tensor<f32>
// FROZEN-NEXT: %{{.*}}, %[[NORM:.*]] = tts.clip_factor %[[ZERO]] : tensor<f32>
// FROZEN-NEXT: return %[[NORM]]

//--- plain.mlir
func.func @train(%w: tensor<2x5xf64> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf64> {tts.input = "x"})
  -> (tensor<f64> {tts.loss = "l"}, tensor<f64> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf64>, tensor<2xi32> to tensor<f64>
  %1 = tts.count %n : tensor<2xi32> to tensor<f64>
  return %0, %1 : tensor<f64>, tensor<f64>
}

//--- sgd.mlir
module attributes {tts.optimizer = "sgd", tts.ema_decay = 0.0, tts.grad_clip = 0.0} {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

//--- frozen.mlir
func.func @train(%w: tensor<2x5xf32> {tts.param = "w", tts.frozen}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
  -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
  %1 = tts.count %n : tensor<2xi32> to tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
