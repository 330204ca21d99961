// What the time model sees of each entry of a step, in the order of its programs; eval is none of them.
// RUN: tts-opt --tts-print-work %s -o /dev/null | FileCheck %s

// CHECK: "bucket":0,"calls":1,"function":"rt.gemm","index":0,"operations":{},"product":{"accumulates":true,"k":2,"m":4,"n":8,"precision":"bf16","taps":0,"transpose_a":true,"transpose_b":false},"program":2
// A run touches 368 bytes; the factors are its first, the sum was read 64 bytes before its end.
// CHECK-SAME: "touches":{{\[\[}}16,352],[32,320],[128,64]]
// CHECK-NEXT: "function":"halve","index":1,"operations":{"bf16":32,"tts.cast":32,"tts.exp":32},
// CHECK-SAME: "touches":{{\[\[}}128,0],[64,176]]
// CHECK-NEXT: "function":"full","index":0,"operations":{"tts.full.f64":4},"program":4,"touches":{{\[\[}}32,0]]
// CHECK-NOT: index
module attributes {tts.batch = 4 : i64, rt.arena_bytes = 320 : i64, rt.persistent_bytes = 0 : i64, rt.buffers = []} {
  func.func private @halve(%x: tensor<32xf32>) -> tensor<32xbf16> attributes {rt.kernel} {
    %0 = tts.exp %x : tensor<32xf32>
    %1 = tts.cast %0 : tensor<32xf32> to tensor<32xbf16>
    return %1 : tensor<32xbf16>
  }
  func.func private @full() -> tensor<4xf64> attributes {rt.kernel} {
    %0 = tts.full 0.0 : tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  rt.program @update attributes {kind = 4 : i64, bucket = -1 : i64} {
    rt.entry "full" [#rt.access<offset = 256, size = 32, mode = 2, buffer = 2>] scalars [] range 0 "update"
  }
  rt.program @eval_b0 attributes {kind = 5 : i64, bucket = 0 : i64} {
    rt.entry "full" [#rt.access<offset = 256, size = 32, mode = 2, buffer = 2>] scalars [] range 0 "eval"
  }
  rt.program @forward_b0 attributes {kind = 2 : i64, bucket = 0 : i64} {
    rt.entry "rt.gemm" [#rt.access<offset = 0, size = 16, mode = 1, buffer = 0>,
                        #rt.access<offset = 64, size = 32, mode = 1, buffer = 0>,
                        #rt.access<offset = 128, size = 128, mode = 3, buffer = 1, dtype = 0>]
      scalars [4, 4, 8, 2, 4, 8, 8, 1, 0, 1, 1, 0, 0, 0, 0, 0] range 0 "product"
    rt.entry "halve" [#rt.access<offset = 128, size = 128, mode = 1, buffer = 1>,
                      #rt.access<offset = 256, size = 64, mode = 2, buffer = 2>] scalars [] range 0 "halve"
  }
}
