// The gradient ops of every rule, in the order in which backward runs them (numbers: test/Numerics).
// RUN: tts-opt %s --split-input-file --tts-differentiate | FileCheck %s

!t = tensor<2x5xf64>

func.func @train(%w: !t {tts.param = "w"}, %x: !t {tts.input = "x"}, %n: tensor<2xi32> {tts.input = "n"})
  -> (tensor<f64> {tts.loss = "unary"}, tensor<f64> {tts.denominator = "unary"}) attributes {tts.program = "train"} {
  %0 = tts.neg %w : !t
  %1 = tts.abs %0 : !t
  %2 = tts.relu %1 : !t
  %3 = tts.gelu %2 : !t
  %4 = tts.tanh %3 : !t
  %5 = tts.sigmoid %4 : !t
  %6 = tts.silu %5 : !t
  %7 = tts.exp %6 : !t
  %8 = tts.log %7 : !t
  %9 = tts.log1p %8 : !t
  %10 = tts.sqrt %9 : !t
  %11 = tts.rsqrt %10 : !t
  %12 = tts.sin %11 : !t
  %13 = tts.cos %12 : !t
  %loss = tts.l1_loss %13, %x, %n : !t, tensor<2xi32> to tensor<f64>
  %count = tts.count %n : tensor<2xi32> to tensor<f64>
  return %loss, %count : tensor<f64>, tensor<f64>
}

// CHECK-LABEL: func @backward(
// CHECK: %[[L:.*]] = tts.l1_loss_grad
// cos: -dy · sin x
// CHECK: %[[SIN:.*]] = tts.sin
// CHECK: %[[COS1:.*]] = tts.mul %[[L]], %[[SIN]]
// CHECK: %[[COS:.*]] = tts.neg %[[COS1]]
// sin: dy · cos x
// CHECK: %[[C:.*]] = tts.cos
// CHECK: %[[SIN1:.*]] = tts.mul %[[COS]], %[[C]]
// rsqrt: -dy/2 · y³
// CHECK: %[[Y2:.*]] = tts.mul %[[Y:[^,]*]], %[[Y]] :
// CHECK: %[[Y3:.*]] = tts.mul %[[Y]], %[[Y2]]
// CHECK: %[[MHALF:.*]] = tts.full -5.000000e-01
// CHECK: %[[R1:.*]] = tts.mul %[[SIN1]], %[[MHALF]]
// CHECK: %[[R:.*]] = tts.mul %[[R1]], %[[Y3]]
// sqrt: dy/2 / y
// CHECK: %[[HALF:.*]] = tts.full 5.000000e-01
// CHECK: %[[S1:.*]] = tts.mul %[[R]], %[[HALF]]
// CHECK: %[[S:.*]] = tts.div %[[S1]],
// log1p: dy / (1 + x)
// CHECK: %[[ONE:.*]] = tts.full 1.000000e+00
// CHECK: %[[P:.*]] = tts.add %[[ONE]], %[[LOGX:.*]] :
// CHECK: %[[LP:.*]] = tts.div %[[S]], %[[P]]
// log: dy / x
// CHECK: %[[LG:.*]] = tts.div %[[LP]], %[[EXP:.*]] :
// exp: dy · y
// CHECK: %[[E:.*]] = tts.mul %[[LG]], %[[EXP]]
// silu: dy · (s + y (1 - s))
// CHECK: %[[SG:.*]] = tts.sigmoid
// CHECK: %[[T1:.*]] = tts.sub %[[ONE]], %[[SG]]
// CHECK: %[[T2:.*]] = tts.mul %{{.*}}, %[[T1]]
// CHECK: %[[T3:.*]] = tts.add %[[SG]], %[[T2]]
// CHECK: %[[SI:.*]] = tts.mul %[[E]], %[[T3]]
// sigmoid: dy · y (1 - y)
// CHECK: %[[U1:.*]] = tts.sub %[[ONE]], %[[SY:.*]] :
// CHECK: %[[U2:.*]] = tts.mul %[[SY]], %[[U1]]
// CHECK: %[[G5:.*]] = tts.mul %[[SI]], %[[U2]]
// tanh: dy · (1 - y²)
// CHECK: %[[V1:.*]] = tts.mul %[[TY:[^,]*]], %[[TY]] :
// CHECK: %[[V2:.*]] = tts.sub %[[ONE]], %[[V1]]
// CHECK: %[[G4:.*]] = tts.mul %[[G5]], %[[V2]]
// CHECK: %[[G3:.*]] = tts.gelu_grad %[[RELU:.*]], %[[G4]]
// CHECK: %[[G2:.*]] = tts.relu_grad %[[RELU]], %[[G3]]
// abs: dy · sign x
// CHECK: %[[SIGN:.*]] = tts.sign
// CHECK: %[[G1:.*]] = tts.mul %[[G2]], %[[SIGN]]
// CHECK: %[[G0:.*]] = tts.neg %[[G1]]
// CHECK: %[[OUT:.*]] = tts.accumulate %{{.*}}, %[[G0]]
// CHECK: return %[[OUT]]

