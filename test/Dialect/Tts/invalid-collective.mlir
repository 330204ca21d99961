// Every way in which a sum over ranks can be wrong.
// RUN: tts-opt %s --split-input-file --verify-diagnostics

func.func @nothing() {
  // expected-error @+1 {{has nothing to sum}}
  tts.all_reduce : () -> ()
  return
}

// -----

func.func @another_shape(%a: tensor<4xf32>) {
  // expected-error @+1 {{gives sums of other types than its values}}
  %0 = tts.all_reduce %a : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @several_types(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @+1 {{sums values of several element types; use an op for each}}
  %0:2 = tts.all_reduce %a, %b : (tensor<4xf32>, tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>)
  return
}
