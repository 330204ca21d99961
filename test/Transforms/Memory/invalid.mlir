// RUN: tts-opt --tts-memory --split-input-file --verify-diagnostics %s

// expected-error @+1 {{unknown program 'train'; run tts-differentiate first}}
func.func @train() attributes {tts.program = "train"} {
  return
}

// -----

// expected-error @+1 {{argument #0 of a program is neither a state, an input, a scalar nor a stash}}
func.func @eval(%x: tensor<4xf32>) attributes {tts.program = "eval"} {
  return
}

// -----

// expected-error @+1 {{result #0 of a program has no role}}
func.func @eval(%x: tensor<4xf32> {tts.input = "x"}) -> tensor<4xf32> attributes {tts.program = "eval"} {
  return %x : tensor<4xf32>
}

// -----

// Returning another tensor's storage as a state would need a copy.
// expected-error @+1 {{result #0 (w) would need a copy: its value is another tensor's storage}}
func.func @update(%w: tensor<4xf32> {tts.param = "w"}, %v: tensor<4xf32> {tts.param = "v"})
    -> (tensor<4xf32> {tts.param = "w"}) attributes {tts.program = "update"} {
  return %v : tensor<4xf32>
}

// -----

func.func private @fresh(%a: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel}

// expected-error @+1 {{result #0 (w) would need a copy: what makes it reads the old value}}
func.func @update(%w: tensor<4xf32> {tts.param = "w"}) -> (tensor<4xf32> {tts.param = "w"}) attributes {tts.program = "update"} {
  %0 = rt.launch @fresh(%w) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @two(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32> {rt.tied = 0 : i64}) attributes {rt.kernel}

// Each overwrites what the other reads.
// expected-error @+1 {{entries overwrite values that others still read, in a circle}}
func.func @update(%w: tensor<4xf32> {tts.param = "w"}, %v: tensor<4xf32> {tts.param = "v"})
    -> (tensor<4xf32> {tts.param = "w"}, tensor<4xf32> {tts.param = "v"}) attributes {tts.program = "update"} {
  %0 = rt.launch @two(%w, %v) {tied = array<i64: 0>, in_place = array<i64: -1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.launch @two(%v, %w) {tied = array<i64: 0>, in_place = array<i64: -1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