// -----

!t = tensor<2x5xf64>

func.func @train(%a: !t {tts.param = "a"}, %b: !t {tts.param = "b"}, %h: tensor<2x5xf32> {tts.param = "h"}, %x: !t {tts.input = "x"}, %n: tensor<2xi32> {tts.input = "n"})
  -> (tensor<f64> {tts.loss = "binary"}, tensor<f64> {tts.denominator = "binary"}) attributes {tts.program = "train"} {
  %0 = tts.mul %a, %b : !t
  %1 = tts.div %0, %b : !t
  %2 = tts.sub %1, %a : !t
  %3 = tts.cast %h : tensor<2x5xf32> to !t
  %4 = tts.add %2, %3 : !t
  %loss = tts.mse_loss %4, %x, %n : !t, tensor<2xi32> to tensor<f64>
  %count = tts.count %n : tensor<2xi32> to tensor<f64>
  return %loss, %count : tensor<f64>, tensor<f64>
}

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[A:[^:]*]]: tensor<2x5xf64> {tts.param = "a"}
// CHECK-SAME: %[[B:[^:]*]]: tensor<2x5xf64> {tts.param = "b"}
// CHECK: %[[L:.*]] = tts.mse_loss_grad
// CHECK: %[[H:.*]] = tts.cast %[[L]] : tensor<2x5xf64> to tensor<2x5xf32>
// CHECK: tts.accumulate %{{.*}}, %[[H]]
// CHECK: %[[NEG:.*]] = tts.neg %[[L]]
// CHECK: tts.accumulate %{{.*}}, %[[NEG]]
// div: dx = dy / b, db = -dx · z
// CHECK: %[[DX:.*]] = tts.div %[[L]], %[[B]]
// CHECK: %[[DB1:.*]] = tts.mul %[[DX]], %{{.*}}
// CHECK: %[[DB:.*]] = tts.neg %[[DB1]]
// CHECK: tts.accumulate %{{.*}}, %[[DB]]
// CHECK-DAG: tts.mul %[[DX]], %[[B]]
// CHECK-DAG: tts.mul %[[DX]], %[[A]]

// -----

!lengths = tensor<?xi32, #tts.dims<batch>>
!ids = tensor<?x?xi32, #tts.dims<batch, text>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!y = tensor<?x?x8xf32, #tts.dims<batch, frames, _>>

