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

func.func private @shrink(%a: tensor<8xf32>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @half(%a: tensor<8xf32>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @both(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @make(%a: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel}

// @shrink lowers the live bytes, so it would run as soon as it could: right after @make. It waits for @half, which stands
// between them, and does not keep @half's result alive.
// CHECK-LABEL: rt.program @waits
// CHECK: rt.entry "make"
// CHECK-NEXT: rt.entry "half"
// CHECK-NEXT: rt.entry "shrink"
func.func @waits(%x: tensor<8xf32> {tts.input = "x"}) -> (tensor<4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %0 = rt.launch @make(%x) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = rt.launch @half(%x) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = rt.alias %0 after %1 : tensor<4xf32> : tensor<8xf32> to tensor<8xf32>
  %3 = rt.launch @shrink(%2) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<4xf32>
  %4 = rt.launch @both(%1, %3) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Without the wait it does run at once.
// CHECK-LABEL: rt.program @hurries
// CHECK: rt.entry "make"
// CHECK-NEXT: rt.entry "shrink"
// CHECK-NEXT: rt.entry "half"
func.func @hurries(%x: tensor<8xf32> {tts.input = "x"}) -> (tensor<4xf32> {tts.output = "y"}) attributes {tts.program = "infer"} {
  %0 = rt.launch @make(%x) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = rt.launch @half(%x) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<4xf32>
  %3 = rt.launch @shrink(%0) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<8xf32>) -> tensor<4xf32>
  %4 = rt.launch @both(%1, %3) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
