// RUN: tts-opt --tts-select --split-input-file --verify-diagnostics %s | FileCheck %s -enable-var-scope

// A chain of pointwise ops is one kernel; the bias is read where it is used and
// never repeated in memory. A value that is needed elsewhere ends a chain; the
// same chain twice is one function.

// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.*]] = rt.launch @relu_2x4xf32(
// CHECK: %[[B:.*]] = rt.launch @relu_2x4xf32(%{{.*}}, %[[A]])
// CHECK-NOT: rt.launch
// CHECK: return %[[A]], %[[B]]
// CHECK-LABEL: func.func private @relu_2x4xf32(
// CHECK: tts.broadcast
// CHECK-NEXT: tts.add
// CHECK-NEXT: tts.relu
// CHECK-NOT: func.func private
func.func @chain(%x: tensor<2x4xf32> {tts.input = "x"}, %b: tensor<4xf32> {tts.param = "b"})
    -> (tensor<2x4xf32> {tts.output = "y"}, tensor<2x4xf32> {tts.output = "z"}) attributes {tts.program = "eval"} {
  %0 = tts.broadcast %b dims [1] : tensor<4xf32> to tensor<2x4xf32>
  %1 = tts.add %x, %0 : tensor<2x4xf32>
  %2 = tts.relu %1 : tensor<2x4xf32>
  %3 = tts.add %2, %0 : tensor<2x4xf32>
  %4 = tts.relu %3 : tensor<2x4xf32>
  return %2, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// In-place ops are tied: the launch says so and the kernel does.
// CHECK-LABEL: func.func @update(
// CHECK: rt.launch @sgd_{{.*}} {in_place = array<i64: -1>, tied = array<i64: 0>}
// CHECK-LABEL: func.func private @sgd_
// CHECK-SAME: -> (tensor<4xf32> {rt.tied = 0 : i64})
func.func @update(%p: tensor<4xf32> {tts.param = "w"}, %g: tensor<4xf32> {tts.gradient = "w"},
                  %s: tensor<8xf32> {tts.scalar = "optimizer"}, %c: tensor<f32> {tts.scalar = "clip"})
    -> (tensor<4xf32> {tts.param = "w"}) attributes {tts.program = "update"} {
  %0 = tts.sgd %p, %g, %s, %c : tensor<4xf32>, tensor<8xf32>, tensor<f32>
  return %0 : tensor<4xf32>
}

// -----

// Squeezes are the operand's bytes, no kernel.
// CHECK-LABEL: func.func @squeeze(
// CHECK: rt.alias
// CHECK-NOT: rt.launch
func.func @squeeze(%x: tensor<2x1xf32> {tts.input = "x"}) -> (tensor<2xf32> {tts.output = "y"})
    attributes {tts.program = "eval"} {
  %0 = tts.squeeze %x {dim = 1} : tensor<2x1xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// What waits is the operand's bytes, too; the value waited for is no operand of the kernel, nor part of it.
// CHECK-LABEL: func.func @wait(
// CHECK: %[[W:.*]] = rt.gemm
// CHECK: %[[A:.*]] = rt.alias %arg0 after %[[W]] : tensor<2x2xf32>
// CHECK: rt.launch @exp_2x2xf32(%[[A]])
func.func @wait(%x: tensor<2x2xf32> {tts.input = "x"}, %w: tensor<2x2xf32> {tts.param = "w"})
    -> (tensor<2x2xf32> {tts.output = "y"}, tensor<2x2xf32> {tts.output = "z"}) attributes {tts.program = "eval"} {
  %0 = tts.linear %x, %w : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %1 = tts.recompute_after %x, %0 : tensor<2x2xf32>, tensor<2x2xf32>
  %2 = tts.exp %1 : tensor<2x2xf32>
  return %0, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A count that two losses share is computed for each: two results, two storages.
// CHECK-LABEL: func.func @counts(
// CHECK-COUNT-2: rt.launch @count_f32
func.func @counts(%n: tensor<2xi32> {tts.input = "n"})
    -> (tensor<f32> {tts.denominator = "a"}, tensor<f32> {tts.denominator = "b"}) attributes {tts.program = "denominators"} {
  %0 = tts.count %n : tensor<2xi32> to tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{select needs static shapes; run tts-specialize first}}
func.func @dynamic(%x: tensor<?xf32, #tts.dims<batch>> {tts.input = "x"}) attributes {tts.program = "eval"} {
  return
}

// -----

// Rows with the sum that they are made of and the mask after them. The row op reads its operands again after it has
// written, so nothing dies in it.
// CHECK-LABEL: func.func @rows(
// CHECK: rt.launch @layer_norm_2x3x8xf32({{.*}}) {in_place = array<i64: -1, -1>, tied = array<i64: -1, -1>}
// CHECK-NOT: rt.launch
// CHECK: return
func.func @rows(%x: tensor<2x3x8xf32> {tts.stash = "x"}, %r: tensor<2x3x8xf32> {tts.stash = "r"}, %g: tensor<8xf32> {tts.param = "g"},
                %n: tensor<2xi32> {tts.input = "n"})
    -> (tensor<2x3x8xf32> {tts.output = "y"}, tensor<2x3xf32> {tts.output = "m"}) attributes {tts.program = "eval"} {
  %0 = tts.add %x, %r : tensor<2x3x8xf32>
  %y, %mean, %rstd = tts.layer_norm %0, %g, %g {epsilon = 1.0e-05 : f64} : tensor<2x3x8xf32>, tensor<8xf32> to tensor<2x3xf32>
  %1 = tts.mask %y, %n : tensor<2x3x8xf32>, tensor<2xi32>
  return %1, %mean : tensor<2x3x8xf32>, tensor<2x3xf32>
}

// -----

// Many parameters are one kernel's, which is told from which tensor each result takes its storage.
// CHECK-LABEL: func.func @many(
// CHECK: rt.launch @sgd_2_tensors_f32(%arg0, %arg2, %arg4, %arg5, %arg1, %arg3) {in_place = array<i64: -1, -1>, tied = array<i64: 0, 4>}
// CHECK-NOT: rt.launch
// CHECK: return
func.func @many(%p: tensor<4xf32> {tts.param = "p"}, %q: tensor<2x9xf32> {tts.param = "q"}, %g: tensor<4xf32> {tts.gradient = "p"},
                %h: tensor<2x9xf32> {tts.gradient = "q"}, %s: tensor<8xf32> {tts.scalar = "optimizer"}, %c: tensor<f32> {tts.scalar = "clip"})
    -> (tensor<4xf32> {tts.param = "p"}, tensor<2x9xf32> {tts.param = "q"}) attributes {tts.program = "update"} {
  %0 = tts.sgd %p, %g, %s, %c : tensor<4xf32>, tensor<8xf32>, tensor<f32>
  %1 = tts.sgd %q, %h, %s, %c : tensor<2x9xf32>, tensor<8xf32>, tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<2x9xf32>
}
