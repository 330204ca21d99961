// RUN: tts-opt --tts-store-half --tts-rematerialize --tts-verify-contract=level=rematerialize --cse --split-input-file %s | FileCheck %s --enable-var-scope

// What is computed again from a value that is kept in half reads the rounded one; the value was no stash before.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2],
    recompute = [[#tts.recompute<"r", before = "o">]], store = [[#tts.store<"h", bf16>]]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: -> (tensor<2x4xf32> {tts.output = "p"}, tensor<2x4xbf16> {tts.stash = "h"})
  // CHECK: %[[H:.*]] = tts.linear
  // CHECK-NEXT: %[[HALF:.*]] = tts.cast %[[H]]
  // CHECK: return %{{.*}}, %[[HALF]]
  func.func @forward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %x: tensor<2x4xf32> {tts.input = "x"})
      -> (tensor<2x4xf32> {tts.output = "p"}, tensor<2x4xf32> {tts.stash = "r"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %h = tts.linear %x, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32> loc("h")
    %r = tts.relu %h : tensor<2x4xf32> loc("r")
    %p = tts.neg %r : tensor<2x4xf32> loc("p")
    return %p, %r : tensor<2x4xf32>, tensor<2x4xf32>
  }
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {tts.param = "w"}, %[[Y:.*]]: tensor<2x4xf32> {tts.input = "y"}, %[[H:.*]]: tensor<2x4xbf16> {tts.stash = "h"})
  // CHECK-NEXT: %[[L:.*]] = tts.linear %[[Y]], %[[W]]
  // CHECK-NEXT: %[[LATE:.*]] = tts.recompute_after %[[H]], %[[L]] : tensor<2x4xbf16>, tensor<2x4xf32>
  // CHECK-NEXT: %[[WIDE:.*]] = tts.cast %[[LATE]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK-NEXT: %[[R:.*]] = tts.relu %[[WIDE]]
  // CHECK-NEXT: tts.mul %[[R]], %[[L]]
  func.func @backward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %y: tensor<2x4xf32> {tts.input = "y"}, %r: tensor<2x4xf32> {tts.stash = "r"})
      -> (tensor<2x4xf32> {tts.output = "o"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    %l = tts.linear %y, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32> loc("l")
    %o = tts.mul %r, %l : tensor<2x4xf32> loc("o")
    return %o : tensor<2x4xf32>
  }
}

// -----

// Kept in half for the first reader, computed again, unrounded, for the second.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2],
    recompute = [[#tts.recompute<"h", before = "second">]], store = [[#tts.store<"h", bf16>]]>} {
  func.func @forward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %x: tensor<2x4xf32> {tts.input = "x"})
      -> (tensor<2x4xf32> {tts.stash = "h"}) attributes {tts.program = "forward", tts.bucket_index = 0} {
    %h = tts.linear %x, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32> loc("h")
    return %h : tensor<2x4xf32>
  }
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {tts.param = "w"}, %[[X:.*]]: tensor<2x4xf32> {tts.input = "x"}, %[[H:.*]]: tensor<2x4xbf16>
  // CHECK-NEXT: %[[WIDE:.*]] = tts.cast %[[H]]
  // CHECK-NEXT: %[[FIRST:.*]] = tts.neg %[[WIDE]]
  // CHECK-NEXT: %[[L:.*]] = tts.linear %[[FIRST]], %[[W]]
  // CHECK-NEXT: %[[LATE:.*]] = tts.recompute_after %[[X]], %[[L]]
  // CHECK-NEXT: %[[AGAIN:.*]] = tts.linear %[[LATE]], %[[W]]
  // CHECK-NEXT: tts.mul %[[AGAIN]], %[[L]]
  // CHECK-NEXT: return
  func.func @backward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %x: tensor<2x4xf32> {tts.input = "x"}, %h: tensor<2x4xf32> {tts.stash = "h"})
      -> (tensor<2x4xf32> {tts.output = "o"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    %f = tts.neg %h : tensor<2x4xf32> loc("first")
    %l = tts.linear %f, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32> loc("l")
    %o = tts.mul %h, %l : tensor<2x4xf32> loc("second")
    return %o : tensor<2x4xf32>
  }
}