func.func @train(%table: tensor<40x8xf32> {tts.param = "table"}, %bias: tensor<8xf32> {tts.param = "bias"}, %w: tensor<3x8x8xf32> {tts.param = "w"},
                 %lin: tensor<8x8xf32> {tts.param = "lin"},
                 %ids: !ids {tts.input = "ids"}, %d: !ids {tts.input = "d"}, %x: !y {tts.input = "x"},
                 %n: !lengths {tts.input = "n", tts.lengths = "text"}, %m: !lengths {tts.input = "m", tts.lengths = "frames"},
                 %u: tensor<?xi64, #tts.dims<batch>> {tts.input = "utterance"}, %draw: tensor<2xi64> {tts.scalar = "draw"})
  -> (tensor<f32> {tts.loss = "shape"}, tensor<f32> {tts.denominator = "shape"}) attributes {tts.program = "train"} {
  %0 = tts.embedding %ids, %table : !ids, tensor<40x8xf32> to !x
  %1 = tts.linear %0, %lin {transpose} : !x, tensor<8x8xf32> to !x
  %2 = tts.attention %1, %0, %0, %n {heads = 2 : i64} : !x, !lengths
  %3 = tts.mask %2, %n : !x, !lengths
  %4 = tts.conv1d %3, %w {left = 2 : i64} : !x, tensor<3x8x8xf32> to !x
  %5 = tts.dropout %4, %u, %draw {rate = 0.25 : f64, stream = "s"} : !x, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64>
  %6 = tts.length_regulate %5, %d : !x, !ids to !y
  %7 = tts.broadcast %bias dims [2] : tensor<8xf32> to !y
  %8 = tts.add %6, %7 : !y
  %loss = tts.l1_loss %8, %x, %m : !y, !lengths to tensor<f32>
  %count = tts.count %m : !lengths to tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func @backward(
// CHECK: %[[L:.*]] = tts.l1_loss_grad
// CHECK: tts.sum_to %[[L]] dims [2] into
// CHECK: %[[LR:.*]] = tts.length_regulate_grad %[[L]], %{{.*}}
// CHECK: %[[DROP:.*]] = tts.dropout %[[LR]], {{.*}} {rate = 2.500000e-01 : f64, stream = "s"}
// CHECK: %[[CX:.*]] = tts.conv1d_input_grad %[[DROP]], %{{.*}} {left = 2 : i64}
// CHECK: tts.conv1d_filter_grad %{{.*}}, %[[DROP]] into %{{.*}} {left = 2 : i64}
// CHECK: %[[M:.*]] = tts.mask %[[CX]]
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = tts.attention_grad %[[M]], {{.*}} {heads = 2 : i64}
// CHECK: %[[KV:.*]] = tts.add %[[DK]], %[[DV]]
// A transposed weight is [out, in]: dw = dyᵀ x.
// CHECK: %[[LX:.*]] = tts.linear %[[DQ]], %{{[^ ]*}} :
// CHECK: %[[E:.*]] = tts.add %[[KV]], %[[LX]]
// CHECK: tts.weight_grad %[[DQ]], %{{.*}} into
// CHECK: tts.embedding_grad %{{.*}}, %[[E]] into

// -----

// The statistics of a layer norm are results like any other; sum_to, squeeze and unsqueeze too.

!x = tensor<2x5x8xf64>
!rows = tensor<2x5xf64>

func.func @train(%w: !x {tts.param = "w"}, %g: tensor<8xf64> {tts.param = "g"}, %b: tensor<8xf64> {tts.param = "b"},
                 %t: !rows {tts.input = "t"}, %n: tensor<2xi32> {tts.input = "n"})
  -> (tensor<f64> {tts.loss = "l"}, tensor<f64> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  %y, %mean, %rstd = tts.layer_norm %w, %g, %b {epsilon = 1.0e-5 : f64} : !x, tensor<8xf64> to !rows
  %s = tts.sum_to %y dims [0, 1] : !x to !rows
  %u = tts.unsqueeze %s {dim = 1 : i64} : !rows to tensor<2x1x5xf64>
  %v = tts.squeeze %u {dim = 1 : i64} : tensor<2x1x5xf64> to !rows
  %p = tts.mul %mean, %rstd : !rows
  %q = tts.add %v, %p : !rows
  %loss = tts.mse_loss %q, %t, %n : !rows, tensor<2xi32> to tensor<f64>
  %count = tts.count %n : tensor<2xi32> to tensor<f64>
  return %loss, %count : tensor<f64>, tensor<f64>
}

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[W:[^:]*]]: tensor<2x5x8xf64> {tts.param = "w"}
// CHECK-SAME: %[[MEAN:[^:]*]]: tensor<2x5xf64> {tts.stash = "{{.*}}.1"}
// CHECK-SAME: %[[RSTD:[^:]*]]: tensor<2x5xf64> {tts.stash = "{{.*}}.2"}
// CHECK: %[[L:.*]] = tts.mse_loss_grad
// CHECK: %[[DMEAN:.*]] = tts.mul %[[L]], %[[RSTD]]
// CHECK: %[[DRSTD:.*]] = tts.mul %[[L]], %[[MEAN]]
// CHECK: %[[U:.*]] = tts.unsqueeze %[[L]] {dim = 1 : i64}
// CHECK: %[[S:.*]] = tts.squeeze %[[U]] {dim = 1 : i64}
// CHECK: %[[DY:.*]] = tts.broadcast %[[S]] dims [0, 1]
// CHECK: %[[DX:.*]] = tts.layer_norm_grad %[[DY]], %[[W]], %[[MEAN]], %[[RSTD]]
// CHECK: %[[SHARE:.*]] = tts.full 1.250000e-01
// CHECK: %[[M1:.*]] = tts.mul %[[DMEAN]], %[[SHARE]]
// CHECK: %[[M2:.*]] = tts.broadcast %[[M1]] dims [0, 1]
// CHECK: tts.add %[[DX]], %[[M2]]
// CHECK: tts.sub %[[W]], %{{.*}}
// CHECK: tts.layer_norm_gamma_grad %[[DY]], %[[W]], %[[MEAN]], %[[RSTD]] into
// CHECK: tts.sum_to %[[DY]] dims [2] into
