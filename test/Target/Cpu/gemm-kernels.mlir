// RUN: not tts-opt --tts-cpu-gemm-kernels %s 2>&1 | FileCheck %s

// A generated product adds no bias: who lets a product add one asked the library first.
// CHECK: error: a product that no library does adds no bias; tts-cpu-choose-epilogues asks the library first
module attributes {rt.arena_bytes = 4096 : i64, rt.buffers = [
    #rt.buffer<name = "x", loc = "", klass = 5, program = 0, last_program = 0, first_entry = 0, last_entry = 0, offset = 0, size = 1024>]} {
  rt.program @eval attributes {bucket = 0 : i64, kind = 4 : i64} {
    rt.entry "rt.gemm" [#rt.access<offset = 0, size = 64, mode = 1, buffer = 0>,
                        #rt.access<offset = 64, size = 64, mode = 1, buffer = 0>,
                        #rt.access<offset = 128, size = 64, mode = 2, buffer = 0>,
                        #rt.access<offset = 192, size = 16, mode = 1, buffer = 0>]
      scalars [0, 4, 4, 4, 4, 4, 4, 0, 0, 0, 1, 0, 0, 0, 0, 1, -1] range 0 "linear"
  }
}
