// What the first of three stages makes for the last goes through the one between, in forward; and its gradient back through it.
// RUN: sed -e 's/STAGE/0/' %s | tts-opt --tts-partition | FileCheck %s --check-prefix=FIRST
// RUN: sed -e 's/STAGE/1/' %s | tts-opt --tts-partition | FileCheck %s --check-prefix=BETWEEN
// RUN: sed -e 's/STAGE/2/' %s | tts-opt --tts-partition | FileCheck %s --check-prefix=LAST
// FIRST: func @forward_b0
// FIRST: %[[A0:.*]] = tts.mul
// FIRST: %[[A:.*]] = tts.mul %[[A0]]
// FIRST: tts.send %[[A]] to 1 by 0
// FIRST-NOT: to 2
// FIRST: func @backward_b0
// FIRST: tts.receive from 1 by
// FIRST-NOT: from 2
// BETWEEN: func @forward_b0
// BETWEEN: %[[A:.*]] = tts.receive from 0 by 0
// BETWEEN: tts.send %[[A]] to 2 by 1
// BETWEEN: func @backward_b0
// BETWEEN: %[[DA:.*]] = tts.receive from 2 by [[#IN:]]
// BETWEEN: tts.send %[[DA]] to 0 by
// LAST: func @forward_b0
// LAST: tts.receive from 1 by 1
// LAST-NOT: from 0
!w = tensor<4xf32>
module attributes {tts.ranks = 3 : i64, tts.stage_starts = ["b", "c"], tts.stage = STAGE : i64} {
  func.func @forward_b0(%u: !w {tts.param = "u"}, %v: !w {tts.param = "v"}, %x: !w {tts.input = "x"}, %y: !w {tts.param = "y"})
      -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.loss = "m", tts.coefficient = 1.0 : f64}, !w {tts.stash = "c"}) attributes {tts.program = "forward", tts.bucket_index = 0 : i64} {
    %a0 = tts.mul %x, %u : !w loc("a0")
    %a = tts.mul %a0, %a0 : !w loc("a")
    %b = tts.mul %x, %v : !w loc("b")
    %m = tts.sum_squares %b : !w to tensor<f32> loc("m")
    %c = tts.mul %a, %y : !w loc("c")
    %l = tts.sum_squares %c : !w to tensor<f32> loc("l")
    return %l, %m, %c : tensor<f32>, tensor<f32>, !w
  }
  func.func @backward_b0(%c: !w {tts.stash = "c"}, %y: !w {tts.param = "y"}, %u: !w {tts.param = "u"}, %gu: !w {tts.gradient = "u"})
      -> (!w {tts.gradient = "u"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %da = tts.mul %c, %y : !w loc("c.grad")
    %du = tts.mul %da, %u : !w loc("a.grad")
    %u1 = tts.accumulate %gu, %du : !w loc("a.weight.grad")
    return %u1 : !w
  }
}
