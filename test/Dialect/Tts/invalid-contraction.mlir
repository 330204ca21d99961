// Every way in which a contraction or a norm can be ill-shaped.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

func.func @linear_rank(%x: tensor<8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'x' has rank 1, expected 2 to 3}}
  %0 = tts.linear %x, %w : tensor<8xf32>, tensor<8x4xf32> to tensor<4xf32>
  return
}

// -----

func.func @linear_result_rank(%x: tensor<3x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'y' has rank 3, expected 2}}
  %0 = tts.linear %x, %w : tensor<3x8xf32>, tensor<8x4xf32> to tensor<1x3x4xf32>
  return
}

// -----

func.func @linear_inner(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 8, dimension 0 of 'w' is 4; they must be equal}}
  %0 = tts.linear %x, %w : tensor<3x8xf32>, tensor<4x8xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @linear_transposed_inner(%x: tensor<3x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 8, dimension 1 of 'w' is 4; they must be equal}}
  %0 = tts.linear %x, %w {transpose} : tensor<3x8xf32>, tensor<8x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @linear_outer(%x: tensor<3x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'y' is 5, dimension 1 of 'w' is 4; they must be equal}}
  %0 = tts.linear %x, %w : tensor<3x8xf32>, tensor<8x4xf32> to tensor<3x5xf32>
  return
}

// -----

func.func @linear_rows(%x: tensor<?x?x8xf32, #tts.dims<batch, text, _>>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is text, dimension 1 of 'y' is frames; they must be equal}}
  %0 = tts.linear %x, %w : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<8x4xf32> to tensor<?x?x4xf32, #tts.dims<batch, frames, _>>
  return
}

// -----

func.func @linear_elements(%x: tensor<3x8xf32>, %w: tensor<8x4xf64>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'w' has 'f64'; insert a tts.cast}}
  %0 = tts.linear %x, %w : tensor<3x8xf32>, tensor<8x4xf64> to tensor<3x4xf32>
  return
}

// -----

func.func @linear_result_element(%x: tensor<3x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'y' has 'f64'; insert a tts.cast}}
  %0 = tts.linear %x, %w : tensor<3x8xf32>, tensor<8x4xf32> to tensor<3x4xf64>
  return
}

// -----

func.func @linear_integers(%x: tensor<3x8xi32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor}}
  %0 = "tts.linear"(%x, %w) : (tensor<3x8xi32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @conv1d_rank(%x: tensor<3x8xf32>, %w: tensor<3x8x4xf32>) {
  // expected-error @+1 {{'x' has rank 2, expected 3}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<3x8xf32>, tensor<3x8x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @conv1d_time(%x: tensor<2x5x8xf32>, %w: tensor<3x8x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 1 of 'y' is 3; they must be equal}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<2x5x8xf32>, tensor<3x8x4xf32> to tensor<2x3x4xf32>
  return
}

// -----

func.func @conv1d_channels(%x: tensor<2x5x8xf32>, %w: tensor<3x4x8xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 1 of 'w' is 4; they must be equal}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<2x5x8xf32>, tensor<3x4x8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @conv1d_left(%x: tensor<2x5x8xf32>, %w: tensor<3x8x4xf32>) {
  // expected-error @+1 {{'left' is 3, expected one of the 3 taps}}
  %0 = tts.conv1d %x, %w {left = 3 : i64} : tensor<2x5x8xf32>, tensor<3x8x4xf32> to tensor<2x5x4xf32>
  return
}

// -----

func.func @conv1d_left_negative(%x: tensor<2x5x8xf32>, %w: tensor<3x8x4xf32>) {
  // expected-error @+1 {{'left' is -1, expected one of the 3 taps}}
  %0 = tts.conv1d %x, %w {left = -1 : i64} : tensor<2x5x8xf32>, tensor<3x8x4xf32> to tensor<2x5x4xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{8 channels do not divide into 3 heads}}
  %0 = tts.attention %q, %q, %q, %n {heads = 3 : i64} : tensor<2x5x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_no_heads(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{8 channels do not divide into 0 heads}}
  %0 = tts.attention %q, %q, %q, %n {heads = 0 : i64} : tensor<2x5x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_lengths(%q: tensor<2x5x8xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{dimension 0 of 'q' is 2, dimension 0 of 'lengths' is 5; they must be equal}}
  %0 = tts.attention %q, %q, %q, %n {heads = 2 : i64} : tensor<2x5x8xf32>, tensor<5xi32>
  return
}

// -----

