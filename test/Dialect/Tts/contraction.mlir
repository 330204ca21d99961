// Matmuls, convolutions, attention: printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>
!utterances = tensor<?xi64, #tts.dims<batch>>

// CHECK-LABEL: func @linear(
func.func @linear(%x: !x, %w: tensor<8x4xf32>, %acc: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[Y:.*]] = tts.linear %{{.*}}, %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<8x4xf32> to tensor<?x?x4xf32, #tts.dims<batch, text, _>>
  %0 = tts.linear %x, %w : !x, tensor<8x4xf32> to tensor<?x?x4xf32, #tts.dims<batch, text, _>>
  // CHECK: tts.linear %[[Y]], %{{.*}} {transpose} : tensor<?x?x4xf32, #tts.dims<batch, text, _>>, tensor<8x4xf32> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %1 = tts.linear %0, %w {transpose} : tensor<?x?x4xf32, #tts.dims<batch, text, _>>, tensor<8x4xf32> to !x
  // CHECK: tts.weight_grad %{{.*}}, %[[Y]] : tensor<?x?x8xf32
  %2 = tts.weight_grad %1, %0 : !x, tensor<?x?x4xf32, #tts.dims<batch, text, _>> to tensor<8x4xf32>
  // CHECK: tts.weight_grad %{{.*}}, %[[Y]] into %{{.*}} : tensor<8x4xf32> : tensor<?x?x8xf32
  %3 = tts.weight_grad %x, %0 into %acc : tensor<8x4xf32> : !x, tensor<?x?x4xf32, #tts.dims<batch, text, _>> to tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// CHECK-LABEL: func @conv1d(
func.func @conv1d(%x: !x, %w: tensor<3x8x8xf32>) -> tensor<3x8x8xf32> {
  // CHECK: %[[Y:.*]] = tts.conv1d %{{.*}}, %{{.*}} {left = 1 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<3x8x8xf32> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  %0 = tts.conv1d %x, %w {left = 1 : i64} : !x, tensor<3x8x8xf32> to !x
  // CHECK: tts.conv1d_input_grad %[[Y]], %{{.*}} {left = 1 : i64} :
  %1 = tts.conv1d_input_grad %0, %w {left = 1 : i64} : !x, tensor<3x8x8xf32> to !x
  // CHECK: tts.conv1d_filter_grad %{{.*}}, %{{.*}} into %{{.*}} : tensor<3x8x8xf32> {left = 1 : i64} :
  %2 = tts.conv1d_filter_grad %x, %1 into %w : tensor<3x8x8xf32> {left = 1 : i64} : !x, !x to tensor<3x8x8xf32>
  return %2 : tensor<3x8x8xf32>
}

// CHECK-LABEL: func @attention(
func.func @attention(%q: !x, %k: !x, %v: !x, %n: !lengths) -> (!x, !x, !x) {
  // CHECK: %[[Y:.*]] = tts.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {heads = 2 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?xi32, #tts.dims<batch>>
  %y = tts.attention %q, %k, %v, %n {heads = 2 : i64} : !x, !lengths
  // CHECK: tts.attention_grad %[[Y]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {heads = 2 : i64} :
  %dq, %dk, %dv = tts.attention_grad %y, %q, %k, %v, %n {heads = 2 : i64} : !x, !lengths
  return %dq, %dk, %dv : !x, !x, !x
}

// CHECK-LABEL: func @dropped_attention(
func.func @dropped_attention(%q: !x, %n: !lengths, %u: !utterances, %draw: tensor<2xi64>) -> (!x, !x, !x) {
  // CHECK: %[[Y:.*]] = tts.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} {causal, heads = 2 : i64, rate = 1.000000e-01 : f64, stream = "s"} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?xi32, #tts.dims<batch>>, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64>
  %y = tts.attention %q, %q, %q, %n dropout %u, %draw {heads = 2 : i64, causal, rate = 0.1 : f64, stream = "s"} : !x, !lengths, !utterances, tensor<2xi64>
  // CHECK: tts.attention_grad %[[Y]], {{.*}} dropout %{{.*}}, %{{.*}} {causal, heads = 2 : i64, rate = 1.000000e-01 : f64, stream = "s"} :
  %dq, %dk, %dv = tts.attention_grad %y, %q, %q, %q, %n dropout %u, %draw {heads = 2 : i64, causal, rate = 0.1 : f64, stream = "s"} : !x, !lengths, !utterances, tensor<2xi64>
  return %dq, %dk, %dv : !x, !x, !x
}

// CHECK-LABEL: func @key_softmax(
func.func @key_softmax(%scores: tensor<3x2x64x70xf32>, %n: tensor<3xi32>) -> tensor<3x2x64x70xf32> {
  // CHECK: %[[P:.*]] = tts.key_softmax %{{.*}}, %{{.*}} {causal, first_query = 6 : i64, scale = 5.000000e-01 : f64} : tensor<3x2x64x70xf32>, tensor<3xi32>
  %p = tts.key_softmax %scores, %n {scale = 0.5 : f64, causal, first_query = 6 : i64} : tensor<3x2x64x70xf32>, tensor<3xi32>
  // CHECK: tts.key_softmax_grad %[[P]], %{{.*}} {scale = 5.000000e-01 : f64} : tensor<3x2x64x70xf32>
  %d = tts.key_softmax_grad %p, %scores {scale = 0.5 : f64} : tensor<3x2x64x70xf32>
  return %d : tensor<3x2x64x70xf32>
}

