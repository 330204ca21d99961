// RUN: tts-opt --tts-store-half --tts-verify-contract=level=rematerialize --split-input-file %s | FileCheck %s --enable-var-scope

// Forward rounds h once, beside its definition, and computes on with f32; each reader of backward has a cast of its own, the later one after
// the contraction before it. Another way to index is chosen before the cast. Bucket 1 stays as it is.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2, 2], store = [[#tts.store<"h", bf16>, #tts.store<"s", bf16>], []]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: -> (tensor<2x3x4xf32> {tts.output = "o"}, tensor<2x3x4xbf16> {tts.stash = "h"}, tensor<2x4xbf16> {tts.stash = "s"})
  // CHECK: %[[H:.*]] = tts.linear
  // CHECK-NEXT: %[[HALF:.*]] = tts.cast %[[H]] : tensor<2x3x4xf32> to tensor<2x3x4xbf16>
  // CHECK-NEXT: %[[R:.*]] = tts.relu %[[H]] : tensor<2x3x4xf32>
  // CHECK: return %[[R]], %[[HALF]], %{{.*}} : tensor<2x3x4xf32>
  func.func @forward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %x: tensor<2x3x4xf32> {tts.input = "x"}, %y: tensor<2x4xf32> {tts.input = "y"})
      -> (tensor<2x3x4xf32> {tts.output = "o"}, tensor<2x3x4xf32> {tts.stash = "h"}, tensor<2x4xf32> {tts.stash = "s"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %h = tts.linear %x, %w : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32> loc("h")
    %r = tts.relu %h : tensor<2x3x4xf32> loc("r")
    %s = tts.silu %y : tensor<2x4xf32> loc("s")
    return %r, %h, %s : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4xf32>
  }
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {tts.param = "w"}, %[[X:.*]]: tensor<2x3x4xf32> {tts.input = "x"}, %[[DW:.*]]: tensor<4x4xf32>
  // CHECK-SAME: %[[H:.*]]: tensor<2x3x4xbf16> {tts.stash = "h"}, %[[S:.*]]: tensor<2x4xbf16> {tts.stash = "s"})
  // CHECK-NEXT: %[[FIRST:.*]] = tts.cast %[[H]] : tensor<2x3x4xbf16> to tensor<2x3x4xf32>
  // CHECK-NEXT: %[[D:.*]] = tts.relu_grad %[[FIRST]], %[[X]]
  // CHECK-NEXT: %[[Y:.*]] = tts.linear %[[D]], %[[W]]
  // CHECK-NEXT: %[[LATE:.*]] = tts.recompute_after %[[H]], %[[Y]] : tensor<2x3x4xbf16>, tensor<2x3x4xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = tts.cast %[[LATE]] : tensor<2x3x4xbf16> to tensor<2x3x4xf32>
  // CHECK-NEXT: tts.weight_grad %[[SECOND]], %[[Y]] into %[[DW]]
  // CHECK-NEXT: %[[WIDE:.*]] = tts.broadcast %[[S]] dims [0, 2] : tensor<2x4xbf16> to tensor<2x3x4xbf16>
  // CHECK-NEXT: %[[AFTER:.*]] = tts.recompute_after %[[WIDE]], %{{.*}} : tensor<2x3x4xbf16>, tensor<4x4xf32>
  // CHECK-NEXT: %[[THIRD:.*]] = tts.cast %[[AFTER]] : tensor<2x3x4xbf16> to tensor<2x3x4xf32>
  // CHECK-NEXT: tts.mul %[[THIRD]], %[[D]]
  // CHECK-NEXT: return
  func.func @backward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %x: tensor<2x3x4xf32> {tts.input = "x"}, %dw: tensor<4x4xf32> {tts.gradient = "w"},
                         %h: tensor<2x3x4xf32> {tts.stash = "h"}, %s: tensor<2x4xf32> {tts.stash = "s"})
      -> (tensor<4x4xf32> {tts.gradient = "w"}, tensor<2x3x4xf32> {tts.output = "p"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    %b = tts.broadcast %s dims [0, 2] : tensor<2x4xf32> to tensor<2x3x4xf32>
    %d = tts.relu_grad %h, %x : tensor<2x3x4xf32>
    %y = tts.linear %d, %w : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32>
    %new = tts.weight_grad %h, %y into %dw : tensor<4x4xf32> : tensor<2x3x4xf32>, tensor<2x3x4xf32> to tensor<4x4xf32>
    %p = tts.mul %b, %d : tensor<2x3x4xf32>
    return %new, %p : tensor<4x4xf32>, tensor<2x3x4xf32>
  }

  // CHECK-LABEL: func.func @backward_b1(%{{.*}}: tensor<2x3xf32> {tts.stash = "h"})
  func.func @forward_b1(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "h"})
      attributes {tts.program = "forward", tts.bucket_index = 1} {
    %h = tts.relu %x : tensor<2x3xf32> loc("h")
    return %h : tensor<2x3xf32>
  }
  func.func @backward_b1(%h: tensor<2x3xf32> {tts.stash = "h"}) -> (tensor<2x3xf32> {tts.output = "o"})
      attributes {tts.program = "backward", tts.bucket_index = 1} {
    %o = tts.neg %h : tensor<2x3xf32>
    return %o : tensor<2x3xf32>
  }
}

// -----

// One result of several, in fp16; the statistics beside it stay.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"norm", f16>]]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: -> (tensor<2x3x4xf16> {tts.stash = "y"}, tensor<2x3xf32> {tts.stash = "mean"})
  func.func @forward_b0(%g: tensor<4xf32> {tts.param = "g"}, %x: tensor<2x3x4xf32> {tts.input = "x"})
      -> (tensor<2x3x4xf32> {tts.stash = "y"}, tensor<2x3xf32> {tts.stash = "mean"}) attributes {tts.program = "forward", tts.bucket_index = 0} {
    %y, %mean, %rstd = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x3x4xf32>, tensor<4xf32> to tensor<2x3xf32> loc("norm")
    return %y, %mean : tensor<2x3x4xf32>, tensor<2x3xf32>
  }
  func.func @backward_b0(%y: tensor<2x3x4xf32> {tts.stash = "y"}, %mean: tensor<2x3xf32> {tts.stash = "mean"})
      -> (tensor<2x3x4xf32> {tts.output = "o"}, tensor<2x3xf32> {tts.output = "p"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    %o = tts.neg %y : tensor<2x3x4xf32>
    %p = tts.neg %mean : tensor<2x3xf32>
    return %o, %p : tensor<2x3x4xf32>, tensor<2x3xf32>
  }
}
