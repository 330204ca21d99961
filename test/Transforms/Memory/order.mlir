// RUN: tts-opt --tts-memory %s | FileCheck %s

// Entries are ordered by reads and overwrites: the reader of the old value comes
// before the update although it stands after it in the program.

func.func private @reader(%a: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @writer(%a: tensor<4xf32>) -> (tensor<4xf32> {rt.tied = 0 : i64}) attributes {rt.kernel}

// CHECK-LABEL: rt.program @update
// CHECK: rt.entry "reader"
// CHECK: rt.entry "writer" [#rt.access<offset = 0, size = 16, mode = 3, buffer = 0>]
func.func @update(%w: tensor<4xf32> {tts.param = "w"})
    -> (tensor<4xf32> {tts.param = "w"}, tensor<4xf32> {tts.ema = "w"}) attributes {tts.program = "update"} {
  %0 = rt.launch @writer(%w) {tied = array<i64: 0>, in_place = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.launch @reader(%w) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
