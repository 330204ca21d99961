// What a pipeline cannot be cut into.
// RUN: tts-opt %s --split-input-file --tts-partition --verify-diagnostics

module attributes {tts.ranks = 2 : i64, tts.stage_starts = ["nowhere"], tts.stage = 0 : i64} {
  // expected-error @+1 {{has no op named 'nowhere' behind where stage 0 begins; tts.stage_starts are names of its ops in order}}
  func.func @forward_b0(%x: tensor<4xf32> {tts.input = "x"}) -> (tensor<f32> {tts.loss = "l"}) attributes {tts.program = "forward", tts.bucket_index = 0 : i64} {
    %0 = tts.sum_squares %x : tensor<4xf32> to tensor<f32> loc("sum")
    return %0 : tensor<f32>
  }
}

// -----

// expected-error @+1 {{tts.stage must be one of the 2 stages that tts.stage_starts cuts forward into}}
module attributes {tts.ranks = 2 : i64, tts.stage_starts = ["b"], tts.stage = 2 : i64} {
}

// -----

// expected-error @+1 {{tts.ranks is 3, which 2 stages cannot share}}
module attributes {tts.ranks = 3 : i64, tts.stage_starts = ["b"], tts.stage = 0 : i64} {
}

// -----

// expected-error @+1 {{a pipeline's states are whole, and its sums have no fixed order; take tts.state_sharding or tts.deterministic off, or tts.stage_starts}}
module attributes {tts.ranks = 2 : i64, tts.stage_starts = ["b"], tts.stage = 0 : i64, tts.state_sharding = "optimizer"} {
}
