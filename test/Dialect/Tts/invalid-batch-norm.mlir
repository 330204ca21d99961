// Every way in which batch normalisation can be ill-shaped.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<3x8xf32>, %c: tensor<8xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'x' has rank 2, expected 3}}
  %0 = tts.batch_norm %x, %c, %c, %c, %c, %l {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : tensor<3x8xf32>, tensor<8xf32>, tensor<3xi32>
  return
}

// -----

func.func @channels(%x: tensor<3x5x8xf32>, %c: tensor<4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'gamma' is 4; they must be equal}}
  %0 = tts.batch_norm %x, %c, %c, %c, %c, %l {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : tensor<3x5x8xf32>, tensor<4xf32>, tensor<3xi32>
  return
}

// -----

func.func @lengths(%x: tensor<3x5x8xf32>, %c: tensor<8xf32>, %l: tensor<5xi32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 3, dimension 0 of 'lengths' is 5; they must be equal}}
  %0 = tts.batch_norm %x, %c, %c, %c, %c, %l {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : tensor<3x5x8xf32>, tensor<8xf32>, tensor<5xi32>
  return
}

// -----

func.func @epsilon(%x: tensor<3x5x8xf32>, %c: tensor<8xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'epsilon' must lie in (0, 1], found 0.000000e+00}}
  %0 = tts.batch_norm %x, %c, %c, %c, %c, %l {epsilon = 0.0 : f64, momentum = 0.1 : f64} : tensor<3x5x8xf32>, tensor<8xf32>, tensor<3xi32>
  return
}

// -----

func.func @momentum(%x: tensor<3x5x8xf32>, %c: tensor<8xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'momentum' must lie in (0, 1], found 1.100000e+00}}
  %0 = tts.batch_norm %x, %c, %c, %c, %c, %l {epsilon = 1.0e-5 : f64, momentum = 1.1 : f64} : tensor<3x5x8xf32>, tensor<8xf32>, tensor<3xi32>
  return
}

// -----

func.func @statistics(%x: tensor<3x5x8xf32>, %l: tensor<3xi32>, %n: tensor<f32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'mean' is 4; they must be equal}}
  %m, %r, %v = tts.batch_statistics %x, %l, %n {epsilon = 1.0e-5 : f64} : tensor<3x5x8xf32>, tensor<3xi32>, tensor<f32> to tensor<4xf32>
  return
}

// -----

func.func @statistics_lengths(%x: tensor<3x5x8xf32>, %l: tensor<5xi32>, %n: tensor<f32>) {
  // expected-error @+1 {{dimension 0 of 'x' is 3, dimension 0 of 'lengths' is 5; they must be equal}}
  %m, %r, %v = tts.batch_statistics %x, %l, %n {epsilon = 1.0e-5 : f64} : tensor<3x5x8xf32>, tensor<5xi32>, tensor<f32> to tensor<8xf32>
  return
}

// -----

func.func @normalize(%x: tensor<3x5x8xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{dimension 2 of 'x' is 8, dimension 0 of 'mean' is 4; they must be equal}}
  %0 = tts.batch_normalize %x, %c, %c, %c, %c : tensor<3x5x8xf32>, tensor<4xf32>
  return
}
