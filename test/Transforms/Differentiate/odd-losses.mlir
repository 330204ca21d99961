// Losses where a careless walk would drop a gradient: a parameter itself, one value as two losses, one out of reach.
// RUN: tts-opt %s --split-input-file --tts-differentiate --tts-verify-contract=level=differentiate | FileCheck %s

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<f32> {tts.scalar = "loss_weight.decay"}, %[[G:[^:]*]]: tensor<f32> {tts.gradient = "w"})
// CHECK: %[[SUM:.*]] = tts.accumulate %[[G]], %[[SEED]]
// CHECK: return %[[SUM]]
func.func @train(%w: tensor<f32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"})
  -> (tensor<f32> {tts.loss = "decay"}, tensor<f32> {tts.denominator = "decay"}) attributes {tts.program = "train"} {
  %count = tts.count %n : tensor<2xi32> to tensor<f32>
  return %w, %count : tensor<f32>, tensor<f32>
}

// -----

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[P:[^:]*]]: tensor<f32> {tts.scalar = "loss_weight.p"}, %[[Q:[^:]*]]: tensor<f32> {tts.scalar = "loss_weight.q"}
// CHECK-NOT: loss_weight.data
// CHECK: %[[BOTH:.*]] = tts.add %[[P]], %[[Q]]
// CHECK: tts.l1_loss_grad {{.*}}, %[[BOTH]] :
func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"}, %y: tensor<2x5xf32> {tts.input = "y"})
  -> (tensor<f32> {tts.loss = "p"}, tensor<f32> {tts.loss = "q"}, tensor<f32> {tts.loss = "data"},
      tensor<f32> {tts.denominator = "p"}, tensor<f32> {tts.denominator = "q"}, tensor<f32> {tts.denominator = "data"}) attributes {tts.program = "train"} {
  %0 = tts.l1_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
  %1 = tts.l1_loss %x, %y, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
  %count = tts.count %n : tensor<2xi32> to tensor<f32>
  return %0, %0, %1, %count, %count, %count : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
