// A pipeline of two stages that share the parameter %w: each keeps its ops, what the other needs is sent.
// RUN: sed -e 's/STAGE/0/' %s | tts-opt --tts-partition --tts-verify-contract=level=partition | FileCheck %s --check-prefix=FIRST
// RUN: sed -e 's/STAGE/1/' %s | tts-opt --tts-partition --tts-verify-contract=level=partition | FileCheck %s --check-prefix=LAST
// FIRST: tts.all_losses = [{tts.coefficient = 2.0{{[^,]*}}, tts.loss = "l"}], tts.all_parameters = {{\[}}["u", tensor<4xf32>, 0, {{.*}}], ["v", tensor<4xf32>, 1, {{.*}}], ["w", tensor<4xf32>, 0,
// FIRST: func @zero() -> (tensor<4xf32> {tts.gradient = "u"}, tensor<4xf32> {tts.gradient = "w"})
// FIRST-NOT: @denominators
// FIRST: func @forward_b0
// FIRST: %[[FREE:.*]] = tts.neg
// FIRST: %[[A0:.*]] = tts.mul %[[FREE]]
// FIRST: %[[A:.*]] = tts.mul %[[A0]]
// FIRST: tts.send %[[A]] to 1 by 0
// FIRST: return %[[A]]
// FIRST: func @backward_b0
// FIRST-SAME: %[[GW:[^:]*]]: tensor<4xf32> {tts.gradient = "w"}
// FIRST-SAME: %[[KEPT:[^:]*]]: tensor<4xf32> {tts.stash = "a"}
// FIRST: %[[DB:.*]] = tts.receive from 1 by 1
// FIRST: %[[DA:.*]] = tts.mul %[[DB]]
// FIRST: tts.sum_to %[[DA]] dims [0] into %[[GW]]
// What it waited for is another stage's: it waits for what came from there.
// FIRST: tts.recompute_after %[[KEPT]], %[[DB]]
// FIRST: func @update
// FIRST: %[[SUMS:.*]]:2 = tts.all_reduce %{{.*}}, %{{.*}} among "replicas"
// FIRST: %[[OTHER:.*]] = tts.receive from 1 by 2
// FIRST: %[[W:.*]] = tts.accumulate %[[SUMS]]#1, %[[OTHER]]
// FIRST: %[[N0:.*]] = tts.sum_squares %[[SUMS]]#0
// FIRST: %[[N2:.*]] = tts.sum_squares %[[W]]
// FIRST: %[[OWN:.*]] = tts.add %[[N0]], %[[N2]]
// FIRST: tts.all_reduce %[[OWN]] among "stages"
// FIRST-COUNT-2: tts.sgd
// FIRST-NEXT: tts.send %{{.*}} to 1 by 3
// FIRST-NOT: @infer

