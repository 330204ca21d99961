// Every way in which a broadcast, sum, gather or time op can be ill-shaped.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_count(%x: tensor<8xf32>) {
  // expected-error @+1 {{'dims' has 2 entries, 'x' has rank 1}}
  %0 = tts.broadcast %x dims [1, 2] : tensor<8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @broadcast_outside(%x: tensor<8xf32>) {
  // expected-error @+1 {{'dims' must be ascending dimensions of 'y', which has rank 3}}
  %0 = tts.broadcast %x dims [3] : tensor<8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @broadcast_descending(%x: tensor<5x8xf32>) {
  // expected-error @+1 {{'dims' must be ascending dimensions of 'y', which has rank 3}}
  %0 = tts.broadcast %x dims [2, 1] : tensor<5x8xf32> to tensor<2x8x5xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<5xf32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 5, dimension 2 of 'y' is 8; they must be equal}}
  %0 = tts.broadcast %x dims [2] : tensor<5xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @broadcast_name(%x: tensor<?xf32, #tts.dims<text>>) {
  // expected-error @+1 {{dimension 0 of 'x' is text, dimension 1 of 'y' is frames; they must be equal}}
  %0 = tts.broadcast %x dims [1] : tensor<?xf32, #tts.dims<text>> to tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
  return
}

// -----

func.func @broadcast_element(%x: tensor<8xf32>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'y' has 'f64'; insert a tts.cast}}
  %0 = tts.broadcast %x dims [1] : tensor<8xf32> to tensor<2x8xf64>
  return
}

// -----

func.func @sum_to_middle(%x: tensor<2x5x8xf32>) {
  // expected-error @+1 {{keeps leading dimensions, the last one, the first and the last of three, or none}}
  %0 = tts.sum_to %x dims [1] : tensor<2x5x8xf32> to tensor<5xf32>
  return
}

// -----

func.func @sum_to_size(%x: tensor<2x5x8xf32>) {
  // expected-error @+1 {{dimension 0 of 'y' is 5, dimension 2 of 'x' is 8; they must be equal}}
  %0 = tts.sum_to %x dims [2] : tensor<2x5x8xf32> to tensor<5xf32>
  return
}

// -----

func.func @sum_to_accumulator(%x: tensor<2x5x8xf32>, %acc: tensor<8xf64>) {
  // expected-error @+1 {{'acc' must have the result's type}}
  %0 = tts.sum_to %x dims [2] into %acc : tensor<8xf64> : tensor<2x5x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @squeeze_size(%x: tensor<2x5x8xf32>) {
  // expected-error @+1 {{dimension 2 of the larger shape must exist with size 1}}
  %0 = tts.squeeze %x {dim = 2 : i64} : tensor<2x5x8xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @squeeze_missing(%x: tensor<2x5x1xf32>) {
  // expected-error @+1 {{dimension 3 of the larger shape must exist with size 1}}
  %0 = tts.squeeze %x {dim = 3 : i64} : tensor<2x5x1xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @unsqueeze_rest(%x: tensor<2x5xf32>) {
  // expected-error @+1 {{dimension 1 of 'small' is 5, dimension 1 of 'large' is 6; they must be equal}}
  %0 = tts.unsqueeze %x {dim = 2 : i64} : tensor<2x5xf32> to tensor<2x6x1xf32>
  return
}

// -----

func.func @unsqueeze_element(%x: tensor<2x5xf32>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'y' has 'f64'; insert a tts.cast}}
  %0 = tts.unsqueeze %x {dim = 2 : i64} : tensor<2x5xf32> to tensor<2x5x1xf64>
  return
}

// -----

func.func @mask_rank(%x: tensor<5xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'x' has rank 1, expected 2 to 3}}
  %0 = tts.mask %x, %n : tensor<5xf32>, tensor<5xi32>
  return
}

// -----

func.func @mask_batch(%x: tensor<2x5x8xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 2, dimension 0 of 'lengths' is 5; they must be equal}}
  %0 = tts.mask %x, %n : tensor<2x5x8xf32>, tensor<5xi32>
  return
}

// -----

