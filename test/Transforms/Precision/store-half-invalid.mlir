// What tts.plan cannot have kept in half.
// RUN: tts-opt --tts-store-half --split-input-file --verify-diagnostics %s

// expected-error @+1 {{store-half needs tts.plan; run tts-plan first}}
module {
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"gone", bf16>]]>} {
  // expected-error @+1 {{has no value #tts.store<"gone", bf16>, which tts.plan speaks of; plan this model anew}}
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "r"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %r = tts.relu %x : tensor<2x3xf32> loc("r")
    return %r : tensor<2x3xf32>
  }
  func.func @backward_b0(%r: tensor<2x3xf32> {tts.stash = "r"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    return
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"r"[1], bf16>]]>} {
  // expected-error @+1 {{has no value #tts.store<"r"[1], bf16>, which tts.plan speaks of; plan this model anew}}
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "r"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    %r = tts.relu %x : tensor<2x3xf32> loc("r")
    return %r : tensor<2x3xf32>
  }
  func.func @backward_b0(%r: tensor<2x3xf32> {tts.stash = "r"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    return
  }
}

// -----

// An exponential is what mixed precision has in f32.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"e", bf16>]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "e"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    // expected-error @unknown {{'tts.exp' op result #0 cannot be kept in half, as tts.plan has it: only an f32 activation can}}
    %e = tts.exp %x : tensor<2x3xf32> loc("e")
    return %e : tensor<2x3xf32>
  }
  func.func @backward_b0(%e: tensor<2x3xf32> {tts.stash = "e"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    return
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"r", bf16>]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.output = "o"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    // expected-error @unknown {{'tts.relu' op result #0 is kept in half by tts.plan, but backward does not read it}}
    %r = tts.relu %x : tensor<2x3xf32> loc("r")
    return %r : tensor<2x3xf32>
  }
  func.func @backward_b0() attributes {tts.program = "backward", tts.bucket_index = 0} {
    return
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2], store = [[#tts.store<"r", bf16>, #tts.store<"r", f16>]]>} {
  func.func @forward_b0(%x: tensor<2x3xf32> {tts.input = "x"}) -> (tensor<2x3xf32> {tts.stash = "r"})
      attributes {tts.program = "forward", tts.bucket_index = 0} {
    // expected-error @unknown {{'tts.relu' op result #0 is kept in half twice by tts.plan}}
    %r = tts.relu %x : tensor<2x3xf32> loc("r")
    return %r : tensor<2x3xf32>
  }
  func.func @backward_b0(%r: tensor<2x3xf32> {tts.stash = "r"}) attributes {tts.program = "backward", tts.bucket_index = 0} {
    return
  }
}
