// RUN: tts-opt --tts-move-update --split-input-file %s | FileCheck %s
// RUN: tts-opt --tts-move-update --tts-select --tts-memory --split-input-file %s | FileCheck %s --check-prefix=ORDER

// Each op of update goes behind the last of what it reads: v's update, average and half copy behind v's gradient, w's behind
// the second contribution to its gradient. The first contribution starts the sum. The norm is summed up in update's order, each
// square on its own, so that v's gradient need not wait for w's.

module attributes {tts.unfused, tts.batch = 2, tts.plan = #tts.plan<precision = "bf16", threads = 1, micro_batches = [2]>, tts.update_in_backward} {
  // CHECK-NOT: @zero
  func.func @zero(%dw: tensor<4x4xf32> {tts.gradient = "w"}, %dv: tensor<4x4xf32> {tts.gradient = "v"})
      -> (tensor<4x4xf32> {tts.gradient = "w"}, tensor<4x4xf32> {tts.gradient = "v"}) attributes {tts.program = "zero"} {
    %0 = tts.full 0.0 : tensor<4x4xf32>
    %1 = tts.full 0.0 : tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }

  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[W:[^:]*]]: tensor<4x4xf32> {tts.param = "w"}, %[[HALF:[^:]*]]: tensor<4x4xbf16> {tts.half_copy = "v"}, %[[X:[^:]*]]: tensor<2x3x4xf32> {tts.input = "x"}, %[[DY:[^:]*]]: tensor<2x3x4xf32> {tts.input = "dy"},
  // CHECK-SAME: %[[V:[^:]*]]: tensor<4x4xf32> {tts.param = "v"}, %[[MW:[^:]*]]: tensor<4x4xf32> {tts.moment1 = "w"}, %[[MV:[^:]*]]: tensor<4x4xf32> {tts.moment1 = "v"}, %[[VW:[^:]*]]: tensor<4x4xf32> {tts.moment2 = "w"}, %[[VV:[^:]*]]: tensor<4x4xf32> {tts.moment2 = "v"}, %[[EV:[^:]*]]: tensor<4x4xf32> {tts.ema = "v"}, %[[S:[^:]*]]: tensor<8xf32> {tts.scalar = "optimizer"})
  // CHECK-SAME: -> (tensor<4x4xf32> {tts.param = "w"}, tensor<4x4xf32> {tts.param = "v"}, tensor<4x4xf32> {tts.moment1 = "w"}, tensor<4x4xf32> {tts.moment2 = "w"}, tensor<4x4xf32> {tts.moment1 = "v"}, tensor<4x4xf32> {tts.moment2 = "v"}, tensor<4x4xf32> {tts.ema = "v"}, tensor<4x4xbf16> {tts.half_copy = "v"}, tensor<f32> {tts.scalar = "grad_norm"})
  // CHECK-NEXT: %[[ONE:.*]] = tts.full 1.000000e+00 : tensor<f32>
  // CHECK-NEXT: %[[DV:.*]] = tts.weight_grad %[[X]], %[[DY]] : tensor<2x3x4xf32>
  // CHECK-NEXT: %[[NV:.*]] = tts.sum_squares %[[DV]] : tensor<4x4xf32>
  // CHECK-NEXT: %[[NEWV:[^:]*]], %[[NEWMV:.*]], %[[NEWVV:.*]] = tts.adamw %[[V]], %[[DV]], %[[MV]], %[[VV]], %[[S]], %[[ONE]]
  // CHECK-NEXT: %[[NEWE:.*]] = tts.ema %[[EV]], %[[NEWV]], %[[S]], %[[ONE]]
  // CHECK-NEXT: %[[NEWHALF:.*]] = tts.cast %[[NEWV]] : tensor<4x4xf32> to tensor<4x4xbf16>
  // CHECK-NEXT: %[[ZERO:.*]] = tts.full 0.000000e+00 : tensor<4x4xf32>
  // CHECK-NEXT: %[[FIRST:.*]] = tts.add %[[ZERO]], %[[W]]
  // CHECK-NEXT: tts.cast
  // CHECK-NEXT: tts.linear %{{.*}}, %[[HALF]]
  // CHECK-NEXT: tts.cast
  // CHECK-NEXT: %[[DW:.*]] = tts.weight_grad %{{.*}}, %[[X]] into %[[FIRST]]
  // CHECK-NEXT: %[[NW:.*]] = tts.sum_squares %[[DW]] : tensor<4x4xf32>
  // CHECK-NEXT: %[[SUM:.*]] = tts.add %[[NW]], %[[NV]] : tensor<f32>
  // CHECK-NEXT: %{{.*}}, %[[NORM:.*]] = tts.clip_factor %[[SUM]]
  // CHECK-NEXT: %[[NEWW:[^:]*]], %[[NEWMW:.*]], %[[NEWVW:.*]] = tts.adamw %[[W]], %[[DW]], %[[MW]], %[[VW]], %[[S]], %[[ONE]]
  // CHECK-NEXT: return %[[NEWW]], %[[NEWV]], %[[NEWMW]], %[[NEWVW]], %[[NEWMV]], %[[NEWVV]], %[[NEWE]], %[[NEWHALF]], %[[NORM]]
  func.func @backward_b0(%w: tensor<4x4xf32> {tts.param = "w"}, %half: tensor<4x4xbf16> {tts.half_copy = "v"}, %x: tensor<2x3x4xf32> {tts.input = "x"},
                         %dy: tensor<2x3x4xf32> {tts.input = "dy"}, %dw: tensor<4x4xf32> {tts.gradient = "w"}, %dv: tensor<4x4xf32> {tts.gradient = "v"})
      -> (tensor<4x4xf32> {tts.gradient = "w"}, tensor<4x4xf32> {tts.gradient = "v"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    %0 = tts.weight_grad %x, %dy into %dv : tensor<4x4xf32> : tensor<2x3x4xf32>, tensor<2x3x4xf32> to tensor<4x4xf32> loc("v.grad")
    %1 = tts.accumulate %dw, %w : tensor<4x4xf32> loc("w.grad")
    %3 = tts.cast %dy : tensor<2x3x4xf32> to tensor<2x3x4xbf16> loc("dy.half")
    %4 = tts.linear %3, %half : tensor<2x3x4xbf16>, tensor<4x4xbf16> to tensor<2x3x4xbf16> loc("late")
    %5 = tts.cast %4 : tensor<2x3x4xbf16> to tensor<2x3x4xf32> loc("late.full")
    %6 = tts.weight_grad %5, %x into %1 : tensor<4x4xf32> : tensor<2x3x4xf32>, tensor<2x3x4xf32> to tensor<4x4xf32> loc("w.grad2")
    return %6, %0 : tensor<4x4xf32>, tensor<4x4xf32>
  }

  // CHECK-NOT: @update
  func.func @update(%w: tensor<4x4xf32> {tts.param = "w"}, %v: tensor<4x4xf32> {tts.param = "v"}, %dw: tensor<4x4xf32> {tts.gradient = "w"},
                    %dv: tensor<4x4xf32> {tts.gradient = "v"}, %mw: tensor<4x4xf32> {tts.moment1 = "w"}, %mv: tensor<4x4xf32> {tts.moment1 = "v"},
                    %vw: tensor<4x4xf32> {tts.moment2 = "w"}, %vv: tensor<4x4xf32> {tts.moment2 = "v"}, %ev: tensor<4x4xf32> {tts.ema = "v"},
                    %s: tensor<8xf32> {tts.scalar = "optimizer"})
      -> (tensor<4x4xf32> {tts.param = "w"}, tensor<4x4xf32> {tts.param = "v"}, tensor<4x4xf32> {tts.moment1 = "w"}, tensor<4x4xf32> {tts.moment2 = "w"},
          tensor<4x4xf32> {tts.moment1 = "v"}, tensor<4x4xf32> {tts.moment2 = "v"}, tensor<4x4xf32> {tts.ema = "v"}, tensor<4x4xbf16> {tts.half_copy = "v"},
          tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %dw : tensor<4x4xf32> to tensor<f32> loc("w.norm")
    %1 = tts.sum_squares %dv into %0 : tensor<f32> : tensor<4x4xf32> to tensor<f32> loc("v.norm")
    %clip, %norm = tts.clip_factor %1 : tensor<f32> loc("clip")
    %neww, %newmw, %newvw = tts.adamw %w, %dw, %mw, %vw, %s, %clip : tensor<4x4xf32>, tensor<8xf32>, tensor<f32> loc("w.update")
    %newv, %newmv, %newvv = tts.adamw %v, %dv, %mv, %vv, %s, %clip : tensor<4x4xf32>, tensor<8xf32>, tensor<f32> loc("v.update")
    %newe = tts.ema %ev, %newv, %s, %clip : tensor<4x4xf32>, tensor<8xf32>, tensor<f32> loc("v.ema")
    %newhalf = tts.cast %newv : tensor<4x4xf32> to tensor<4x4xbf16> loc("v.half")
    return %neww, %newv, %newmw, %newvw, %newmv, %newvv, %newe, %newhalf, %norm : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<f32>
  }
}

