// RUN: tts-opt --tts-rematerialize --cse --split-input-file --verify-diagnostics %s | FileCheck %s

// Forward of bucket 0 keeps x and the last value; relu and the product before it are computed again, once, where they
// are first read, after the contraction before that. Bucket 1 stays as it is.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2, 2], recompute = [[#tts.recompute<"h", before = "v.grad">, #tts.recompute<"r", before = "v.grad">], []]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: -> (tensor<f32> {tts.loss = "l"}, tensor<2x3x4xf32> {tts.stash = "y"})
  func.func @forward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %v: tensor<4x4xf32> {tts.param = "v"}, %x: tensor<2x3x4xf32> {tts.input = "x"},
                        %n: tensor<2xi32> {tts.input = "n"})
      -> (tensor<f32> {tts.loss = "l"}, tensor<2x3x4xf32> {tts.stash = "r"}, tensor<2x3x4xf32> {tts.stash = "y"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %h = tts.linear %x, %w : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32> loc("h")
    %r = tts.relu %h : tensor<2x3x4xf32> loc("r")
    %y = tts.linear %r, %v : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32> loc("y")
    %l = tts.sum_to %y dims [] : tensor<2x3x4xf32> to tensor<f32> loc("l")
    return %l, %r, %y : tensor<f32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
  }

  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[V:.*]]: tensor<4x4xf32> {tts.param = "v"}, %[[DY:.*]]: tensor<2x3x4xf32> {tts.input = "dy"}, %[[DV:.*]]: tensor<4x4xf32> {tts.gradient = "v"},
  // CHECK-SAME: %[[Y:.*]]: tensor<2x3x4xf32> {tts.stash = "y"}, %[[X:.*]]: tensor<2x3x4xf32> {tts.input = "x"}, %[[W:.*]]: tensor<4x4xf32> {tts.param = "w"})
  // CHECK-NEXT: %[[D:.*]] = tts.mul %[[DY]], %[[Y]]
  // CHECK-NEXT: %[[DR:.*]] = tts.linear %[[D]], %[[V]]
  // CHECK-NEXT: %[[LATE:.*]] = tts.recompute_after %[[X]], %[[DR]] : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  // CHECK-NEXT: %[[H:.*]] = tts.linear %[[LATE]], %[[W]]
  // CHECK-NEXT: %[[R:.*]] = tts.relu %[[H]]
  // CHECK-NEXT: %[[NEW:.*]] = tts.weight_grad %[[R]], %[[D]] into %[[DV]]
  // CHECK-NEXT: tts.relu_grad %[[R]], %[[DR]]
  func.func @backward_b0(%v: tensor<4x4xf32> {tts.param = "v"}, %dy: tensor<2x3x4xf32> {tts.input = "dy"}, %dv: tensor<4x4xf32> {tts.gradient = "v"},
                         %r: tensor<2x3x4xf32> {tts.stash = "r"}, %y: tensor<2x3x4xf32> {tts.stash = "y"})
      -> (tensor<4x4xf32> {tts.gradient = "v"}, tensor<2x3x4xf32> {tts.output = "dh"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %d = tts.mul %dy, %y : tensor<2x3x4xf32>
    %dr = tts.linear %d, %v {transpose} : tensor<2x3x4xf32>, tensor<4x4xf32> to tensor<2x3x4xf32>
    %new = tts.weight_grad %r, %d into %dv : tensor<4x4xf32> : tensor<2x3x4xf32>, tensor<2x3x4xf32> to tensor<4x4xf32> loc("v.grad")
    %dh = tts.relu_grad %r, %dr : tensor<2x3x4xf32>
    return %new, %dh : tensor<4x4xf32>, tensor<2x3x4xf32>
  }

  // CHECK-LABEL: func.func @backward_b1(
  // CHECK-SAME: %[[R1:.*]]: tensor<2x3x4xf32> {tts.stash = "r"}
  // CHECK-NEXT: tts.neg %[[R1]]
  func.func @forward_b1(%x: tensor<2x3x4xf32> {tts.input = "x"}) -> (tensor<2x3x4xf32> {tts.stash = "r"})
      attributes {tts.program = "forward", tts.bucket_index = 1} {
    %r = tts.relu %x : tensor<2x3x4xf32> loc("r")
    return %r : tensor<2x3x4xf32>
  }
  func.func @backward_b1(%r: tensor<2x3x4xf32> {tts.stash = "r"}) -> (tensor<2x3x4xf32> {tts.output = "o"})
      attributes {tts.program = "backward", tts.bucket_index = 1} {
    %o = tts.neg %r : tensor<2x3x4xf32>
    return %o : tensor<2x3x4xf32>
  }
}

// -----

