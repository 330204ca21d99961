// The six programs of a small model, and what crosses from one to another.
// RUN: tts-opt %s --tts-differentiate | FileCheck %s
// RUN: tts-opt %s --tts-differentiate --tts-verify-contract=level=differentiate -o /dev/null
// RUN: tts-opt %s --tts-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=NAME

!lengths = tensor<?xi32, #tts.dims<batch>>
!ids = tensor<?x?xi32, #tts.dims<batch, text>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

module attributes {tts.grad_clip = 0.5, tts.ema_decay = 0.99} {
  func.func @train(
      %table: tensor<40x8xf32> {tts.param = "table", tts.init = #tts.init<normal, 0.02>},
      %w: tensor<8x8xf32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %fixed: tensor<8x8xf32> {tts.param = "fixed", tts.init = #tts.init<ones>, tts.frozen},
      %ids: !ids {tts.input = "phones"},
      %target: !x {tts.input = "target"},
      %n: !lengths {tts.input = "phone_lengths", tts.lengths = "text"},
      %u: tensor<?xi64, #tts.dims<batch>> {tts.input = "utterance"},
      %unused: !ids {tts.input = "unused"},
      %draw: tensor<2xi64> {tts.scalar = "draw"})
    -> (!x {tts.output = "y"}, tensor<f32> {tts.denominator = "near"}, tensor<f32> {tts.loss = "near", tts.coefficient = 2.0})
    attributes {tts.program = "train"} {
    %e = tts.embedding %ids, %table : !ids, tensor<40x8xf32> to !x loc("lookup")
    %a = tts.linear %e, %fixed : !x, tensor<8x8xf32> to !x loc("first")
    %d = tts.dropout %a, %u, %draw {rate = 0.1 : f64, stream = "drop"} : !x, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64> loc("drop")
    %b = tts.linear %d, %w : !x, tensor<8x8xf32> to !x loc("second")
    %c = tts.linear %b, %w : !x, tensor<8x8xf32> to !x loc("third")
    %loss = tts.mse_loss %c, %target, %n : !x, !lengths to tensor<f32> loc("loss")
    %count = tts.count %n : !lengths to tensor<f32> loc("count")
    return %c, %count, %loss : !x, tensor<f32>, tensor<f32>
  }
}

// CHECK-NOT: @train

// CHECK-LABEL: func @zero(
// CHECK-SAME: {tts.gradient = "table"}, %{{[^:]*}}: tensor<8x8xf32> {tts.gradient = "w"})
// CHECK-SAME: -> (tensor<40x8xf32> {tts.gradient = "table"}, tensor<8x8xf32> {tts.gradient = "w"})
// CHECK-SAME: tts.program = "zero"
// CHECK: tts.full 0.000000e+00 {{.*}}: tensor<40x8xf32>
// CHECK: tts.full 0.000000e+00 {{.*}}: tensor<8x8xf32>

// CHECK-LABEL: func @denominators(
// CHECK-SAME: %[[N:[^:]*]]: {{[^{]*}}{tts.input = "phone_lengths", tts.lengths = "text"})
// CHECK-SAME: -> (tensor<f32> {tts.denominator = "near"})
// CHECK-NEXT: %[[C:.*]] = tts.count %[[N]]
// CHECK-NEXT: return %[[C]]

// Arguments in @train's order, without those that nobody reads.
// CHECK-LABEL: func @forward(
// CHECK-SAME: tts.param = "table"
// CHECK-SAME: tts.param = "w"
// CHECK-SAME: tts.frozen{{.*}} tts.param = "fixed"
// CHECK-SAME: tts.input = "phones"
// CHECK-NOT: unused
// CHECK-SAME: tts.scalar = "draw"
// CHECK-SAME: -> (tensor<f32> {tts.coefficient = 2.000000e+00 : f64, tts.loss = "near"}
// CHECK-SAME: {tts.stash = "drop"}
// CHECK-SAME: {tts.stash = "second"}
// CHECK-SAME: {tts.stash = "third"})
// CHECK-SAME: tts.program = "forward"
// CHECK-NOT: tts.count

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x8xf32> {{{[^}]*}}tts.param = "w"}
// CHECK-SAME: %[[FIXED:[^:]*]]: tensor<8x8xf32> {{{[^}]*}}tts.param = "fixed"}
// CHECK-SAME: %[[DROP:[^:]*]]: {{[^{]*}}{tts.stash = "drop"}
// CHECK-SAME: %[[SECOND:[^:]*]]: {{[^{]*}}{tts.stash = "second"}
// CHECK-SAME: %[[THIRD:[^:]*]]: {{[^{]*}}{tts.stash = "third"}
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<f32> {tts.scalar = "loss_weight.near"}
// CHECK-SAME: %[[DTABLE:[^:]*]]: tensor<40x8xf32> {tts.gradient = "table"}
// CHECK-SAME: %[[DW:[^:]*]]: tensor<8x8xf32> {tts.gradient = "w"})
// CHECK-SAME: -> (tensor<40x8xf32> {tts.gradient = "table"}, tensor<8x8xf32> {tts.gradient = "w"})
// CHECK: %[[G3:.*]] = tts.mse_loss_grad %[[THIRD]], %{{.*}}, %{{.*}}, %[[SEED]]
// CHECK: %[[G2:.*]] = tts.linear %[[G3]], %[[W]] {transpose}
// A shared parameter is accumulated twice, into the same storage.
// CHECK: %[[DW1:.*]] = tts.weight_grad %[[SECOND]], %[[G3]] into %[[DW]]
// CHECK: %[[G1:.*]] = tts.linear %[[G2]], %[[W]] {transpose}
// CHECK: %[[DW2:.*]] = tts.weight_grad %[[DROP]], %[[G2]] into %[[DW1]]
// CHECK: %[[GD:.*]] = tts.dropout %[[G1]], {{.*}} stream = "drop"
// A frozen parameter passes the gradient on and has none.
// CHECK: %[[G0:.*]] = tts.linear %[[GD]], %[[FIXED]] {transpose}
// CHECK-NOT: tts.weight_grad
// CHECK: %[[DT:.*]] = tts.embedding_grad %{{.*}}, %[[G0]] into %[[DTABLE]]
// CHECK-NEXT: return %[[DT]], %[[DW2]]
// NAME: tts.mse_loss_grad {{.*}} loc("loss.grad"
// NAME: tts.linear {{.*}} loc("third.grad"
// NAME: tts.weight_grad {{.*}} loc("third.grad"

// CHECK-LABEL: func @update(
// CHECK-SAME: %[[P:[^:]*]]: tensor<40x8xf32> {{{[^}]*}}tts.param = "table"}
// CHECK-NOT: fixed
// CHECK-SAME: %[[G:[^:]*]]: tensor<40x8xf32> {tts.gradient = "table"}
// CHECK-SAME: %[[M:[^:]*]]: tensor<40x8xf32> {tts.moment1 = "table"}
// CHECK-SAME: %[[V:[^:]*]]: tensor<40x8xf32> {tts.moment2 = "table"}
// CHECK-SAME: %[[E:[^:]*]]: tensor<40x8xf32> {tts.ema = "table"}
// CHECK-SAME: %[[S:[^:]*]]: tensor<8xf32> {tts.scalar = "optimizer"})
// CHECK-SAME: tensor<f32> {tts.scalar = "grad_norm"})
// CHECK: %[[Q1:.*]] = tts.sum_squares %[[G]] :
// CHECK: %[[Q2:.*]] = tts.sum_squares %{{.*}} :
// CHECK: %[[Q:.*]] = tts.add %[[Q1]], %[[Q2]] :
// CHECK: %[[CLIP:.*]], %[[NORM:.*]] = tts.clip_factor %[[Q]] {max_norm = 5.000000e-01 : f64}
// CHECK: %[[P1:.*]], %[[M1:.*]], %[[V1:.*]] = tts.adamw %[[P]], %[[G]], %[[M]], %[[V]], %[[S]], %[[CLIP]]
// CHECK: %[[E1:.*]] = tts.ema %[[E]], %[[P1]], %[[S]], %[[CLIP]]
// CHECK: return %[[P1]], {{.*}}, %[[NORM]] :

// Evaluation draws nothing and returns losses, denominators, outputs.
// CHECK-LABEL: func @eval(
// CHECK-NOT: draw
// CHECK-NOT: utterance
// CHECK-SAME: -> (tensor<f32> {tts.coefficient = 2.000000e+00 : f64, tts.loss = "near"}, tensor<f32> {tts.denominator = "near"}, {{[^{]*}}{tts.output = "y"})
// CHECK: %[[FIRST:.*]] = tts.linear
// CHECK-NOT: tts.dropout
// CHECK: tts.linear %[[FIRST]]
