// What the step table cannot be written from, one fault each.
// RUN: tts-opt --tts-rt-to-llvm --split-input-file --verify-diagnostics %s

// expected-error@+1 {{lacks rt.arena_bytes, rt.buffers or rt.manifest; run tts-memory first}}
module {
}

// -----

module attributes {rt.arena_bytes = 64 : i64, rt.buffers = [], rt.manifest = {}} {
  rt.program @zero attributes {kind = 0 : i64, bucket = -1 : i64} {
    // expected-error@+1 {{'fill' is neither a kernel nor a library function}}
    rt.entry "fill" [] scalars [] range 4 "fill"
  }
}

// -----

module attributes {rt.arena_bytes = 64 : i64, rt.buffers = [], rt.manifest = {}} {
  llvm.func @fill(!llvm.ptr, i64, i64)
  rt.program @zero attributes {kind = 0 : i64, bucket = -1 : i64} {
    // expected-error@+1 {{kernel 'fill' has the parallel range 0}}
    rt.entry "fill" [] scalars [] range 0 "fill"
  }
}

// -----

module attributes {rt.arena_bytes = 64 : i64, rt.buffers = [], rt.manifest = {}} {
  // expected-error@+1 {{kind 11 is no TtsProgramKind}}
  rt.program @nothing attributes {kind = 11 : i64, bucket = -1 : i64} {
  }
}
