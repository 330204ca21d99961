// A stage with two micro-batches under way: forward and backward exist twice, what lives between them lies in a slot each, the rest in one place.
// RUN: tts-opt %s --tts-memory --tts-verify-contract=level=memory | FileCheck %s
!w = tensor<16xf32>
// One slot is 64 bytes: %a of slot 0 and of slot 1 lie one behind the other above what persists; what only forward uses lies above both.
// CHECK: rt.buffers = [
// CHECK-DAG: #rt.buffer<name = "outbox.0", {{[^>]*}}klass = 8, program = -1, {{[^>]*}}offset = [[#OUT:]], size = 64>
// CHECK-DAG: #rt.buffer<name = "a", {{[^>]*}}program = 0, last_program = 2, {{[^>]*}}offset = [[#SLOT:]], size = 64>
// CHECK-DAG: #rt.buffer<name = "a", {{[^>]*}}program = 1, last_program = 3, {{[^>]*}}offset = [[#SLOT+64]], size = 64>
// CHECK: rt.program @forward_b0 attributes {bucket = 0 : i64, kind = 2 : i64} {
// CHECK: rt.entry "rt.recv" {{.*}} scalars [1, 7]
// CHECK: rt.entry "rt.send" {{.*}} scalars [1, 8]
// CHECK: rt.program @forward_b0_slot1 attributes {bucket = 0 : i64, kind = 2 : i64, slot = 1 : i64} {
// CHECK: rt.program @backward_b0 attributes
// CHECK: rt.program @backward_b0_slot1 attributes
module attributes {tts.slots = 2 : i64} {
  func.func private @add(%a: !w, %b: !w) -> !w attributes {rt.kernel}
  func.func @forward_b0(%x: !w {tts.input = "x"}) -> (!w {tts.stash = "a"}) attributes {tts.program = "forward", tts.bucket_index = 0 : i64} {
    %0 = rt.receive from 1 by 7 : !w loc("in")
    %a = rt.launch @add(%x, %0) {tied = array<i64: -1>, in_place = array<i64: -1>} : (!w, !w) -> !w loc("a")
    rt.send %a to 1 by 8 {rt.scratch = 64 : i64} : !w loc("out")
    return %a : !w
  }
  func.func @backward_b0(%a: !w {tts.stash = "a"}, %g: !w {tts.gradient = "w"}) -> (!w {tts.gradient = "w"}) attributes {tts.program = "backward", tts.bucket_index = 0 : i64} {
    %0 = rt.launch @add(%g, %a) {tied = array<i64: 0>, in_place = array<i64: -1>} : (!w, !w) -> !w loc("sum")
    return %0 : !w
  }
}
