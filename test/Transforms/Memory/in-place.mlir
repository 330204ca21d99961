// RUN: tts-opt --tts-memory %s | FileCheck %s

func.func private @one(%a: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @two(%a: tensor<4xf32>, %b: tensor<4x1xf32>) -> tensor<4xf32> attributes {rt.kernel}

// A result takes over the operand that dies at its entry, but not one that the
// entry reads a second time through a view.

// CHECK-LABEL: rt.program @eval
// CHECK: rt.entry "one" [#rt.access<offset = 0, {{.*}} mode = 1, {{.*}}>, #rt.access<offset = [[A:[0-9]+]], {{.*}} mode = 2,
// CHECK: rt.entry "one" [#rt.access<offset = [[A]], {{.*}} mode = 1, {{.*}}>, #rt.access<offset = [[A]], {{.*}} mode = 2,
// CHECK: rt.entry "two" [#rt.access<offset = [[A]], {{.*}} mode = 1, {{.*}}>, #rt.access<offset = [[A]], {{.*}} mode = 1, {{.*}}>, #rt.access<offset = [[B:[0-9]+]], {{.*}} mode = 2,
// CHECK: rt.entry "one" [#rt.access<offset = [[B]], {{.*}} mode = 1, {{.*}}>, #rt.access<offset = [[A]], {{.*}} mode = 2,
func.func @eval(%x: tensor<4xf32> {tts.input = "x"}) -> (tensor<4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %0 = rt.launch @one(%x) {tied = array<i64: -1>, in_place = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.launch @one(%0) {tied = array<i64: -1>, in_place = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = rt.alias %1 : tensor<4xf32> to tensor<4x1xf32>
  %3 = rt.launch @two(%1, %2) {tied = array<i64: -1>, in_place = array<i64: 0>} : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<4xf32>
  %4 = rt.launch @one(%3) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
