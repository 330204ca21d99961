// RUN: tts-opt --tts-memory %s | FileCheck %s

// A new value of a lasting tensor that is not made in place of the old one (a half copy that is refreshed) comes after the
// readers of the old one, too, though it stands before them and takes no bytes.

func.func private @reader(%a: tensor<4xbf16>) -> tensor<4xf32> attributes {rt.kernel}
func.func private @refresh(%a: tensor<4xf32>) -> tensor<4xbf16> attributes {rt.kernel}

// CHECK-LABEL: rt.program @backward
// CHECK-NEXT: rt.entry "reader" [#rt.access<offset = 64, size = 8, mode = 1, buffer = 1, dtype = 4>
// CHECK-NEXT: rt.entry "refresh" [{{.*}}, #rt.access<offset = 64, size = 8, mode = 2, buffer = 1, dtype = 4>]
func.func @backward(%w: tensor<4xf32> {tts.param = "w"}, %half: tensor<4xbf16> {tts.half_copy = "w"})
    -> (tensor<4xbf16> {tts.half_copy = "w"}, tensor<4xf32> {tts.ema = "w"}) attributes {tts.program = "backward"} {
  %0 = rt.launch @refresh(%w) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = rt.launch @reader(%half) {tied = array<i64: -1>, in_place = array<i64: -1>} : (tensor<4xbf16>) -> tensor<4xf32>
  return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}