func.func @mask_lengths_type(%x: tensor<2x5x8xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{operand #1 must be 1D tensor of 32-bit signless integer values}}
  %0 = "tts.mask"(%x, %n) : (tensor<2x5x8xf32>, tensor<2xi64>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @embedding_rank(%ids: tensor<2x5xi32>, %table: tensor<40x8xf32>) {
  // expected-error @+1 {{'y' has rank 2, expected 3}}
  %0 = tts.embedding %ids, %table : tensor<2x5xi32>, tensor<40x8xf32> to tensor<2x8xf32>
  return
}

// -----

func.func @embedding_ids(%ids: tensor<2x5xi32>, %table: tensor<40x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'ids' is 5, dimension 1 of 'y' is 6; they must be equal}}
  %0 = tts.embedding %ids, %table : tensor<2x5xi32>, tensor<40x8xf32> to tensor<2x6x8xf32>
  return
}

// -----

func.func @embedding_channels(%ids: tensor<2x5xi32>, %table: tensor<40x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'table' is 8, dimension 2 of 'y' is 9; they must be equal}}
  %0 = tts.embedding %ids, %table : tensor<2x5xi32>, tensor<40x8xf32> to tensor<2x5x9xf32>
  return
}

// -----

func.func @embedding_element(%ids: tensor<2x5xi32>, %table: tensor<40x8xf32>) {
  // expected-error @+1 {{element types differ: 'y' has 'f64', 'table' has 'f32'; insert a tts.cast}}
  %0 = tts.embedding %ids, %table : tensor<2x5xi32>, tensor<40x8xf32> to tensor<2x5x8xf64>
  return
}

// -----

func.func @bucketize_rank(%x: tensor<2x5xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'ids' has rank 1, expected 2}}
  %0 = tts.bucketize %x, %b : tensor<2x5xf32>, tensor<3xf32> to tensor<2xi32>
  return
}

// -----

func.func @bucketize_size(%x: tensor<2x5xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 1 of 'ids' is 6; they must be equal}}
  %0 = tts.bucketize %x, %b : tensor<2x5xf32>, tensor<3xf32> to tensor<2x6xi32>
  return
}

// -----

func.func @bucketize_element(%x: tensor<2x5xf32>, %b: tensor<3xf64>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'boundaries' has 'f64'; insert a tts.cast}}
  %0 = tts.bucketize %x, %b : tensor<2x5xf32>, tensor<3xf64> to tensor<2x5xi32>
  return
}

// -----

func.func @length_regulate_rank(%x: tensor<2x5xf32>, %d: tensor<2x5xi32>) {
  // expected-error @+1 {{'x' has rank 2, expected 3}}
  %0 = tts.length_regulate %x, %d : tensor<2x5xf32>, tensor<2x5xi32> to tensor<2x9x8xf32>
  return
}

// -----

func.func @length_regulate_channels(%x: tensor<2x5x8xf32>, %d: tensor<2x5xi32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 2 of 'y' is 7; they must be equal}}
  %0 = tts.length_regulate %x, %d : tensor<2x5x8xf32>, tensor<2x5xi32> to tensor<2x9x7xf32>
  return
}

// -----

func.func @length_regulate_durations(%x: tensor<2x5x8xf32>, %d: tensor<2x6xi32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 1 of 'durations' is 6; they must be equal}}
  %0 = tts.length_regulate %x, %d : tensor<2x5x8xf32>, tensor<2x6xi32> to tensor<2x9x8xf32>
  return
}

// -----

func.func @dropout_rate(%x: tensor<2x5x8xf32>, %u: tensor<2xi64>, %draw: tensor<2xi64>) {
  // expected-error @+1 {{'rate' must lie in [0, 1), found 1.0}}
  %0 = tts.dropout %x, %u, %draw {rate = 1.0 : f64, stream = "d"} : tensor<2x5x8xf32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @dropout_stream(%x: tensor<2x5x8xf32>, %u: tensor<2xi64>, %draw: tensor<2xi64>) {
  // expected-error @+1 {{'stream' must name the op's own random stream}}
  %0 = tts.dropout %x, %u, %draw {rate = 0.5 : f64, stream = ""} : tensor<2x5x8xf32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @dropout_utterances(%x: tensor<2x5x8xf32>, %u: tensor<3xi64>, %draw: tensor<2xi64>) {
  // expected-error @+1 {{dimension 0 of 'x' is 2, dimension 0 of 'utterances' is 3; they must be equal}}
  %0 = tts.dropout %x, %u, %draw {rate = 0.5 : f64, stream = "d"} : tensor<2x5x8xf32>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @dropout_draw(%x: tensor<2x5x8xf32>, %u: tensor<2xi64>, %draw: tensor<3xi64>) {
  // expected-error @+1 {{operand #2 must be vector of 2 numbers}}
  %0 = "tts.dropout"(%x, %u, %draw) {rate = 0.5 : f64, stream = "d"} : (tensor<2x5x8xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<2x5xi32>) {
  // expected-error @+1 {{all of {x, y} have same shape}}
  %0 = tts.cast %x : tensor<2x5xi32> to tensor<2x6xf32>
  return
}

// -----

func.func @add_types(%x: tensor<2x5xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{op requires the same type for all operands and results}}
  %0 = "tts.add"(%x, %y) : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @loss_rank(%x: tensor<5xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'prediction' has rank 1, expected 2 to 3}}
  %0 = tts.l1_loss %x, %x, %n : tensor<5xf32>, tensor<5xi32> to tensor<f32>
  return
}

// -----

func.func @loss_lengths(%x: tensor<2x5xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{dimension 0 of 'prediction' is 2, dimension 0 of 'lengths' is 5; they must be equal}}
  %0 = tts.mse_loss %x, %x, %n : tensor<2x5xf32>, tensor<5xi32> to tensor<f32>
  return
}

// -----

func.func @loss_element(%x: tensor<2x5xf64>, %n: tensor<2xi32>) {
  // expected-error @+1 {{element types differ: 'prediction' has 'f64', 'sum' has 'f32'; insert a tts.cast}}
  %0 = tts.l1_loss %x, %x, %n : tensor<2x5xf64>, tensor<2xi32> to tensor<f32>
  return
}

// -----

func.func @loss_target(%x: tensor<2x5xf32>, %y: tensor<2x6xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{failed to verify that all of {prediction, target} have same type}}
  %0 = "tts.l1_loss"(%x, %y, %n) : (tensor<2x5xf32>, tensor<2x6xf32>, tensor<2xi32>) -> tensor<f32>
  return
}

