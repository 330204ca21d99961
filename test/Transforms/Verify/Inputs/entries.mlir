module attributes {rt.arena_bytes = 64 : i64, rt.buffers = [#rt.buffer<name = "a", loc = "", klass = 0, program = -1, last_program = -1, first_entry = 0, last_entry = 0, offset = 0, size = 16>]} {
  rt.program @zero attributes {kind = 0 : i64, bucket = -1 : i64} {
    rt.entry "k" [#rt.access<offset = 0, size = 32, mode = 1, buffer = 0>] scalars [] range 1 "k"
  }
}