// A value that was no stash becomes one: the input of what is computed again, under a name of its own.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], recompute = [[#tts.recompute<"b", before = "o">]]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: -> (tensor<2x3xf32> {tts.output = "o"}, tensor<2x3xf32> {tts.stash = "a"})
  // CHECK: %[[A:.*]] = tts.tanh
  // CHECK: return %{{.*}}, %[[A]]
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.output = "o"}, tensor<2x3xf32> {tts.stash = "b"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %a = tts.tanh %x : tensor<2x3xf32> loc("a")
    %b = tts.exp %a : tensor<2x3xf32> loc("b")
    %o = tts.neg %b : tensor<2x3xf32> loc("o")
    return %o, %b : tensor<2x3xf32>, tensor<2x3xf32>
  }
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[A:.*]]: tensor<2x3xf32> {tts.stash = "a"}
  // CHECK-NEXT: tts.exp %[[A]]
  func.func @backward_b0(%b: tensor<2x3xf32> {tts.stash = "b"}) -> (tensor<2x3xf32> {tts.output = "o"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %o = tts.neg %b : tensor<2x3xf32> loc("o")
    return %o : tensor<2x3xf32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], recompute = [[#tts.recompute<"gone", before = "o">]]>} {
  // expected-error @+1 {{has no op named "gone", which tts.plan speaks of; plan this model anew}}
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "b"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %b = tts.exp %x : tensor<2x3xf32> loc("b")
    return %b : tensor<2x3xf32>
  }
  func.func @backward_b0(%b: tensor<2x3xf32> {tts.stash = "b"}) -> (tensor<2x3xf32> {tts.output = "o"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %o = tts.neg %b : tensor<2x3xf32> loc("o")
    return %o : tensor<2x3xf32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], recompute = [[#tts.recompute<"b", before = "o">]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "b"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %a = tts.exp %x : tensor<2x3xf32> loc("a")
    // expected-error @unknown {{'tts.accumulate' op cannot be computed twice, as tts.plan has it: it has effects or overwrites an operand}}
    %b = tts.accumulate %a, %x : tensor<2x3xf32> loc("b")
    return %b : tensor<2x3xf32>
  }
  func.func @backward_b0(%b: tensor<2x3xf32> {tts.stash = "b"}) -> (tensor<2x3xf32> {tts.output = "o"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %o = tts.neg %b : tensor<2x3xf32> loc("o")
    return %o : tensor<2x3xf32>
  }
}

// -----

// expected-error @+1 {{rematerialize needs tts.plan; run tts-plan first}}
module {
}

// -----

// Computed twice: CSE does not merge clones that wait for different contractions; readers between take the first.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2],
    recompute = [[#tts.recompute<"b", before = "one">, #tts.recompute<"b", before = "three">]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "b"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %b = tts.exp %x : tensor<2x3xf32> loc("b")
    return %b : tensor<2x3xf32>
  }
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK: %[[L1:.*]] = tts.linear
  // CHECK-NEXT: %[[A1:.*]] = tts.recompute_after %[[X:.*]], %[[L1]]
  // CHECK-NEXT: %[[B1:.*]] = tts.exp %[[A1]]
  // CHECK-NEXT: tts.neg %[[B1]]
  // CHECK-NEXT: tts.abs %[[B1]]
  // CHECK-NEXT: %[[L2:.*]] = tts.linear
  // CHECK-NEXT: %[[A2:.*]] = tts.recompute_after %[[X]], %[[L2]]
  // CHECK-NEXT: %[[B2:.*]] = tts.exp %[[A2]]
  // CHECK-NEXT: tts.tanh %[[B2]]
  func.func @backward_b0(%b: tensor<2x3xf32> {tts.stash = "b"}, %w: tensor<3x3xf32> {tts.param = "w"}, %y: tensor<2x3xf32> {tts.input = "y"})
      -> (tensor<2x3xf32> {tts.output = "o"}, tensor<2x3xf32> {tts.output = "p"}, tensor<2x3xf32> {tts.output = "q"}, tensor<2x3xf32> {tts.output = "r"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %l = tts.linear %y, %w : tensor<2x3xf32>, tensor<3x3xf32> to tensor<2x3xf32> loc("l")
    %o = tts.neg %b : tensor<2x3xf32> loc("one")
    %p = tts.abs %b : tensor<2x3xf32> loc("two")
    %m = tts.linear %l, %w : tensor<2x3xf32>, tensor<3x3xf32> to tensor<2x3xf32> loc("m")
    %q = tts.tanh %b : tensor<2x3xf32> loc("three")
    return %o, %p, %q, %m : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2],
    recompute = [[#tts.recompute<"b", before = "two">, #tts.recompute<"b", before = "one">]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "b"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %b = tts.exp %x : tensor<2x3xf32> loc("b")
    return %b : tensor<2x3xf32>
  }
  // expected-error @+1 {{tts.plan recomputes "b" before "one", but lists it behind a later op}}
  func.func @backward_b0(%b: tensor<2x3xf32> {tts.stash = "b"}) -> (tensor<2x3xf32> {tts.output = "o"}, tensor<2x3xf32> {tts.output = "p"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %o = tts.neg %b : tensor<2x3xf32> loc("one")
    %p = tts.abs %b : tensor<2x3xf32> loc("two")
    return %o, %p : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
