// Every way in which the attributes of a model file can be wrong.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'tts.batch' must be a positive number of utterances}}
module attributes {tts.batch = 0 : i64} {}

// -----

// expected-error @+1 {{'tts.batch' must be a positive number of utterances}}
module attributes {tts.batch = "many"} {}

// -----

// expected-error @+1 {{'tts.buckets' must be a list of #tts.bucket<dimension = size, ...>}}
module attributes {tts.buckets = []} {}

// -----

// expected-error @+1 {{'tts.buckets' must be a list of #tts.bucket<dimension = size, ...>}}
module attributes {tts.buckets = [{text = 64 : i64}]} {}

// -----

// expected-error @+1 {{a bucket's size must be positive}}
module attributes {tts.buckets = [#tts.bucket<text = 0>]} {}

// -----

// expected-error @+1 {{'tts.program' must be a string}}
func.func @program() attributes {tts.program = 1 : i64} { return }

// -----

// expected-error @+1 {{argument #0: 'tts.param' must be a string, the tensor's name}}
func.func @param_name(%w: tensor<8xf32> {tts.param = 1 : i64}) { return }

// -----

// expected-error @+1 {{result #0: 'tts.loss' must be a string, the tensor's name}}
func.func private @loss_name() -> (tensor<f32> {tts.loss})

// -----

// expected-error @+1 {{argument #0: 'tts.input' belongs on a ranked tensor, not 'f32'}}
func.func @input_type(%x: f32 {tts.input = "x"}) { return }

// -----

// expected-error @+1 {{argument #0: a parameter has a static shape, not 'tensor<?x8xf32, #tts.dims<text, _>>'}}
func.func @param_shape(%w: tensor<?x8xf32, #tts.dims<text, _>> {tts.param = "w"}) { return }

// -----

// expected-error @+1 {{argument #0: 'tts.init' must be a #tts.init}}
func.func @init(%w: tensor<8xf32> {tts.param = "w", tts.init = "zeros"}) { return }

// -----

// expected-error @+1 {{unknown #tts.init kind 'gaussian'}}
func.func private @init_kind(tensor<8xf32> {tts.param = "w", tts.init = #tts.init<gaussian, 1.0>})

// -----

// expected-error @+1 {{#tts.init<uniform> takes 2 numbers, found 1}}
func.func private @init_count(tensor<8xf32> {tts.param = "w", tts.init = #tts.init<uniform, 1.0>})

// -----

// expected-error @+1 {{#tts.dims names 2 dimensions of a tensor of rank 3}}
func.func private @dims_rank(tensor<?x?x8xf32, #tts.dims<batch, text>>)

// -----

// expected-error @+1 {{#tts.dims: a '?' has a name and a static dimension is '_', found '_'}}
func.func private @dims_unnamed(tensor<?x8xf32, #tts.dims<_, _>>)

// -----

// expected-error @+1 {{#tts.dims: a '?' has a name and a static dimension is '_', found 'channel'}}
func.func private @dims_static(tensor<?x8xf32, #tts.dims<batch, channel>>)

// -----

func.func @lengths_of_floats(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'tts.lengths' must be a string, the dimension whose extents this op's result, i32 [batch], holds}}
  %0 = tts.relu %x {tts.lengths = "frames"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @round_shape(%x: tensor<8xf32>) {
  // expected-error @+1 {{failed to verify that all of {x, y} have same shape}}
  %0 = tts.round_to_int %x : tensor<8xf32> to tensor<9xi32>
  return
}

// -----

// expected-error @+1 {{#tts.store keeps values in bf16 or f16, not in 'f32'}}
module attributes {tts.other = #tts.store<"a", f32>} {
}
