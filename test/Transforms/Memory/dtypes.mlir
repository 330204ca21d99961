// Every operand says what its bytes hold: f32 unsaid, what is no number TTS_BYTES.
// RUN: tts-opt --tts-memory %s | FileCheck %s

func.func private @mixed(%a: tensor<4xf32>, %b: tensor<4xf64>, %c: tensor<4xi32>, %d: tensor<4xi64>, %e: tensor<4xi1>)
    -> (tensor<4xbf16>, tensor<4xf16>) attributes {rt.kernel}

// CHECK-LABEL: rt.program @eval
// CHECK: rt.entry "mixed" [#rt.access<offset = {{[0-9]+}}, size = 16, mode = 1, buffer = {{[0-9]+}}>,
// CHECK-SAME: size = 32, mode = 1, buffer = {{[0-9]+}}, dtype = 1>
// CHECK-SAME: size = 16, mode = 1, buffer = {{[0-9]+}}, dtype = 2>
// CHECK-SAME: size = 32, mode = 1, buffer = {{[0-9]+}}, dtype = 3>
// CHECK-SAME: size = 4, mode = 1, buffer = {{[0-9]+}}, dtype = 6>
// CHECK-SAME: size = 8, mode = 2, buffer = {{[0-9]+}}, dtype = 4>
// CHECK-SAME: size = 8, mode = 2, buffer = {{[0-9]+}}, dtype = 5>
func.func @eval(%a: tensor<4xf32> {tts.input = "a"}, %b: tensor<4xf64> {tts.input = "b"}, %c: tensor<4xi32> {tts.input = "c"},
                %d: tensor<4xi64> {tts.input = "d"}, %e: tensor<4xi1> {tts.input = "e"})
    -> (tensor<4xbf16> {tts.output = "x"}, tensor<4xf16> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %0:2 = rt.launch @mixed(%a, %b, %c, %d, %e) {tied = array<i64: -1, -1>, in_place = array<i64: -1, -1>}
    : (tensor<4xf32>, tensor<4xf64>, tensor<4xi32>, tensor<4xi64>, tensor<4xi1>) -> (tensor<4xbf16>, tensor<4xf16>)
  return %0#0, %0#1 : tensor<4xbf16>, tensor<4xf16>
}
