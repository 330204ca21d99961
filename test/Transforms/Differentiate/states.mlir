// An op that keeps states: forward finds their next values, update takes them over, evaluation reads the present ones.
// RUN: tts-opt %s --tts-differentiate-pipeline | FileCheck %s
// RUN: tts-opt %s --tts-differentiate-pipeline --tts-verify-contract=level=differentiate -o /dev/null

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

module attributes {tts.ema_decay = 0.9} {
  func.func @train(%g: tensor<8xf32> {tts.param = "bn.weight"}, %b: tensor<8xf32> {tts.param = "bn.bias"},
                   %m: tensor<8xf32> {tts.param = "bn.running_mean", tts.state}, %v: tensor<8xf32> {tts.param = "bn.running_var", tts.state},
                   %x: !x {tts.input = "x"}, %t: !x {tts.input = "t"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
    %y = tts.batch_norm %x, %g, %b, %m, %v, %n {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : !x, tensor<8xf32>, !lengths loc("bn")
    %loss = tts.mse_loss %y, %t, %n : !x, !lengths to tensor<f32> loc("loss")
    %count = tts.count %n : !lengths to tensor<f32> loc("count")
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}

// States have no gradient, no moments, no average.
// CHECK-LABEL: func.func @zero(
// CHECK-NOT: running

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[MEAN:[^:]*]]: tensor<8xf32> {tts.param = "bn.running_mean", tts.state}
// CHECK-SAME: -> (tensor<f32> {tts.loss = "l"}, tensor<8xf32> {tts.next = "bn.running_mean"}, tensor<8xf32> {tts.next = "bn.running_var"}
// CHECK-NOT: tts.batch_norm %
// CHECK: %[[N:.*]] = tts.count
// CHECK: %[[M:.*]], %[[R:.*]], %[[V:.*]] = tts.batch_statistics %{{.*}}, %{{.*}}, %[[N]]
// CHECK-DAG: tts.running_average %[[MEAN]], %[[M]], %[[N]] {momentum
// CHECK-DAG: tts.running_average %{{.*}}, %[[V]], %[[N]] {momentum = 1.000000e-01 : f64, unbiased}
// CHECK-DAG: tts.batch_normalize %{{.*}}, %[[M]], %[[R]]

// CHECK-LABEL: func.func @backward(
// CHECK-NOT: running
// CHECK: tts.batch_normalize_gamma_grad

// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[OLD:[^:]*]]: tensor<8xf32> {tts.param = "bn.running_mean", tts.state}, %[[NEXT:[^:]*]]: tensor<8xf32> {tts.next = "bn.running_mean"}
// CHECK: tts.clip_factor
// CHECK: tts.adopt %[[OLD]], %[[NEXT]],
// CHECK-NOT: {tts.ema = "bn.running

// CHECK-LABEL: func.func @eval(
// CHECK-SAME: %[[MEAN:[^:]*]]: tensor<8xf32> {tts.param = "bn.running_mean", tts.state}
// CHECK-NOT: tts.batch_statistics
// CHECK: %[[RSTD:.*]] = tts.rsqrt
// CHECK: tts.batch_normalize %{{.*}}, %[[MEAN]], %[[RSTD]]
