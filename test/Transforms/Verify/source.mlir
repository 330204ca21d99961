// The contract of a user's module, one broken promise at a time.
// RUN: tts-opt %s --tts-verify-contract --split-input-file --verify-diagnostics

// expected-error @+1 {{0 training functions; give one the attribute tts.program = "train"}}
module {}

// -----

// expected-error @+1 {{program 'eval' is made by Differentiate; a model file has the training function and perhaps infer}}
module {
  func.func @train() attributes {tts.program = "train"} { return }
  func.func @eval() attributes {tts.program = "eval"} { return }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} {
    // expected-error @+1 {{'arith.constant' is no tts op; write the model in tts ops}}
    %0 = arith.constant 1.0 : f32
    return
  }
}

// -----

module attributes {tts.buckets = [#tts.bucket<text = 64, frames = 300>, #tts.bucket<text = 128>]} {
  func.func @train(%x: tensor<?x?xi32, #tts.dims<batch, text>> {tts.input = "x"},
                   // expected-error @+1 {{size 'frames' has no value in bucket #1 of tts.buckets; add frames = <size>}}
                   %y: tensor<?x?x80xf32, #tts.dims<batch, frames, _>> {tts.input = "y"}) attributes {tts.program = "train"} {
    return
  }
}

// -----

module {
  // expected-error @+1 {{'tensor<?x8xf32>' has a '?' without a name; add #tts.dims<...>}}
  func.func @train(%x: tensor<?x8xf32> {tts.input = "x"}) attributes {tts.program = "train"} {
    return
  }
}

// -----

module {
  // expected-error @+1 {{argument #0 has no role}}
  func.func @train(%x: tensor<8xf32>) attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{argument #0 has two roles; split it in two}}
  func.func @train(%x: tensor<8xf32> {tts.input = "x", tts.param = "x"}) attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{arguments #0 and #1 are both tts.param "w"; names are unique}}
  func.func @train(%x: tensor<8xf32> {tts.param = "w"}, %y: tensor<8xf32> {tts.param = "w"}) attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{loss "mel" has no denominator; return one with tts.denominator = "mel"}}
  func.func @train(%x: tensor<f32> {tts.input = "x"}) -> (tensor<f32> {tts.loss = "mel"}) attributes {tts.program = "train"} {
    return %x : tensor<f32>
  }
}

// -----

module {
  func.func @train(%x: tensor<8xf32> {tts.param = "w"}) attributes {tts.program = "train"} { return }
  // expected-error @+1 {{parameter "w" has different types in @train and @infer; the same name is the same parameter}}
  func.func @infer(%x: tensor<9xf32> {tts.param = "w"}) attributes {tts.program = "infer"} { return }
}

// -----

// expected-error @+1 {{2 functions are program 'infer'; keep one}}
module {
  func.func @train() attributes {tts.program = "train"} { return }
  func.func @infer() attributes {tts.program = "infer"} { return }
  func.func @speak() attributes {tts.program = "infer"} { return }
}

// -----

module {
  func.func @train(%x: tensor<8xf32> {tts.param = "w"}) attributes {tts.program = "train"} { return }
  // expected-error @+1 {{parameter "v" of @infer is none of the training function's; nothing would ever set it}}
  func.func @infer(%x: tensor<8xf32> {tts.param = "v"}) attributes {tts.program = "infer"} { return }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} { return }
  // expected-error @+1 {{@infer takes tts.scalar "draw"; it may take parameters and inputs only}}
  func.func @infer(%x: tensor<2xi64> {tts.scalar = "draw"}) attributes {tts.program = "infer"} { return }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} { return }
  // expected-error @+1 {{result #0 of @infer is no output; give it tts.output}}
  func.func @infer(%x: tensor<f32> {tts.input = "x"}) -> (tensor<f32> {tts.stash = "x"}) attributes {tts.program = "infer"} {
    return %x : tensor<f32>
  }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} { return }
  // expected-error @+1 {{result #0 of @infer has tts.lengths but is 'tensor<f32>'; lengths are an i32 [batch] tensor}}
  func.func @infer(%x: tensor<f32> {tts.input = "x"}) -> (tensor<f32> {tts.output = "x", tts.lengths = "frames"}) attributes {tts.program = "infer"} {
    return %x : tensor<f32>
  }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} { return }
  func.func @infer(%x: tensor<2x8xf32> {tts.input = "x"}, %u: tensor<2xi64> {tts.input = "u"}, %d: tensor<2xi64> {tts.input = "d"}) attributes {tts.program = "infer"} {
    // expected-error @+1 {{'tts.dropout' in @infer acts in training only; leave it out}}
    %0 = tts.dropout %x, %u, %d {rate = 5.0e-01 : f64, stream = "s"} : tensor<2x8xf32>, tensor<2xi64>, tensor<2xi64>
    return
  }
}
