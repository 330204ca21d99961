// A gradient that is read before it is summed over the ranks would train each rank alone.
// RUN: tts-opt %s --split-input-file --tts-verify-contract=level=partition --verify-diagnostics

module attributes {tts.ranks = 2 : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // expected-error @+1 {{the gradient of 'w' is not summed over the ranks exactly once before it is read; run tts-partition}}
  func.func @update(%gw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gw : tensor<4xf32> to tensor<f32> loc("n0")
    return %0 : tensor<f32>
  }
}

// -----

module attributes {tts.ranks = 2 : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // expected-error @+1 {{the gradient of 'w' is not summed over the ranks exactly once}}
  func.func @update(%gw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.all_reduce %gw : (tensor<4xf32>) -> tensor<4xf32> loc("sum")
    %1 = tts.sum_squares %0 : tensor<4xf32> to tensor<f32> loc("n0")
    %2 = tts.sum_squares %gw into %1 : tensor<f32> : tensor<4xf32> to tensor<f32> loc("n1")
    return %2 : tensor<f32>
  }
}

// -----

module attributes {tts.ranks = 2 : i64, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // expected-error @+1 {{the gradient of 'w' is not summed over the ranks exactly once}}
  func.func @backward(%x: tensor<2xf32> {tts.input = "x"}, %gw: tensor<2xf32> {tts.gradient = "w", tts.shard_of = array<i64: 4>}) -> (tensor<2xf32> {tts.gradient = "w"}) attributes {tts.program = "backward"} {
    %0 = tts.accumulate %gw, %x : tensor<2xf32> loc("dw")
    return %0 : tensor<2xf32>
  }
}
