// RUN: tts-opt --tts-choose-half-copies --tts-precision --split-input-file %s | FileCheck %s --enable-var-scope
// RUN: tts-opt --tts-precision --split-input-file %s | FileCheck %s --check-prefix=ALONE

// Contractions in half, one cast for all readers; the bias follows; a loss and what alone feeds it are f32.

module attributes {tts.plan = #tts.plan<precision = "bf16", threads = 1, micro_batches = [1]>} {
  // CHECK: tts.half_copies = ["wq", "bias", "wk"]
  // CHECK-LABEL: func.func @forward(
  // CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<9x4xf32> {tts.param = "table"}
  // CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<4xf32> {tts.param = "gamma"}
  // CHECK-SAME: tensor<4x4xbf16> {tts.half_copy = "wq"}
  // CHECK-NOT: tts.param = "wq"
  // CHECK: %[[E:.*]] = tts.embedding %{{.*}}, %[[TABLE]] : tensor<2x3xi32>, tensor<9x4xf32> to tensor<2x3x4xbf16>
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %{{.*}} = tts.layer_norm %[[E]], %[[SCALE]], %{{.*}} : tensor<2x3x4xbf16>, tensor<4xf32> to tensor<2x3xf32>
  // CHECK: %[[Q:.*]] = tts.linear %[[Y]], %{{.*}} : tensor<2x3x4xbf16>, tensor<4x4xbf16> to tensor<2x3x4xbf16>
  // CHECK: %[[B:.*]] = tts.broadcast %{{.*}} dims [2] : tensor<4xbf16> to tensor<2x3x4xbf16>
  // CHECK: %[[S:.*]] = tts.add %[[Q]], %[[B]] : tensor<2x3x4xbf16>
  // CHECK: %[[R:.*]] = tts.relu %[[S]] : tensor<2x3x4xbf16>
  // CHECK: %[[P:.*]] = tts.linear %[[R]], %{{.*}} : tensor<2x3x4xbf16>, tensor<4x4xbf16> to tensor<2x3x4xf32>
  // CHECK: tts.l1_loss %[[P]], %{{.*}} : tensor<2x3x4xf32>
  // ALONE-LABEL: func.func @forward(
  // ALONE-SAME: tensor<4x4xf32> {tts.param = "wq"}
  // ALONE: tts.cast %{{.*}} : tensor<4x4xf32> to tensor<4x4xbf16>
  func.func @forward(
      %ids: tensor<2x3xi32> {tts.input = "ids"}, %n: tensor<2xi32> {tts.input = "n"}, %t: tensor<2x3x4xf32> {tts.input = "t"},
      %table: tensor<9x4xf32> {tts.param = "table"}, %g: tensor<4xf32> {tts.param = "gamma"},
      %wq: tensor<4x4xf32> {tts.param = "wq"}, %wk: tensor<4x4xf32> {tts.param = "wk"},
      %b: tensor<4xf32> {tts.param = "bias"})
      -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0})
      attributes {tts.program = "forward"} {
    %e = tts.embedding %ids, %table : tensor<2x3xi32>, tensor<9x4xf32> to tensor<2x3x4xf32>
    %y, %mean, %rstd = tts.layer_norm %e, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x3x4xf32>, tensor<4xf32> to tensor<2x3xf32>
    %q = tts.linear %y, %wq : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32>
    %bb = tts.broadcast %b dims [2] : tensor<4xf32> to tensor<2x3x4xf32>
    %s = tts.add %q, %bb : tensor<2x3x4xf32>
    %r = tts.relu %s : tensor<2x3x4xf32>
    %p = tts.linear %r, %wk : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32>
    %l = tts.l1_loss %p, %t, %n : tensor<2x3x4xf32>, tensor<2xi32> to tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// Exp and a square are f32, and what they feed follows them: e^12 is no fp16 number. One cast of x for both products.

module attributes {tts.plan = #tts.plan<precision = "fp16", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func.func @eval(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32> {tts.input = "x"}
  // CHECK: %[[H:.*]] = tts.cast %[[X]] : tensor<2x4xf32> to tensor<2x4xf16>
  // CHECK-NOT: tts.cast %[[X]]
  // CHECK: %[[Q:.*]] = tts.linear %[[H]], %{{.*}} to tensor<2x4xf16>
  // CHECK: %[[FULL:.*]] = tts.cast %[[Q]] : tensor<2x4xf16> to tensor<2x4xf32>
  // CHECK: %[[K:.*]] = tts.linear %[[H]], %{{.*}} to tensor<2x4xf16>
  // CHECK: %[[E:.*]] = tts.exp %[[FULL]] : tensor<2x4xf32>
  // CHECK: tts.mul %[[FULL]], %[[FULL]] : tensor<2x4xf32>
  // CHECK: tts.mul %{{.*}}, %[[E]] : tensor<2x4xf32>
  // CHECK: %[[D:.*]] = tts.sub %[[K]], %[[Q]] : tensor<2x4xf16>
  // CHECK: tts.linear %[[D]], %{{.*}} to tensor<2x4xf32>
  func.func @eval(%x: tensor<2x4xf32> {tts.input = "x"}, %w: tensor<4x4xf32> {tts.param = "w"}, %v: tensor<4x4xf32> {tts.param = "v"})
      -> (tensor<2x4xf32> {tts.output = "a"}, tensor<2x4xf32> {tts.output = "b"})
      attributes {tts.program = "eval"} {
    %q = tts.linear %x, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    %k = tts.linear %x, %v : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    %e = tts.exp %q : tensor<2x4xf32>
    %s = tts.mul %q, %q : tensor<2x4xf32>
    %z = tts.mul %s, %e : tensor<2x4xf32>
    %d = tts.sub %k, %q : tensor<2x4xf32>
    %u = tts.linear %d, %v : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    return %z, %u : tensor<2x4xf32>, tensor<2x4xf32>
  }
}

// -----

// A stash that backward reads in half only is stashed in half; gradients are added in f32; the update makes the copies.

module attributes {tts.plan = #tts.plan<precision = "bf16", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func.func @forward(
  // CHECK-SAME: -> (tensor<f32> {{{.*}}tts.loss = "l"}, tensor<2x4xbf16> {tts.stash = "x"}, tensor<2x4xf32> {tts.stash = "p"})
  // CHECK: %[[E:.*]] = tts.exp
  // CHECK: %[[H:.*]] = tts.cast %[[E]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: return %{{.*}}, %[[H]], %{{.*}} : tensor<f32>, tensor<2x4xbf16>, tensor<2x4xf32>
  func.func @forward(%x: tensor<2x4xf32> {tts.input = "x"}, %n: tensor<2xi32> {tts.input = "n"}, %w: tensor<4x4xf32> {tts.param = "w"})
      -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0}, tensor<2x4xf32> {tts.stash = "x"}, tensor<2x4xf32> {tts.stash = "p"})
      attributes {tts.program = "forward"} {
    %e = tts.exp %x : tensor<2x4xf32>
    %p = tts.linear %e, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    %l = tts.l1_loss %p, %x, %n : tensor<2x4xf32>, tensor<2xi32> to tensor<f32>
    return %l, %e, %p : tensor<f32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
  // CHECK-LABEL: func.func @backward(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xbf16> {tts.stash = "x"}
  // CHECK: %[[G:.*]] = tts.l1_loss_grad {{.*}} : tensor<2x4xf32>
  // CHECK: %[[GH:.*]] = tts.cast %[[G]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: tts.weight_grad %[[X]], %[[GH]] into %{{.*}} : tensor<4x4xf32> : tensor<2x4xbf16>, tensor<2x4xbf16> to tensor<4x4xf32>
  func.func @backward(%x: tensor<2x4xf32> {tts.input = "x"}, %n: tensor<2xi32> {tts.input = "n"}, %e: tensor<2x4xf32> {tts.stash = "x"},
      %p: tensor<2x4xf32> {tts.stash = "p"}, %d: tensor<f32> {tts.scalar = "loss_weight.l"}, %acc: tensor<4x4xf32> {tts.gradient = "w"})
      -> (tensor<4x4xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
    %g = tts.l1_loss_grad %p, %x, %n, %d : tensor<2x4xf32>, tensor<2xi32>, tensor<f32>
    %dw = tts.weight_grad %e, %g into %acc : tensor<4x4xf32> : tensor<2x4xf32>, tensor<2x4xf32> to tensor<4x4xf32>
    return %dw : tensor<4x4xf32>
  }
  // CHECK-LABEL: func.func @update(
  // CHECK-SAME: -> (tensor<4x4xf32> {tts.param = "w"}, tensor<4x4xbf16> {tts.half_copy = "w"})
  // CHECK: %[[P:.*]] = tts.sgd
  // CHECK: tts.cast %[[P]] : tensor<4x4xf32> to tensor<4x4xbf16>
  // ALONE-LABEL: func.func @update(
  // ALONE-NOT: tts.cast
  func.func @update(%p: tensor<4x4xf32> {tts.param = "w"}, %g: tensor<4x4xf32> {tts.gradient = "w"}, %s: tensor<8xf32> {tts.scalar = "optimizer"},
      %c: tensor<f32> {tts.scalar = "clip"}) -> (tensor<4x4xf32> {tts.param = "w"}) attributes {tts.program = "update"} {
    %q = tts.sgd %p, %g, %s, %c : tensor<4x4xf32>, tensor<8xf32>, tensor<f32>
    return %q : tensor<4x4xf32>
  }
}