func.func @attention_types(%q: tensor<2x5x8xf32>, %k: tensor<2x6x8xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{dimension 1 of 'q' is 5, dimension 1 of 'k' is 6; they must be equal}}
  %0 = tts.attention %q, %k, %k, %n {heads = 2 : i64} : tensor<2x5x8xf32> keys tensor<2x6x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_keys_and_values(%q: tensor<2x5x8xf32>, %k: tensor<2x5x4xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{failed to verify that all of {k, v} have same type}}
  %0 = "tts.attention"(%q, %k, %q, %n) {heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<2x5x8xf32>, tensor<2x5x4xf32>, tensor<2x5x8xf32>, tensor<2xi32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @attention_group(%q: tensor<2x5x8xf32>, %k: tensor<2x5x6xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'k' has 6 channels; expected 2 for each of a divisor of 4 heads}}
  %0 = tts.attention %q, %k, %k, %n {heads = 4 : i64} : tensor<2x5x8xf32> keys tensor<2x5x6xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_keys_element(%q: tensor<2x5x8xf32>, %k: tensor<2x5x8xf64>, %n: tensor<2xi32>) {
  // expected-error @+1 {{element types differ: 'q' has 'f32', 'k' has 'f64'; insert a tts.cast}}
  %0 = tts.attention %q, %k, %k, %n {heads = 2 : i64} : tensor<2x5x8xf32> keys tensor<2x5x8xf64>, tensor<2xi32>
  return
}

// -----

func.func @attention_grad_heads(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{8 channels do not divide into 3 heads}}
  %0:3 = tts.attention_grad %q, %q, %q, %q, %n {heads = 3 : i64} : tensor<2x5x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_half_a_dropout(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{dropout needs utterances, draw, 'rate' and 'stream', or none of them}}
  %0 = tts.attention %q, %q, %q, %n dropout %u, %d {heads = 2 : i64, rate = 0.1 : f64} : tensor<2x5x8xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @attention_rate(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{'rate' must lie in [0, 1), found 1}}
  %0 = tts.attention %q, %q, %q, %n dropout %u, %d {heads = 2 : i64, rate = 1.0 : f64, stream = "s"} : tensor<2x5x8xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @attention_stream(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{'stream' must name the op's own random stream}}
  %0 = tts.attention %q, %q, %q, %n dropout %u, %d {heads = 2 : i64, rate = 0.1 : f64, stream = ""} : tensor<2x5x8xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @attention_utterances(%q: tensor<2x5x8xf32>, %n: tensor<2xi32>, %u: tensor<3xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{dimension 0 of 'q' is 2, dimension 0 of 'utterances' is 3; they must be equal}}
  %0 = tts.attention %q, %q, %q, %n dropout %u, %d {heads = 2 : i64, rate = 0.1 : f64, stream = "s"} : tensor<2x5x8xf32>, tensor<2xi32>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @attention_many_heads(%q: tensor<2x5x257xf32>, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{257 heads are too many for dropout, at most 256}}
  %0 = tts.attention %q, %q, %q, %n dropout %u, %d {heads = 257 : i64, rate = 0.1 : f64, stream = "s"} : tensor<2x5x257xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @swap_middle(%x: tensor<2x5x3x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 2 of 'y' is 3; they must be equal}}
  %0 = tts.swap_middle %x : tensor<2x5x3x8xf32> to tensor<2x5x3x8xf32>
  return
}

// -----

func.func @swap_middle_elements(%x: tensor<2x5x3x8xf32>) {
  // expected-error @+1 {{element types differ: 'y' has 'f64', 'x' has 'f32'; insert a tts.cast}}
  %0 = tts.swap_middle %x : tensor<2x5x3x8xf32> to tensor<2x3x5x8xf64>
  return
}

// -----

func.func @key_softmax_dropout(%s: tensor<2x1x5x5xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{dropout needs utterances, draw, 'rate' and 'stream', or none of them}}
  %0 = tts.key_softmax %s, %n {scale = 1.0 : f64, rate = 0.1 : f64, stream = "s"} : tensor<2x1x5x5xf32>, tensor<2xi32>
  return
}

// -----

func.func @key_softmax_lengths(%s: tensor<2x1x5x5xf32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{dimension 0 of 'scores' is 2, dimension 0 of 'lengths' is 1; they must be equal}}
  %0 = tts.key_softmax %s, %n {scale = 1.0 : f64} : tensor<2x1x5x5xf32>, tensor<1xi32>
  return
}

// -----

func.func @key_softmax_group(%s: tensor<2x1x5x5xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{5 rows are no multiple of 'group', 2}}
  %0 = tts.key_softmax %s, %n {scale = 1.0 : f64, group = 2 : i64} : tensor<2x1x5x5xf32>, tensor<2xi32>
  return
}

// -----

func.func @key_softmax_grad_dropped(%p: tensor<2x1x5x5xf32>) {
  // expected-error @+1 {{gives dropped probabilities with dropout only}}
  %0:2 = "tts.key_softmax_grad"(%p, %p) {scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x1x5x5xf32>, tensor<2x1x5x5xf32>) -> (tensor<2x1x5x5xf32>, tensor<2x1x5x5xf32>)
  return
}

// -----

func.func @layer_norm_channels(%x: tensor<2x5x8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'gamma' is 4; they must be equal}}
  %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x5x8xf32>, tensor<4xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @layer_norm_mean_rank(%x: tensor<2x5x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'mean' has rank 3, expected 2}}
  %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x5x8xf32>, tensor<8xf32> to tensor<2x5x1xf32>
  return
}

// -----

