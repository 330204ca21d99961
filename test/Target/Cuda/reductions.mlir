// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Sums: each lane adds its column of chunks, then 16 lanes with 16, 8, 4, 2, 1, and lane 0 tells the others.

// CHECK-LABEL: llvm.func @tts_rows(
// CHECK-SAME:    rt.range = 15
// CHECK-NOT:     nvvm.shfl
// CHECK:         %[[SUM:.*]] = llvm.fadd
// CHECK:         nvvm.shfl.sync down
// CHECK-COUNT-4: nvvm.shfl.sync down
// CHECK:         nvvm.shfl.sync idx
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_rows(
// PTX:         shfl.sync.down.b32 [[X:%r[0-9]+]], [[S:%r[0-9]+]], 16, 31, -1;
// PTX-NEXT:    add.rn.f32 [[S1:%r[0-9]+]], [[S]], [[X]];
// PTX-NEXT:    shfl.sync.down.b32 [[X1:%r[0-9]+]], [[S1]], 8, 31, -1;
// PTX-NEXT:    add.rn.f32 [[S2:%r[0-9]+]], [[S1]], [[X1]];
// PTX-NEXT:    shfl.sync.down.b32 [[X2:%r[0-9]+]], [[S2]], 4, 31, -1;
// PTX-NEXT:    add.rn.f32 [[S3:%r[0-9]+]], [[S2]], [[X2]];
// PTX-NEXT:    shfl.sync.down.b32 [[X3:%r[0-9]+]], [[S3]], 2, 31, -1;
// PTX-NEXT:    add.rn.f32 [[S4:%r[0-9]+]], [[S3]], [[X3]];
// PTX-NEXT:    shfl.sync.down.b32 [[X4:%r[0-9]+]], [[S4]], 1, 31, -1;
// PTX-NEXT:    add.rn.f32 [[S5:%r[0-9]+]], [[S4]], [[X4]];
// PTX-NEXT:    shfl.sync.idx.b32 {{.*}}, [[S5]], 0, 31, -1;
func.func private @rows(%x: tensor<3x5x64xf32>) -> tensor<3x5xf32> attributes {rt.kernel} {
  %y = tts.sum_to %x dims [0, 1] : tensor<3x5x64xf32> to tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// Column sums need no other lane: a lane has its column.
// CHECK-LABEL: llvm.func @tts_columns(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_columns(
// PTX-NOT:     shfl
func.func private @columns(%x: tensor<3x5x70xf32>, %a: tensor<70xf32>) -> (tensor<70xf32> {rt.tied = 1 : i64}) attributes {rt.kernel} {
  %y = tts.sum_to %x dims [2] into %a : tensor<70xf32> : tensor<3x5x70xf32> to tensor<70xf32>
  return %y : tensor<70xf32>
}

// f64 is shuffled in two halves.
// CHECK-LABEL: llvm.func @tts_squares(
// CHECK-COUNT-12: nvvm.shfl.sync {{(down|idx)}}
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_squares(
// PTX:         shfl.sync.down.b32
// PTX:         st.global.b64
func.func private @squares(%x: tensor<3x5x64xf64>, %a: tensor<f64>) -> (tensor<f64> {rt.tied = 1 : i64}) attributes {rt.kernel} {
  %y = tts.sum_squares %x into %a : tensor<f64> : tensor<3x5x64xf64> to tensor<f64>
  return %y : tensor<f64>
}

// CHECK-LABEL: llvm.func @tts_count(
// PTX-LABEL: .entry tts_count(
func.func private @count(%n: tensor<4xi32>) -> tensor<f32> attributes {rt.kernel} {
  %c = tts.count %n {per = 80.0 : f64} : tensor<4xi32> to tensor<f32>
  return %c : tensor<f32>
}