// The half copy of v is refreshed after the product that reads the old one, although its update stands before that.
// ORDER-LABEL: rt.program @backward_b0
// ORDER: "v.update"
// ORDER: "late"
// ORDER: "v.half"

// -----

// Nothing adds to the gradient of w: its update still decays the moments and the weight. A state takes its next value. Without
// the plan's word nothing moves.

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2]>, tts.update_in_backward} {
  // CHECK-LABEL: func.func @backward_b0(
  // CHECK-SAME: %[[W:[^:]*]]: tensor<4xf32> {tts.param = "w"}, %{{.*}}: tensor<8xf32> {tts.scalar = "optimizer"}, %[[MEAN:[^:]*]]: tensor<4xf32> {tts.param = "mean", tts.state}, %[[NEXT:[^:]*]]: tensor<4xf32> {tts.next = "mean"})
  // CHECK-DAG: %[[ONE:.*]] = tts.full 1.0
  // CHECK-DAG: %[[ZERO:.*]] = tts.full 0.0
  // CHECK-DAG: tts.adopt %[[MEAN]], %[[NEXT]], %[[ONE]]
  // CHECK-DAG: tts.sgd %[[W]], %[[ZERO]]
  func.func @backward_b0(%dw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<4xf32> {tts.gradient = "w"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    return %dw : tensor<4xf32>
  }
  func.func @update(%w: tensor<4xf32> {tts.param = "w"}, %dw: tensor<4xf32> {tts.gradient = "w"}, %s: tensor<8xf32> {tts.scalar = "optimizer"},
                    %mean: tensor<4xf32> {tts.param = "mean", tts.state}, %next: tensor<4xf32> {tts.next = "mean"})
      -> (tensor<4xf32> {tts.param = "w"}, tensor<4xf32> {tts.param = "mean"}, tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %dw : tensor<4xf32> to tensor<f32>
    %clip, %norm = tts.clip_factor %0 : tensor<f32>
    %1 = tts.sgd %w, %dw, %s, %clip : tensor<4xf32>, tensor<8xf32>, tensor<f32>
    %2 = tts.adopt %mean, %next, %clip : tensor<4xf32>, tensor<f32>
    return %1, %2, %norm : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [2]>} {
  // CHECK-LABEL: func.func @backward_b0(%{{.*}}: tensor<4xf32> {tts.gradient = "w"})
  func.func @backward_b0(%dw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<4xf32> {tts.gradient = "w"})
      attributes {tts.program = "backward", tts.bucket_index = 0} {
    return %dw : tensor<4xf32>
  }
  // CHECK: func.func @update(
  func.func @update(%dw: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %dw : tensor<4xf32> to tensor<f32>
    return %0 : tensor<f32>
  }
}
