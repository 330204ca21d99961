// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-polynomials
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Half types: a lane loads and stores 16 bits and computes in f32; the rounding to bf16 is the CPU's, in integers.

// CHECK-LABEL: llvm.func @tts_residual(
// CHECK:         llvm.load {{.*}} -> bf16
// CHECK:         llvm.fadd {{.*}} : f32
// CHECK-NOT:     llvm.fptrunc
// CHECK:         llvm.store {{.*}} : bf16
// PTX-LABEL: .entry tts_residual(
// PTX:         ld.global.b16
// PTX:         add.rn.f32
// PTX:         st.global.b16
func.func private @residual(%x: tensor<4x80xbf16>, %y: tensor<4x80xbf16>) -> tensor<4x80xbf16> attributes {rt.kernel} {
  %0 = tts.add %x, %y : tensor<4x80xbf16>
  %1 = tts.gelu %0 : tensor<4x80xbf16>
  return %1 : tensor<4x80xbf16>
}

// CHECK-LABEL: llvm.func @tts_rounded(
// CHECK:         llvm.fptrunc {{.*}} : f32 to f16
// PTX-LABEL: .entry tts_rounded(
// PTX:         cvt.rn.f16.f32
// PTX:         st.global.b16
func.func private @rounded(%x: tensor<4x80xf32>) -> tensor<4x80xf16> attributes {rt.kernel} {
  %0 = tts.cast %x : tensor<4x80xf32> to tensor<4x80xf16>
  return %0 : tensor<4x80xf16>
}

// CHECK-LABEL: llvm.func @tts_norm_of_half(
// CHECK:         llvm.load {{.*}} -> bf16
// CHECK:         nvvm.shfl.sync down
// CHECK:         llvm.store {{.*}} : f32
// PTX-LABEL: .entry tts_norm_of_half(
// PTX:         sqrt.rn.f32
func.func private @norm_of_half(%x: tensor<20x256xbf16>, %g: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<20x256xbf16>, tensor<20xf32>, tensor<20xf32>) attributes {rt.kernel} {
  %y, %m, %r = tts.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : tensor<20x256xbf16>, tensor<256xf32> to tensor<20xf32>
  return %y, %m, %r : tensor<20x256xbf16>, tensor<20xf32>, tensor<20xf32>
}

// CHECK-LABEL: llvm.func @tts_sum_of_half(
// CHECK:         llvm.fadd {{.*}} : f32
// PTX-LABEL: .entry tts_sum_of_half(
// PTX:         st.global.b32
func.func private @sum_of_half(%x: tensor<20x64xf16>) -> tensor<64xf32> attributes {rt.kernel} {
  %y = tts.sum_to %x dims [1] : tensor<20x64xf16> to tensor<64xf32>
  return %y : tensor<64xf32>
}
