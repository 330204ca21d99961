// Every way in which a draw can be wrong.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

func.func @normal_batch(%u: tensor<3xi64>) {
  // expected-error @+1 {{dimension 0 of 'y' is 2, dimension 0 of 'utterances' is 3; they must be equal}}
  %0 = tts.normal %u {stream = "a"} : tensor<3xi64> to tensor<2x5xf32>
  return
}

// -----

func.func @normal_rank(%u: tensor<3xi64>) {
  // expected-error @+1 {{'y' has rank 1, expected 2 to 3}}
  %0 = tts.normal %u {stream = "a"} : tensor<3xi64> to tensor<3xf32>
  return
}

// -----

func.func @normal_stream(%u: tensor<3xi64>) {
  // expected-error @+1 {{'stream' must name the op's own random stream}}
  %0 = tts.normal %u {stream = ""} : tensor<3xi64> to tensor<3x5xf32>
  return
}

// -----

func.func @uniform_batch(%u: tensor<3xi64>) {
  // expected-error @+1 {{dimension 0 of 'y' is 2, dimension 0 of 'utterances' is 3; they must be equal}}
  %0 = tts.uniform %u {stream = "a"} : tensor<3xi64> to tensor<2xf32>
  return
}

// -----

func.func @span_share(%n: tensor<3xi32>, %u: tensor<3xi64>) {
  // expected-error @+1 {{a span has a share of [0, 1], found [7.000000e-01, 5.000000e-01]}}
  %0 = tts.span_mask %n, %u {low = 0.7 : f64, high = 0.5 : f64, stream = "a"} : tensor<3xi32>, tensor<3xi64> to tensor<3x5xf32>
  return
}

// -----

func.func @span_batch(%n: tensor<2xi32>, %u: tensor<3xi64>) {
  // expected-error @+1 {{dimension 0 of 'y' is 3, dimension 0 of 'lengths' is 2; they must be equal}}
  %0 = tts.span_mask %n, %u {low = 0.7 : f64, high = 1.0 : f64, stream = "a"} : tensor<2xi32>, tensor<3xi64> to tensor<3x5xf32>
  return
}

// -----

func.func @coin_rate(%d: tensor<2xi64>) {
  // expected-error @+1 {{'rate' must lie in [0, 1), found 1}}
  %0 = tts.coin %d {rate = 1.0 : f64, stream = "a"} : tensor<2xi64> to tensor<f32>
  return
}
