// RUN: tts-opt --tts-move-update --split-input-file --verify-diagnostics %s

// expected-error @+1 {{tts.update_in_backward needs tts.plan beside it}}
module attributes {tts.update_in_backward} {
}

// -----

// expected-error @+1 {{tts.update_in_backward: an update has micro-batches of 2 buckets; plan for one bucket}}
module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2, 2]>, tts.update_in_backward} {
}

// -----

// expected-error @+1 {{tts.update_in_backward: 4 utterances are several micro-batches of 2; plan for one}}
module attributes {tts.batch = 4, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2]>, tts.update_in_backward} {
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2]>, tts.update_in_backward} {
  // expected-error @+1 {{tts.update_in_backward: gradients are clipped by their global norm, which is known when all of them are; plan anew}}
  func.func @update(%sum: tensor<f32> {tts.scalar = "sum"}) -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %clip, %norm = tts.clip_factor %sum {max_norm = 1.0} : tensor<f32>
    return %norm : tensor<f32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp16", threads = 1, micro_batches = [2]>, tts.update_in_backward} {
  // expected-error @+1 {{tts.update_in_backward: gradients that overflow have the update tried again, which is known when all of them are; plan anew}}
  func.func @update(%sum: tensor<f32> {tts.scalar = "sum"}, %scale: tensor<f32> {tts.scalar = "inverse_loss_scale"})
      -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %clip, %norm = tts.clip_factor %sum unscale %scale : tensor<f32> : tensor<f32>
    return %norm : tensor<f32>
  }
}
