// RUN: tts-opt --tts-specialize --split-input-file --verify-diagnostics %s

// expected-error @+1 {{specialize needs tts.buckets and tts.plan; run tts-plan first}}
module {
}

// -----

// expected-error @+1 {{tts.plan has one micro-batch per bucket of tts.buckets}}
module attributes {tts.buckets = [#tts.bucket<text = 8>],
                   tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [4, 2]>} {
}

// -----

module attributes {tts.buckets = [#tts.bucket<text = 8>],
                   tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [4]>} {
  func.func @forward(
      // expected-error @+1 {{gives no size to the dimension 'frames'; name it in the bucket}}
      %x: tensor<?x?xf32, #tts.dims<batch, frames>> {tts.input = "x"}) attributes {tts.program = "forward"} {
    return
  }
}