func.func @layer_norm_rows(%x: tensor<2x5x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 1 of 'mean' is 4; they must be equal}}
  %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x5x8xf32>, tensor<8xf32> to tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_elements(%x: tensor<2x5x8xf32>, %g: tensor<8xf64>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'gamma' has 'f64'; insert a tts.cast}}
  %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x5x8xf32>, tensor<8xf64> to tensor<2x5xf32>
  return
}

// -----

func.func @layer_norm_statistics(%x: tensor<2x5x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'mean' has 'f64'; insert a tts.cast}}
  %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : tensor<2x5x8xf32>, tensor<8xf32> to tensor<2x5xf64>
  return
}

// -----

func.func @rms_norm_gamma(%x: tensor<2x5x8xf32>, %g: tensor<5xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'gamma' is 5; they must be equal}}
  %0:2 = tts.rms_norm %x, %g {epsilon = 1.0e-6 : f64} : tensor<2x5x8xf32>, tensor<5xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @cross_entropy_weight(%x: tensor<2x5x8xf32>, %w: tensor<7x9xf32>, %t: tensor<2x5xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'w' is 7; they must be equal}}
  %0:2 = tts.linear_cross_entropy %x, %w, %t, %n : tensor<2x5x8xf32>, tensor<7x9xf32>, tensor<2x5xi32>, tensor<2xi32> to tensor<f32>, tensor<2x5xf32>
  return
}

// -----

func.func @cross_entropy_time(%x: tensor<2x5x8xf32>, %w: tensor<8x9xf32>, %t: tensor<2x6xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{dimension 1 of 'x' is 5, dimension 1 of 'targets' is 6; they must be equal}}
  %0:2 = tts.linear_cross_entropy %x, %w, %t, %n : tensor<2x5x8xf32>, tensor<8x9xf32>, tensor<2x6xi32>, tensor<2xi32> to tensor<f32>, tensor<2x5xf32>
  return
}

// -----

func.func @cross_entropy_lse(%x: tensor<2x5x8xf32>, %w: tensor<8x9xf32>, %t: tensor<2x5xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 2, dimension 0 of 'lse' is 3; they must be equal}}
  %0:2 = tts.linear_cross_entropy %x, %w, %t, %n : tensor<2x5x8xf32>, tensor<8x9xf32>, tensor<2x5xi32>, tensor<2xi32> to tensor<f32>, tensor<3x5xf32>
  return
}

// -----

func.func @count_targets_lengths(%t: tensor<2x5xi32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{dimension 0 of 'targets' is 2, dimension 0 of 'lengths' is 3; they must be equal}}
  %0 = tts.count_targets %t, %n {classes = 9 : i64} : tensor<2x5xi32>, tensor<3xi32> to tensor<f32>
  return
}

// -----

func.func @groups_divide(%x: tensor<2x5x8xf32>, %w: tensor<3x2x8xf32>) {
  // expected-error @+1 {{8 and 8 channels do not divide into 3 groups}}
  %0 = tts.conv1d %x, %w {left = 1, groups = 3} : tensor<2x5x8xf32>, tensor<3x2x8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @group_size(%x: tensor<2x5x8xf32>, %w: tensor<3x8x8xf32>) {
  // expected-error @+1 {{dimension 1 of 'w' is 8, expected 4, the channels of a group}}
  %0 = tts.conv1d %x, %w {left = 1, groups = 2} : tensor<2x5x8xf32>, tensor<3x8x8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @depthwise_channels(%x: tensor<2x5x8xf32>, %w: tensor<3x4xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 1 of 'w' is 4; they must be equal}}
  %0 = tts.depthwise_conv1d %x, %w {left = 1} : tensor<2x5x8xf32>, tensor<3x4xf32>
  return
}

// -----

func.func @depthwise_left(%x: tensor<2x5x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error @+1 {{'left' is 3, expected one of the 3 taps}}
  %0 = tts.depthwise_conv1d %x, %w {left = 3} : tensor<2x5x8xf32>, tensor<3x8xf32>
  return
}

// -----

func.func @depthwise_elements(%x: tensor<2x5x8xf32>, %w: tensor<3x8xf64>) {
  // expected-error @+1 {{element types differ: 'x' has 'f32', 'w' has 'f64'; insert a tts.cast}}
  %0 = tts.depthwise_conv1d %x, %w {left = 1} : tensor<2x5x8xf32>, tensor<3x8xf64>
  return
}

// -----

func.func @time_norm_channels(%x: tensor<2x5x8xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 1 of 'n' is 5; they must be equal}}
  %0 = tts.time_norm %x : tensor<2x5x8xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @pad_steps(%x: tensor<3x5x8xf32>) {
  // expected-error @+1 {{'y' has 7 steps, too few for 'x' from step 3 on}}
  %0 = tts.pad_time %x {left = 3 : i64} : tensor<3x5x8xf32> to tensor<3x7x8xf32>
  return
}

// -----

func.func @unpad_rows(%x: tensor<18x8xf32>) {
  // expected-error @+1 {{'x' has 18 rows, expected 19 in periods of at least 5}}
  %0 = tts.unpad_time %x {period = 7 : i64} : tensor<18x8xf32> to tensor<3x5x8xf32>
  return
}
