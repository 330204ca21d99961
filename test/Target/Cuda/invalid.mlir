// RUN: tts-opt %s --tts-cuda-collectives-to-nccl --tts-kernels-to-gpu --split-input-file --verify-diagnostics
// REQUIRES: tts-opt

// expected-error @below {{kernel without a range; run tts-to-kernels first}}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{no lane of a warp can hold its part of 'vector<64xf32>'}}
  %v = vector.load %x[%c0] : memref<64xf32>, vector<64xf32>
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{no lane of a warp can compute this: a load of other than 32 lanes}}
  %v = vector.load %x[%c0] : memref<64xf32>, vector<16xf32>
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<0.0> : vector<16xf32>
  // expected-error @below {{no lane of a warp can compute this: a store of other than 32 lanes}}
  vector.store %v, %x[%c0] : memref<64xf32>, vector<16xf32>
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %v = arith.constant dense<0.0> : vector<1xf32>
  // expected-error @below {{no lane of a warp can compute this: a broadcast of a vector}}
  %w = vector.broadcast %v : vector<1xf32> to vector<32xf32>
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %v = arith.constant dense<0.0> : vector<32xf32>
  // expected-error @below {{no lane of a warp can compute this: an op of vectors without a rule}}
  %s = vector.reduction <add>, %v : vector<32xf32> into f32
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  // expected-error @below {{no lane of a warp can compute this}}
  %m = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @k(%x: memref<64xf32>, %lo: index, %hi: index) attributes {rt.kernel, rt.range = 1 : i64} {
  %v = arith.constant dense<0.0> : vector<32xf32>
  // expected-error @below {{no lane of a warp can compute this: lanes meet in it}}
  %s = builtin.unrealized_conversion_cast %v : vector<32xf32> to vector<32xf32>
  return
}

// -----

rt.program @whole attributes {bucket = -1 : i64, kind = 4 : i64} {
  // expected-error @below {{sums something else than f32 or f64}}
  rt.entry "rt.all_reduce" [#rt.access<offset = 64, size = 120, mode = 3, buffer = 0, dtype = 2>, #rt.access<offset = 512, size = 256, mode = 2, buffer = 2, dtype = 6>] scalars [] range 0 "gradients"
}