// CHECK-LABEL: func @dropped_key_softmax(
func.func @dropped_key_softmax(%scores: tensor<3x2x64x70xf32>, %n: tensor<3xi32>, %u: tensor<3xi64>, %draw: tensor<2xi64>) -> (tensor<3x2x64x70xf32>, tensor<3x2x64x70xf32>) {
  // CHECK: %[[P:.*]] = tts.key_softmax %{{.*}}, %{{.*}} dropout %{{.*}}, %{{.*}} {rate = {{.*}} : f64, scale = {{.*}} : f64, stream = "s"} : tensor<3x2x64x70xf32>, tensor<3xi32>, tensor<3xi64>, tensor<2xi64>
  %p = tts.key_softmax %scores, %n dropout %u, %draw {scale = 0.5 : f64, rate = 0.1 : f64, stream = "s"} : tensor<3x2x64x70xf32>, tensor<3xi32>, tensor<3xi64>, tensor<2xi64>
  // CHECK: %{{.*}}, %{{.*}} = tts.key_softmax_grad %[[P]], %{{.*}} dropout %{{.*}}, %{{.*}} {{.*}} : tensor<3x2x64x70xf32>, tensor<3xi64>, tensor<2xi64> to tensor<3x2x64x70xf32>
  %ds, %d = tts.key_softmax_grad %p, %scores dropout %u, %draw {scale = 0.5 : f64, rate = 0.1 : f64, stream = "s"} : tensor<3x2x64x70xf32>, tensor<3xi64>, tensor<2xi64> to tensor<3x2x64x70xf32>
  return %ds, %d : tensor<3x2x64x70xf32>, tensor<3x2x64x70xf32>
}

// CHECK-LABEL: func @swap_middle(
func.func @swap_middle(%x: tensor<3x5x2x4xf32>) -> tensor<3x2x5x4xf32> {
  // CHECK: tts.swap_middle %{{.*}} : tensor<3x5x2x4xf32> to tensor<3x2x5x4xf32>
  %y = tts.swap_middle %x : tensor<3x5x2x4xf32> to tensor<3x2x5x4xf32>
  return %y : tensor<3x2x5x4xf32>
}

// CHECK-LABEL: func @layer_norm(
func.func @layer_norm(%x: !x, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> (!x, tensor<8xf32>) {
  // CHECK: %{{.*}}, %[[MEAN:.*]], %[[RSTD:.*]] = tts.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = {{.*}} : f64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<8xf32> to tensor<?x?xf32, #tts.dims<batch, text>>
  %y, %mean, %rstd = tts.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f64} : !x, tensor<8xf32> to tensor<?x?xf32, #tts.dims<batch, text>>
  // CHECK: tts.layer_norm_grad %{{.*}}, %{{.*}}, %[[MEAN]], %[[RSTD]], %{{.*}} : tensor<?x?x8xf32
  %dx = tts.layer_norm_grad %y, %x, %mean, %rstd, %gamma : !x, tensor<?x?xf32, #tts.dims<batch, text>>, tensor<8xf32>
  // CHECK: tts.layer_norm_gamma_grad %{{.*}}, %{{.*}}, %[[MEAN]], %[[RSTD]] into %{{.*}} : tensor<8xf32> : tensor<?x?x8xf32
  %dgamma = tts.layer_norm_gamma_grad %y, %x, %mean, %rstd into %beta : tensor<8xf32> : !x, tensor<?x?xf32, #tts.dims<batch, text>> to tensor<8xf32>
  return %dx, %dgamma : !x, tensor<8xf32>
}

// CHECK-LABEL: func @rms_norm(
func.func @rms_norm(%x: !x, %gamma: tensor<8xf32>) -> (!x, tensor<8xf32>) {
  // CHECK: %{{.*}}, %[[RSTD:.*]] = tts.rms_norm %{{.*}}, %{{.*}} {epsilon = {{.*}} : f64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<8xf32> to tensor<?x?xf32, #tts.dims<batch, text>>
  %y, %rstd = tts.rms_norm %x, %gamma {epsilon = 1.0e-6 : f64} : !x, tensor<8xf32> to tensor<?x?xf32, #tts.dims<batch, text>>
  // CHECK: tts.rms_norm_grad %{{.*}}, %{{.*}}, %[[RSTD]], %{{.*}} : tensor<?x?x8xf32
  %dx = tts.rms_norm_grad %y, %x, %rstd, %gamma : !x, tensor<?x?xf32, #tts.dims<batch, text>>, tensor<8xf32>
  // CHECK: tts.rms_norm_gamma_grad %{{.*}}, %{{.*}}, %[[RSTD]] into %{{.*}} : tensor<8xf32> : tensor<?x?x8xf32
  %dgamma = tts.rms_norm_gamma_grad %y, %x, %rstd into %gamma : tensor<8xf32> : !x, tensor<?x?xf32, #tts.dims<batch, text>> to tensor<8xf32>
  return %dx, %dgamma : !x, tensor<8xf32>
}