// LAST: func @zero() -> (tensor<4xf32> {tts.gradient = "v"}, tensor<4xf32> {tts.gradient = "w"})
// LAST: func @denominators_b0
// LAST: func @forward_b0
// LAST: %[[A:.*]] = tts.receive from 0 by 0
// LAST: %[[B:.*]] = tts.mul %[[A]]
// LAST: tts.neg
// LAST: %[[L:.*]] = tts.sum_squares
// What was received is kept where backward reads it.
// LAST: return %[[L]], %[[B]], %[[A]]
// LAST: func @backward_b0
// LAST-NOT: tts.receive
// LAST: %[[DB:.*]] = tts.mul
// LAST: tts.send %{{.*}} to 0 by 1
// LAST-NOT: tts.recompute_after
// LAST: func @update
// LAST: %[[SUMS:.*]]:2 = tts.all_reduce %{{.*}}, %{{.*}} among "replicas"
// LAST: tts.send %[[SUMS]]#1 to 0 by 2
// LAST: %[[N:.*]] = tts.sum_squares %[[SUMS]]#0
// LAST: tts.all_reduce %[[N]] among "stages"
// LAST: %[[NEW:.*]] = tts.sgd
// LAST: %[[W:.*]] = tts.receive from 0 by 3
// LAST: return %[[NEW]], %[[W]]
!w = tensor<4xf32>
module attributes {tts.ranks = 4 : i64, tts.stage_starts = ["b"], tts.stage = STAGE : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  func.func @zero(%gu: !w {tts.gradient = "u"}, %gv: !w {tts.gradient = "v"}, %gw: !w {tts.gradient = "w"}) -> (!w {tts.gradient = "u"}, !w {tts.gradient = "v"}, !w {tts.gradient = "w"}) attributes {tts.program = "zero"} {
    %0 = tts.full 0.0 {tts.gradient = "u"} : !w loc("zu")
    %1 = tts.full 0.0 {tts.gradient = "v"} : !w loc("zv")
    %2 = tts.full 0.0 {tts.gradient = "w"} : !w loc("zw")
    return %0, %1, %2 : !w, !w, !w
  }
  func.func @denominators_b0(%n: tensor<1xi32> {tts.input = "n", tts.lengths = "t"}) -> (tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "denominators", tts.bucket_index = 0 : i64} {
    %0 = tts.count %n {per = 1.0 : f64} : tensor<1xi32> to tensor<f32> loc("count")
    return %0 : tensor<f32>
  }
  func.func @forward_b0(%u: !w {tts.param = "u"}, %v: !w {tts.param = "v"}, %w: !w {tts.param = "w"}, %x: !w {tts.input = "x"})
      -> (tensor<f32> {tts.loss = "l", tts.coefficient = 2.0 : f64}, !w {tts.stash = "a"}, !w {tts.stash = "b"}) attributes {tts.program = "forward", tts.bucket_index = 0 : i64} {
    %free = tts.neg %x : !w loc("free")
    %0 = tts.mul %free, %u : !w loc("a0")
    %a = tts.mul %0, %w : !w loc("a")
    %b = tts.mul %a, %v : !w loc("b")
    %c = tts.mul %b, %w : !w loc("c")
    %d = tts.mul %c, %free : !w loc("d")
    %l = tts.sum_squares %d : !w to tensor<f32> loc("sum")
    return %l, %a, %b : tensor<f32>, !w, !w
  }
  func.func @backward_b0(%u: !w {tts.param = "u"}, %v: !w {tts.param = "v"}, %w: !w {tts.param = "w"}, %a: !w {tts.stash = "a"}, %b: !w {tts.stash = "b"},
                         %gu: !w {tts.gradient = "u"}, %gv: !w {tts.gradient = "v"}, %gw: !w {tts.gradient = "w"})
      -> (!w {tts.gradient = "u"}, !w {tts.gradient = "v"}, !w {tts.gradient = "w"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %dc = tts.mul %b, %w : !w loc("sum.grad")
    %w1 = tts.accumulate %gw, %dc : !w loc("c.weight.grad")
    %db = tts.mul %dc, %a : !w loc("b.grad")
    %v1 = tts.accumulate %gv, %db : !w loc("b.weight.grad")
    %da = tts.mul %db, %u : !w loc("a.grad")
    %w2 = tts.sum_to %da dims [0] into %w1 : !w : !w to !w loc("a.weight.grad")
    %again = tts.recompute_after %a, %db : !w, !w loc("again")
    %d0 = tts.mul %da, %again : !w loc("a0.grad")
    %u1 = tts.accumulate %gu, %d0 : !w loc("a0.weight.grad")
    return %u1, %v1, %w2 : !w, !w, !w
  }
  func.func @update(%u: !w {tts.param = "u"}, %v: !w {tts.param = "v"}, %w: !w {tts.param = "w"}, %gu: !w {tts.gradient = "u"}, %gv: !w {tts.gradient = "v"}, %gw: !w {tts.gradient = "w"}, %o: tensor<8xf32> {tts.scalar = "optimizer"})
      -> (!w {tts.param = "u"}, !w {tts.param = "v"}, !w {tts.param = "w"}, tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gu : !w to tensor<f32> loc("n0")
    %1 = tts.sum_squares %gv into %0 : tensor<f32> : !w to tensor<f32> loc("n1")
    %2 = tts.sum_squares %gw : !w to tensor<f32> loc("n2")
    %3 = tts.add %1, %2 : tensor<f32> loc("n3")
    %clip, %norm = tts.clip_factor %3 : tensor<f32> loc("clip")
    %u1 = tts.sgd %u, %gu, %o, %clip : !w, tensor<8xf32>, tensor<f32> loc("su")
    %v1 = tts.sgd %v, %gv, %o, %clip : !w, tensor<8xf32>, tensor<f32> loc("sv")
    %w1 = tts.sgd %w, %gw, %o, %clip : !w, tensor<8xf32>, tensor<f32> loc("sw")
    return %u1, %v1, %w1, %norm : !w, !w, !w, tensor<f32>
  }
  func.func @infer_b0(%u: !w {tts.param = "u"}) -> (!w {tts.output = "y"}) attributes {tts.program = "infer", tts.bucket_index = 0 : i64} {
    %0 = tts.neg %u : !w loc("y")
    return %0 : !w
  }
}
