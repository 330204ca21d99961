llvm.func @expf(f32) -> f32
llvm.func @malloc(i64) -> !llvm.ptr
