// update reads gradients after one sum over the ranks of all that it reads; without ranks nothing changes.
// RUN: tts-opt %s --split-input-file --tts-partition --tts-verify-contract=level=partition | FileCheck %s

module attributes {tts.ranks = 2 : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func @backward
  // CHECK-NOT: all_reduce
  func.func @backward(%x: tensor<4xf32> {tts.input = "x"}, %g: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<4xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
    %0 = tts.add %g, %x : tensor<4xf32> loc("add")
    return %0 : tensor<4xf32>
  }
  // CHECK-LABEL: func @update
  // CHECK-SAME: %[[W:.*]]: tensor<4xf32> {tts.param = "w"}, %[[GW:.*]]: tensor<4xf32> {tts.gradient = "w"}, %[[GV:.*]]: tensor<3x2xf32> {tts.gradient = "v"}, %{{.*}} {tts.gradient = "unread"}
  // CHECK-NEXT: %[[S:.*]]:2 = tts.all_reduce %[[GW]], %[[GV]] : (tensor<4xf32>, tensor<3x2xf32>) -> (tensor<4xf32>, tensor<3x2xf32>)
  // CHECK-NEXT: %[[N:.*]] = tts.sum_squares %[[S]]#0
  // CHECK-NEXT: tts.sum_squares %[[S]]#1 into %[[N]]
  // CHECK: tts.sgd %[[W]], %[[S]]#0
  func.func @update(%w: tensor<4xf32> {tts.param = "w"}, %gw: tensor<4xf32> {tts.gradient = "w"}, %gv: tensor<3x2xf32> {tts.gradient = "v"},
                    %unread: tensor<5xf32> {tts.gradient = "unread"}, %s: tensor<8xf32> {tts.scalar = "optimizer"})
      -> (tensor<4xf32> {tts.param = "w"}, tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gw : tensor<4xf32> to tensor<f32> loc("n0")
    %1 = tts.sum_squares %gv into %0 : tensor<f32> : tensor<3x2xf32> to tensor<f32> loc("n1")
    %clip, %norm = tts.clip_factor %1 : tensor<f32> loc("clip")
    %2 = tts.sgd %w, %gw, %s, %clip : tensor<4xf32>, tensor<8xf32>, tensor<f32> loc("sgd")
    return %2, %norm : tensor<4xf32>, tensor<f32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func @update
  // CHECK-NEXT: tts.sum_squares %arg0
  func.func @update(%gw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gw : tensor<4xf32> to tensor<f32> loc("n0")
    return %0 : tensor<f32>
  }
}
