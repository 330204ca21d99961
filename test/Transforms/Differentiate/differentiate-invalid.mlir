// What tts-differentiate says about models that it cannot differentiate.
// RUN: tts-opt %s --tts-differentiate --split-input-file --verify-diagnostics

// expected-error @+1 {{no training function; give one function of the module the attribute tts.program = "train"}}
module {
  func.func @other() { return }
}

// -----

module {
  func.func @train() attributes {tts.program = "train"} { return }
  // expected-error @+1 {{a second training function beside @train; keep one}}
  func.func @again() attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{@train has no body or several blocks; write it as one list of ops}}
  func.func private @train() attributes {tts.program = "train"}
}

// -----

module {
  // expected-error @+1 {{argument #0 has no role; give it tts.param, tts.input or tts.scalar}}
  func.func @train(%x: tensor<8xf32>) attributes {tts.program = "train"} { return }
}

// -----

module {
  func.func @train(%v: tensor<8xf32> {tts.param = "w"},
                   // expected-error @+1 {{parameter "w" is listed twice; pass it once and use it twice}}
                   %w: tensor<8xf32> {tts.param = "w"}) attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{result #0 has no role; give it tts.loss, tts.denominator or tts.output}}
  func.func @train(%x: tensor<f32> {tts.input = "x"}) -> tensor<f32> attributes {tts.program = "train"} { return %x : tensor<f32> }
}

// -----

module {
  // expected-error @+1 {{@train has no loss; return one with tts.loss = "<name>"}}
  func.func @train() attributes {tts.program = "train"} { return }
}

// -----

module {
  // expected-error @+1 {{loss "mel" is a 'tensor<8xf32>', not a single number; return the sum over its elements}}
  func.func @train(%x: tensor<8xf32> {tts.input = "x"}) -> (tensor<8xf32> {tts.loss = "mel"}) attributes {tts.program = "train"} { return %x : tensor<8xf32> }
}

// -----

module {
  // expected-error @+1 {{loss "mel" has no denominator; return one with tts.denominator = "mel"}}
  func.func @train(%x: tensor<f32> {tts.input = "x"}) -> (tensor<f32> {tts.loss = "mel"}) attributes {tts.program = "train"} { return %x : tensor<f32> }
}

// -----

module {
  // expected-error @+1 {{denominator "pitch" has no loss; return one with tts.loss = "pitch"}}
  func.func @train(%x: tensor<f32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}, tensor<f32> {tts.denominator = "pitch"})
    attributes {tts.program = "train"} { return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32> }
}

// -----

module {
  // expected-error @+1 {{loss "mel" is returned twice; names are unique}}
  func.func @train(%x: tensor<f32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"})
    attributes {tts.program = "train"} { return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32> }
}

// -----

module {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %boundaries: tensor<3xf32> {tts.input = "boundaries"}, %table: tensor<4x8xf32> {tts.param = "table"},
                   %t: tensor<2x5x8xf32> {tts.input = "t"}, %n: tensor<2xi32> {tts.input = "n"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    // expected-error @+1 {{'tts.bucketize' has no derivative but lies between parameter "w" and loss "mel"; compute it from the data, or freeze the parameters behind it}}
    %ids = tts.bucketize %w, %boundaries : tensor<2x5xf32>, tensor<3xf32> to tensor<2x5xi32>
    %e = tts.embedding %ids, %table : tensor<2x5xi32>, tensor<4x8xf32> to tensor<2x5x8xf32>
    %0 = tts.l1_loss %e, %t, %n : tensor<2x5x8xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    // expected-error @+1 {{'tts.mse_loss' has no derivative in its operand #1 but lies between parameter "w" and loss "mel"; compute this operand from the data, or freeze the parameters behind it}}
    %0 = tts.mse_loss %x, %w, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"},
                   // expected-error @+1 {{parameter "lonely" reaches no loss; use it, or freeze it with tts.frozen}}
                   %lonely: tensor<8xf32> {tts.param = "lonely"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    // expected-error @+1 {{denominator "mel" depends on parameter "w"; compute it from the data alone}}
    %1 = tts.sum_to %w dims [] : tensor<2x5xf32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
  // expected-error @+1 {{@eval is the name of a program that Differentiate makes; rename this one}}
  func.func @eval() { return }
}

// -----

// expected-error @+1 {{tts.optimizer is "rmsprop"; it must be "adamw" or "sgd"}}
module attributes {tts.optimizer = "rmsprop"} {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error @+1 {{tts.grad_clip is -1.000000e+00 : f64; it must be a number like 1.0, or 0.0 to switch it off}}
module attributes {tts.grad_clip = -1.0} {
  func.func @train(%w: tensor<2x5xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}, %x: tensor<2x5xf32> {tts.input = "x"})
    -> (tensor<f32> {tts.loss = "mel"}, tensor<f32> {tts.denominator = "mel"}) attributes {tts.program = "train"} {
    %0 = tts.mse_loss %w, %x, %n : tensor<2x5xf32>, tensor<2xi32> to tensor<f32>
    %1 = tts.count %n : tensor<2xi32> to tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error @+1 {{parameter #0 has an empty name; name it in tts.param}}
  func.func @train(%w: tensor<8xf32> {tts.param = ""}) attributes {tts.program = "train"} { return }
}