!keys = tensor<?x?x4xf32, #tts.dims<batch, text, _>>

// The type of keys stands where it is another than that of queries.
// CHECK-LABEL: func @grouped_attention(
func.func @grouped_attention(%q: !x, %k: !keys, %n: !lengths) -> (!x, !keys, !keys) {
  // CHECK: %[[Y:.*]] = tts.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, heads = 4 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>> keys tensor<?x?x4xf32, #tts.dims<batch, text, _>>, tensor<?xi32, #tts.dims<batch>>
  %y = tts.attention %q, %k, %k, %n {heads = 4 : i64, causal} : !x keys !keys, !lengths
  // CHECK: tts.attention_grad %[[Y]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, heads = 4 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>> keys tensor<?x?x4xf32
  %dq, %dk, %dv = tts.attention_grad %y, %q, %k, %k, %n {heads = 4 : i64, causal} : !x keys !keys, !lengths
  return %dq, %dk, %dv : !x, !keys, !keys
}

// CHECK-LABEL: func @grouped_conv1d(
func.func @grouped_conv1d(%x: !x, %w: tensor<3x4x6xf32>, %acc: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  // CHECK: %[[Y:.*]] = tts.conv1d %{{.*}}, %{{.*}} {groups = 2 : i64, left = 1 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<3x4x6xf32> to tensor<?x?x6xf32, #tts.dims<batch, text, _>>
  %0 = tts.conv1d %x, %w {left = 1 : i64, groups = 2 : i64} : !x, tensor<3x4x6xf32> to tensor<?x?x6xf32, #tts.dims<batch, text, _>>
  // CHECK: tts.conv1d_filter_grad %{{.*}}, %[[Y]] into %{{.*}} : tensor<3x4x6xf32> {groups = 2 : i64, left = 1 : i64}
  %1 = tts.conv1d_filter_grad %x, %0 into %acc : tensor<3x4x6xf32> {left = 1 : i64, groups = 2 : i64} : !x, tensor<?x?x6xf32, #tts.dims<batch, text, _>> to tensor<3x4x6xf32>
  return %1 : tensor<3x4x6xf32>
}

// CHECK-LABEL: func @depthwise_conv1d(
func.func @depthwise_conv1d(%x: !x, %w: tensor<7x8xf32>) -> tensor<7x8xf32> {
  // CHECK: %[[Y:.*]] = tts.depthwise_conv1d %{{.*}}, %{{.*}} {left = 3 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<7x8xf32>
  %0 = tts.depthwise_conv1d %x, %w {left = 3 : i64} : !x, tensor<7x8xf32>
  // CHECK: tts.depthwise_conv1d %[[Y]], %{{.*}} {left = 3 : i64, transposed} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<7x8xf32>
  %1 = tts.depthwise_conv1d %0, %w {left = 3 : i64, transposed} : !x, tensor<7x8xf32>
  // CHECK: tts.depthwise_conv1d_filter_grad %{{.*}}, %{{.*}} into %{{.*}} : tensor<7x8xf32> {left = 3 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<7x8xf32>
  %2 = tts.depthwise_conv1d_filter_grad %x, %1 into %w : tensor<7x8xf32> {left = 3 : i64} : !x to tensor<7x8xf32>
  return %2 : tensor<7x8xf32>
}

// CHECK-LABEL: func @time_norm(
func.func @time_norm(%x: !x) -> !x {
  // CHECK: %[[N:.*]] = tts.time_norm %{{.*}} : tensor<?x?x8xf32, #tts.dims<batch, text, _>> to tensor<?x8xf32, #tts.dims<batch, _>>
  %n = tts.time_norm %x : !x to tensor<?x8xf32, #tts.dims<batch, _>>
  // CHECK: tts.time_norm_grad %{{.*}}, %[[N]], %[[N]] : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<?x8xf32, #tts.dims<batch, _>>
  %dx = tts.time_norm_grad %x, %n, %n : !x, tensor<?x8xf32, #tts.dims<batch, _>>
  return %dx : !x
}

// CHECK-LABEL: func @pad_time(
func.func @pad_time(%x: tensor<3x5x8xf32>, %rows: tensor<19x8xf32>) {
  // CHECK: tts.pad_time %{{.*}} {left = 1 : i64} : tensor<3x5x8xf32> to tensor<3x7x8xf32>
  %0 = tts.pad_time %x {left = 1 : i64} : tensor<3x5x8xf32> to tensor<3x7x8xf32>
  // CHECK: tts.unpad_time %{{.*}} {period = 7 : i64} : tensor<19x8xf32> to tensor<3x5x8xf32>
  %1 = tts.unpad_time %rows {period = 7 : i64} : tensor<19x8xf32> to tensor<3x5x8xf32>
  return
}
