// Gradients and parameters that are shards: programs of one kind exchange in one order for every bucket, each collective after the one before.
// RUN: tts-opt %s --split-input-file --tts-partition --tts-verify-contract=level=partition | FileCheck %s

// The second bucket reads %v before the gradient of v is final: there both are gathered first, so in the first bucket, too.
!w = tensor<70001xf32>
module attributes {tts.ranks = 2 : i64, tts.state_sharding = "parameters", tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1, 1]>} {
  // CHECK-LABEL: func @zero
  // CHECK: tts.full 0.0{{.*}} : tensor<35001xf32>
  func.func @zero(%gw: !w {tts.gradient = "w"}, %gv: !w {tts.gradient = "v"}) -> (!w {tts.gradient = "w"}, !w {tts.gradient = "v"}) attributes {tts.program = "zero"} {
    %0 = tts.full 0.0 {tts.gradient = "w"} : !w loc("w")
    %1 = tts.full 0.0 {tts.gradient = "v"} : !w loc("v")
    return %0, %1 : !w, !w
  }
  // CHECK-LABEL: func @backward_b0
  // CHECK-SAME: %[[W:[^:]*]]: tensor<35001xf32> {tts.param = "w", tts.shard_of = array<i64: 70001>}
  // CHECK-SAME: %[[V:[^:]*]]: tensor<35001xf32> {tts.param = "v", tts.shard_of = array<i64: 70001>}
  // CHECK-SAME: %[[GW:[^:]*]]: tensor<35001xf32> {tts.gradient = "w"
  // CHECK-SAME: %[[GV:[^:]*]]: tensor<35001xf32> {tts.gradient = "v"
  // CHECK: %[[WHOLEW:.*]] = tts.all_gather %[[W]] over 2
  // CHECK: %[[X:.*]] = tts.mul %{{.*}}, %[[WHOLEW]]
  // CHECK: %[[DV:.*]] = tts.add %{{.*}}, %[[X]]
  // CHECK: %[[LATE:.*]] = tts.recompute_after %[[V]], %[[WHOLEW]]
  // CHECK: %[[WHOLEV:.*]] = tts.all_gather %[[LATE]] over 2
  // CHECK: %[[LATER:.*]] = tts.recompute_after %[[DV]], %[[WHOLEV]]
  // CHECK: %[[SV:.*]] = tts.reduce_scatter %[[LATER]] into %[[GV]] over 2
  // CHECK: tts.mul %{{.*}}, %[[WHOLEV]]
  // CHECK: %[[SW:.*]] = tts.reduce_scatter %{{.*}} into %[[GW]] over 2
  // CHECK: return %[[SW]], %[[SV]]
  func.func @backward_b0(%w: !w {tts.param = "w"}, %v: !w {tts.param = "v"}, %x: !w {tts.input = "x"}, %gw: !w {tts.gradient = "w"}, %gv: !w {tts.gradient = "v"})
      -> (!w {tts.gradient = "w"}, !w {tts.gradient = "v"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %0 = tts.mul %x, %w : !w loc("xw")
    %dv = tts.accumulate %gv, %0 : !w loc("dv")
    %1 = tts.mul %x, %v : !w loc("xv")
    %dw = tts.accumulate %gw, %1 : !w loc("dw")
    return %dw, %dv : !w, !w
  }
  // CHECK-LABEL: func @backward_b1
  // CHECK: tts.all_gather
  // CHECK: tts.all_gather
  // CHECK: tts.reduce_scatter {{.*}} into %[[GV:.*]] over
  // CHECK: tts.reduce_scatter {{.*}} into %[[GW:.*]] over
  // CHECK: return
  func.func @backward_b1(%w: !w {tts.param = "w"}, %v: !w {tts.param = "v"}, %x: !w {tts.input = "x"}, %gw: !w {tts.gradient = "w"}, %gv: !w {tts.gradient = "v"})
      -> (!w {tts.gradient = "w"}, !w {tts.gradient = "v"}) attributes {tts.program = "backward", tts.bucket_index = 1 : i64} {
    %1 = tts.mul %x, %v : !w loc("xv")
    %0 = tts.mul %x, %w : !w loc("xw")
    %dv = tts.accumulate %gv, %0 : !w loc("dv")
    %dw = tts.accumulate %gw, %1 : !w loc("dw")
    return %dw, %dv : !w, !w
  }
  // What one bucket reads both gather; a frozen parameter is whole.
  // CHECK-LABEL: func @eval_b0
  // CHECK-SAME: %{{[^:]*}}: tensor<70001xf32> {tts.frozen, tts.param = "f"}
  // CHECK: %[[FIRST:.*]] = tts.all_gather
  // CHECK: tts.mul %[[FIRST]]
  // CHECK: tts.all_gather
  // CHECK-NOT: tts.mul
  // CHECK: return
  func.func @eval_b0(%f: !w {tts.param = "f", tts.frozen}, %w: !w {tts.param = "w"}) -> (!w {tts.output = "y"}) attributes {tts.program = "eval", tts.bucket_index = 0 : i64} {
    %0 = tts.mul %w, %f : !w loc("wf")
    return %0 : !w
  }
  // CHECK-LABEL: func @eval_b1
  // CHECK-COUNT-2: tts.all_gather
  // CHECK: return
  func.func @eval_b1(%w: !w {tts.param = "w"}, %v: !w {tts.param = "v"}) -> (!w {tts.output = "y"}) attributes {tts.program = "eval", tts.bucket_index = 1 : i64} {
    %0 = tts.mul %w, %v : !w loc("wv")
    return %0 : !w
  }
  // Everything is a shard already: only the norm is a sum over ranks.
  // CHECK-LABEL: func @update
  // CHECK-NOT: tts.reduce_scatter
  // CHECK-NOT: tts.all_gather
  // CHECK: tts.all_reduce %{{.*}} : (tensor<f32>) -> tensor<f32>
  // CHECK: tts.sgd %{{.*}} : tensor<35001xf32>
  func.func @update(%w: !w {tts.param = "w"}, %v: !w {tts.param = "v"}, %gw: !w {tts.gradient = "w"}, %gv: !w {tts.gradient = "v"}, %o: tensor<8xf32> {tts.scalar = "optimizer"})
      -> (!w {tts.param = "w"}, !w {tts.param = "v"}, tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gw : !w to tensor<f32> loc("n0")
    %1 = tts.sum_squares %gv into %0 : tensor<f32> : !w to tensor<f32> loc("n1")
    %clip, %norm = tts.clip_factor %1 : tensor<f32> loc("clip")
    %2 = tts.sgd %w, %gw, %o, %clip : !w, tensor<8xf32>, tensor<f32> loc("w")
    %3 = tts.sgd %v, %gv, %o, %clip : !w, tensor<8xf32>, tensor<f32> loc("v")
    return %2, %3, %norm : !w, !w, tensor<f32>
  }
}

// -----

// Gradients alone: small ones travel together, one that gets nothing is zero, parameters are gathered at the end of update.
module attributes {tts.ranks = 2 : i64, tts.state_sharding = "gradients", tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func @backward
  // CHECK-SAME: %[[W:[^:]*]]: tensor<4xf32> {tts.param = "w"}
  // CHECK-NOT: tts.all_gather
  // CHECK: tts.reduce_scatter %{{.*}}, %{{.*}} into %{{.*}}, %{{.*}} over 2 : tensor<4xf32>, tensor<3xf32> into tensor<2xf32>, tensor<2xf32> to tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: return
  func.func @backward(%w: tensor<4xf32> {tts.param = "w"}, %gw: tensor<4xf32> {tts.gradient = "w"}, %gv: tensor<3xf32> {tts.gradient = "v"})
      -> (tensor<4xf32> {tts.gradient = "w"}, tensor<3xf32> {tts.gradient = "v"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %0 = tts.mul %w, %w : tensor<4xf32> loc("ww")
    %1 = tts.accumulate %gw, %0 : tensor<4xf32> loc("dw")
    return %1, %gv : tensor<4xf32>, tensor<3xf32>
  }
  // CHECK-LABEL: func @update
  // CHECK: tts.shard
  // CHECK-NOT: tts.reduce_scatter
  // CHECK: tts.all_gather
  func.func @update(%w: tensor<4xf32> {tts.param = "w"}, %v: tensor<3xf32> {tts.param = "v"}, %gw: tensor<4xf32> {tts.gradient = "w"}, %gv: tensor<3xf32> {tts.gradient = "v"}, %o: tensor<8xf32> {tts.scalar = "optimizer"}, %clip: tensor<f32> {tts.scalar = "clip"})
      -> (tensor<4xf32> {tts.param = "w"}, tensor<3xf32> {tts.param = "v"}) attributes {tts.program = "update"} {
    %0 = tts.sgd %w, %gw, %o, %clip : tensor<4xf32>, tensor<8xf32>, tensor<f32> loc("w")
    %1 = tts.sgd %v, %gv, %o, %clip : tensor<3xf32>, tensor<8xf32>, tensor<f32> loc("v")
    return %0, %1 : tensor<4xf32>, tensor<3xf32>
  }
}

// -----

// One gather ahead: it begins where the one before is needed.
!w = tensor<70001xf32>
module attributes {tts.ranks = 2 : i64, tts.state_sharding = "parameters", tts.prefetch = 1 : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func @backward
  // CHECK: %[[C:.*]] = tts.all_gather %{{.*}} over 2 {tts.ahead}
  // CHECK-NEXT: tts.recompute_after %{{.*}}, %[[C]]
  // CHECK-NEXT: %[[B:.*]] = tts.all_gather %{{.*}} over 2 {tts.ahead}
  // CHECK-NEXT: tts.mul %{{.*}}, %[[C]]
  // CHECK: %[[SC:.*]] = tts.reduce_scatter %{{.*}} into %{{.*}} over 2 {tts.ahead}
  // CHECK-NEXT: tts.recompute_after %{{.*}}, %[[SC]]
  // CHECK-NEXT: %[[A:.*]] = tts.all_gather %{{.*}} over 2 {tts.ahead}
  // CHECK-NEXT: tts.mul %{{.*}}, %[[B]]
  // CHECK: tts.reduce_scatter %{{.*}} into %{{.*}} over 2 {tts.ahead}
  // CHECK-NEXT: tts.mul %{{.*}}, %[[A]]
  // CHECK: tts.reduce_scatter %{{.*}} into %{{.*}} over 2 {tts.ahead}
  // CHECK-NOT: tts.all_gather
  // CHECK: return
  func.func @backward(%a: !w {tts.param = "a"}, %b: !w {tts.param = "b"}, %c: !w {tts.param = "c"}, %x: !w {tts.input = "x"},
                      %ga: !w {tts.gradient = "a"}, %gb: !w {tts.gradient = "b"}, %gc: !w {tts.gradient = "c"})
      -> (!w {tts.gradient = "a"}, !w {tts.gradient = "b"}, !w {tts.gradient = "c"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %0 = tts.mul %x, %c : !w loc("xc")
    %dc = tts.accumulate %gc, %0 : !w loc("dc")
    %1 = tts.mul %x, %b : !w loc("xb")
    %db = tts.accumulate %gb, %1 : !w loc("db")
    %2 = tts.mul %x, %a : !w loc("xa")
    %da = tts.accumulate %ga, %2 : !w loc("da")
    return %da, %db, %dc : !w, !w, !w
  }
}
