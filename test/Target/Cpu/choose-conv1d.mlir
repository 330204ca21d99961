// REQUIRES: avx512
// RUN: tts-opt --tts-cpu-choose-conv1d %s | FileCheck %s
// RUN: tts-opt --tts-cpu-choose-conv1d --tts-select %s | FileCheck %s --check-prefix=SELECT

// Measured: forward the library wins at 1,024 rows and loses at 8; the other
// way only products were ever faster.
module attributes {tts.conv1d_times = [
    array<i64: 0, 1024, 64, 64, 3, 200, 100>,
    array<i64: 0, 8, 64, 64, 3, 10, 20>,
    array<i64: 1, 1024, 64, 64, 3, 100, 200>]} {

// CHECK-LABEL: func.func @long(
// CHECK: tts.conv1d {{.*}} {left = 1 : i64, rt.scratch = [[S:[0-9]+]] : i64}
// SELECT-LABEL: func.func @long(
// SELECT: %[[Y:.*]] = rt.conv1d %arg0, %arg1 {left = 1 : i64, rt.scratch = {{[0-9]+}} : i64}
// SELECT-NOT: rt.gemm
// SELECT: return %[[Y]]
func.func @long(%x: tensor<2x500x80xf32> {tts.input = "x"}, %w: tensor<3x80x64xf32> {tts.param = "w"})
    -> (tensor<2x500x64xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 1} : tensor<2x500x80xf32>, tensor<3x80x64xf32> to tensor<2x500x64xf32>
  return %y : tensor<2x500x64xf32>
}

// CHECK-LABEL: func.func @short(
// CHECK-NOT: rt.scratch
// SELECT-LABEL: func.func @short(
// SELECT-COUNT-3: rt.gemm
func.func @short(%x: tensor<1x10x64xf32> {tts.input = "x"}, %w: tensor<3x64x64xf32> {tts.param = "w"})
    -> (tensor<1x10x64xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 1} : tensor<1x10x64xf32>, tensor<3x64x64xf32> to tensor<1x10x64xf32>
  return %y : tensor<1x10x64xf32>
}

// CHECK-LABEL: func.func @input_gradient(
// CHECK-NOT: rt.scratch
func.func @input_gradient(%dy: tensor<2x500x64xf32> {tts.input = "x"}, %w: tensor<3x80x64xf32> {tts.param = "w"})
    -> (tensor<2x500x80xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %dx = tts.conv1d_input_grad %dy, %w {left = 1} : tensor<2x500x64xf32>, tensor<3x80x64xf32> to tensor<2x500x80xf32>
  return %dx : tensor<2x500x80xf32>
}

// oneDNN has nothing in f64.
// CHECK-LABEL: func.func @double(
// CHECK-NOT: rt.scratch
func.func @double(%x: tensor<2x500x64xf64> {tts.input = "x"}, %w: tensor<3x64x64xf64> {tts.param = "w"})
    -> (tensor<2x500x64xf64> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %y = tts.conv1d %x, %w {left = 1} : tensor<2x500x64xf64>, tensor<3x64x64xf64> to tensor<2x500x64xf64>
  return %y : tensor<2x500x64xf64>
}
}