// -----

func.func @adamw_settings(%p: tensor<8xf32>, %s: tensor<7xf32>, %clip: tensor<f32>) {
  // expected-error @+1 {{operand #4 must be vector of 8 numbers}}
  %0:3 = "tts.adamw"(%p, %p, %p, %p, %s, %clip) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<7xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rotary_channels(%x: tensor<2x5x12xf32>, %t: tensor<5x4xf32>) {
  // expected-error @+1 {{'table' has 4 channels, 'x' has 12 for 2 heads; expected one even number per head}}
  %0 = tts.rotary %x, %t {heads = 2} : tensor<2x5x12xf32>, tensor<5x4xf32>
  return
}

// -----

func.func @rotary_odd(%x: tensor<2x5x6xf32>, %t: tensor<5x3xf32>) {
  // expected-error @+1 {{'table' has 3 channels, 'x' has 6 for 2 heads; expected one even number per head}}
  %0 = tts.rotary %x, %t {heads = 2} : tensor<2x5x6xf32>, tensor<5x3xf32>
  return
}

// -----

func.func @rotary_heads(%x: tensor<2x5x2x4xf32>, %t: tensor<5x2xf32>) {
  // expected-error @+1 {{'heads' is 2, expected 1 where heads are a dimension of 'x', else at least 1}}
  %0 = tts.rotary %x, %t {heads = 2} : tensor<2x5x2x4xf32>, tensor<5x2xf32>
  return
}

// -----

func.func @rotary_time(%x: tensor<2x5x4xf32>, %t: tensor<6x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 0 of 'table' is 6; they must be equal}}
  %0 = tts.rotary %x, %t {heads = 1} : tensor<2x5x4xf32>, tensor<6x4xf32>
  return
}

// -----

func.func @no_parts() {
  // expected-error @+1 {{has no parts}}
  %0 = "tts.concat"() : () -> tensor<2x5x8xf32>
  return
}

// -----

func.func @parts_together(%a: tensor<2x5x8xf32>) {
  // expected-error @+1 {{parts have 16 channels together, the whole tensor has 11}}
  %0 = tts.concat %a, %a : tensor<2x5x8xf32>, tensor<2x5x8xf32> to tensor<2x5x11xf32>
  return
}

// -----

func.func @parts_rows(%a: tensor<2x5x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'part' is 4, dimension 1 of 'whole' is 5; they must be equal}}
  %0:2 = tts.split %a : tensor<2x5x8xf32> to tensor<2x5x4xf32>, tensor<2x4x4xf32>
  return
}

// -----

func.func @parts_unknown(%a: tensor<2x?xf32, #tts.dims<_, text>>) {
  // expected-error @+1 {{parts have a last dimension of known size}}
  %0 = tts.concat %a : tensor<2x?xf32, #tts.dims<_, text>> to tensor<2x?xf32, #tts.dims<_, text>>
  return
}

// -----

func.func @sinusoid_at_batch(%t: tensor<3xf32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 3, dimension 0 of 'y' is 2; they must be equal}}
  %0 = tts.sinusoid_at %t : tensor<3xf32> to tensor<2x8xf32>
  return
}
