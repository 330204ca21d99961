// Pointwise ops: printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

// CHECK-LABEL: func @unary(
// CHECK-SAME: %[[X:.*]]: tensor<
func.func @unary(%x: tensor<?x8xf32, #tts.dims<batch, _>>) -> tensor<?x8xf32, #tts.dims<batch, _>> {
  // CHECK: %[[V0:.*]] = tts.neg %[[X]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %0 = tts.neg %x : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V1:.*]] = tts.abs %[[V0]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %1 = tts.abs %0 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V2:.*]] = tts.sign %[[V1]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %2 = tts.sign %1 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V3:.*]] = tts.relu %[[V2]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %3 = tts.relu %2 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V4:.*]] = tts.gelu %[[V3]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %4 = tts.gelu %3 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V5:.*]] = tts.tanh %[[V4]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %5 = tts.tanh %4 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V6:.*]] = tts.sigmoid %[[V5]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %6 = tts.sigmoid %5 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V7:.*]] = tts.silu %[[V6]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %7 = tts.silu %6 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V8:.*]] = tts.exp %[[V7]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %8 = tts.exp %7 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V9:.*]] = tts.log %[[V8]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %9 = tts.log %8 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V10:.*]] = tts.log1p %[[V9]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %10 = tts.log1p %9 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V11:.*]] = tts.sqrt %[[V10]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %11 = tts.sqrt %10 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V12:.*]] = tts.rsqrt %[[V11]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %12 = tts.rsqrt %11 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V13:.*]] = tts.sin %[[V12]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %13 = tts.sin %12 : tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: %[[V14:.*]] = tts.cos %[[V13]] : tensor<?x8xf32, #tts.dims<batch, _>>
  %14 = tts.cos %13 : tensor<?x8xf32, #tts.dims<batch, _>>
  return %14 : tensor<?x8xf32, #tts.dims<batch, _>>
}

// CHECK-LABEL: func @binary(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[Y:.*]]: tensor<8xf64>
func.func @binary(%x: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  // CHECK: %[[V0:.*]] = tts.add %[[X]], %[[Y]] : tensor<8xf64>
  %0 = tts.add %x, %y : tensor<8xf64>
  // CHECK: %[[V1:.*]] = tts.sub %[[V0]], %[[Y]] : tensor<8xf64>
  %1 = tts.sub %0, %y : tensor<8xf64>
  // CHECK: %[[V2:.*]] = tts.mul %[[V1]], %[[Y]] : tensor<8xf64>
  %2 = tts.mul %1, %y : tensor<8xf64>
  // CHECK: %[[V3:.*]] = tts.div %[[V2]], %[[Y]] : tensor<8xf64>
  %3 = tts.div %2, %y : tensor<8xf64>
  // CHECK: %[[V4:.*]] = tts.relu_grad %[[V3]], %[[Y]] : tensor<8xf64>
  %4 = tts.relu_grad %3, %y : tensor<8xf64>
  // CHECK: %[[V5:.*]] = tts.gelu_grad %[[V4]], %[[Y]] : tensor<8xf64>
  %5 = tts.gelu_grad %4, %y : tensor<8xf64>
  // CHECK: %[[V6:.*]] = tts.mish_grad %[[V5]], %[[Y]] : tensor<8xf64>
  %6 = tts.mish_grad %5, %y : tensor<8xf64>
  // CHECK: tts.mish %[[V6]] : tensor<8xf64>
  %7 = tts.mish %6 : tensor<8xf64>
  return %7 : tensor<8xf64>
}

// CHECK-LABEL: func @accumulate(
func.func @accumulate(%acc: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: tts.accumulate %{{.*}}, %{{.*}} : tensor<8xf32>
  %0 = tts.accumulate %acc, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @cast(
func.func @cast(%x: tensor<?x?xi32, #tts.dims<batch, text>>) -> tensor<?x?xbf16, #tts.dims<batch, text>> {
  // CHECK: tts.cast %{{.*}} : tensor<?x?xi32, #tts.dims<batch, text>> to tensor<?x?xf32, #tts.dims<batch, text>>
  %0 = tts.cast %x : tensor<?x?xi32, #tts.dims<batch, text>> to tensor<?x?xf32, #tts.dims<batch, text>>
  // CHECK: tts.cast %{{.*}} to tensor<?x?xbf16, #tts.dims<batch, text>>
  %1 = tts.cast %0 : tensor<?x?xf32, #tts.dims<batch, text>> to tensor<?x?xbf16, #tts.dims<batch, text>>
  return %1 : tensor<?x?xbf16, #tts.dims<batch, text>>
}

// CHECK-LABEL: func @round_to_int(
func.func @round_to_int(%x: tensor<?xf64, #tts.dims<batch>>) -> tensor<?xi32, #tts.dims<batch>> {
  // CHECK: tts.round_to_int %{{.*}} {tts.lengths = "frames"} : tensor<?xf64, #tts.dims<batch>> to tensor<?xi32, #tts.dims<batch>>
  %0 = tts.round_to_int %x {tts.lengths = "frames"} : tensor<?xf64, #tts.dims<batch>> to tensor<?xi32, #tts.dims<batch>>
  return %0 : tensor<?xi32, #tts.dims<batch>>
}
