// Every way in which what ranks exchange can be wrong.
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

// -----

func.func @one_rank(%a: tensor<4xf32>) {
  // expected-error @+1 {{shards values over 1 ranks; it takes two}}
  %0 = tts.shard %a over 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @too_few_shards(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{has 2 values and 1 shards}}
  %0 = tts.shard %a, %b over 2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @not_rounded_up(%a: tensor<5xf32>) {
  // expected-error @+1 {{a shard of 'tensor<5xf32>' over 2 ranks is 'tensor<3xf32>', not 'tensor<2xf32>'}}
  %0 = tts.shard %a over 2 : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @several_types_scattered(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @+1 {{sums values of several element types; use an op for each}}
  %0:2 = tts.reduce_scatter %a, %b over 2 : tensor<4xf32>, tensor<4xf64> to tensor<2xf32>, tensor<2xf64>
  return
}

// -----

func.func @other_accumulators(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{has accumulators of other types than its shards}}
  %0 = tts.reduce_scatter %a into %b over 2 : tensor<4xf32> into tensor<4xf32> to tensor<2xf32>
  return
}

// -----

func.func @read_again(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{uses up a value that something else reads}}
  %0 = tts.reduce_scatter %a over 2 : tensor<4xf32> to tensor<2xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @several_types_gathered(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{gathers values of several element types; use an op for each}}
  %0:2 = tts.all_gather %a, %b over 2 : (tensor<2xf32>, tensor<2xf64>) -> (tensor<4xf32>, tensor<4xf64>)
  return
}
