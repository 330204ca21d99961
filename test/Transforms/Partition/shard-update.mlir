// With sharded optimizer states update works on shards: gradients are summed so, parameters cut and put together again.
// RUN: tts-opt %s --split-input-file --tts-partition --tts-verify-contract=level=partition -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @update
// CHECK-SAME: %[[W:[^:]*]]: tensor<3x3xf32> {tts.param = "w"}, %[[S:[^:]*]]: tensor<f32> {tts.param = "s"}
// CHECK-SAME: %[[GW:[^:]*]]: tensor<3x3xf32> {tts.gradient = "w"}, %[[GS:[^:]*]]: tensor<f32> {tts.gradient = "s"}
// CHECK-SAME: %[[M:[^:]*]]: tensor<3xf32> {tts.moment1 = "w", tts.shard_of = array<i64: 3, 3>}
// CHECK-SAME: %[[E:[^:]*]]: tensor<3xf32> {tts.ema = "w", tts.shard_of = array<i64: 3, 3>}
// CHECK-SAME: -> (tensor<3x3xf32> {tts.param = "w"}, tensor<3xf32> {tts.moment1 = "w"}, tensor<3xf32> {tts.moment2 = "w"}, tensor<3xf32> {tts.ema = "w"}, tensor<3x3xbf16> {tts.half_copy = "w"}, tensor<f32> {tts.param = "s"}, tensor<f32> {tts.scalar = "grad_norm"})
// CHECK-DAG: %[[P:.*]]:2 = tts.shard %[[W]], %[[S]] over 4 : (tensor<3x3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<1xf32>)
// CHECK-DAG: %[[G:.*]]:2 = tts.reduce_scatter %[[GW]], %[[GS]] over 4
// CHECK: %[[N0:.*]] = tts.sum_squares %[[G]]#0
// CHECK: %[[N1:.*]] = tts.sum_squares %[[G]]#1
// CHECK: %[[N:.*]] = tts.add %[[N0]], %[[N1]]
// CHECK: %[[ALL:.*]] = tts.all_reduce %[[N]] : (tensor<f32>) -> tensor<f32>
// CHECK: %[[CLIP:.*]], %[[NORM:.*]] = tts.clip_factor %[[ALL]]
// CHECK: %[[NEW:.*]], %[[NEWM:.*]], %[[NEWV:.*]] = tts.adamw %[[P]]#0, %[[G]]#0, %[[M]],
// CHECK: %[[NEWE:.*]] = tts.ema %[[E]], %[[NEW]]
// CHECK: %[[NEWS:.*]] = tts.sgd %[[P]]#1, %[[G]]#1
// CHECK: %[[WHOLE:.*]]:2 = tts.all_gather %[[NEW]], %[[NEWS]] over 4 : (tensor<3xf32>, tensor<1xf32>) -> (tensor<3x3xf32>, tensor<f32>)
// CHECK: %[[HALF:.*]] = tts.cast %[[WHOLE]]#0
// CHECK: return %[[WHOLE]]#0, %[[NEWM]], %[[NEWV]], %[[NEWE]], %[[HALF]], %[[WHOLE]]#1, %[[NORM]]
module attributes {tts.ranks = 4 : i64, tts.state_sharding = "optimizer", tts.plan = #tts.plan<precision = "bf16", threads = 1, micro_batches = [1]>} {
  func.func @update(%w: tensor<3x3xf32> {tts.param = "w"}, %s: tensor<f32> {tts.param = "s"}, %gw: tensor<3x3xf32> {tts.gradient = "w"}, %gs: tensor<f32> {tts.gradient = "s"},
                    %m: tensor<3x3xf32> {tts.moment1 = "w"}, %v: tensor<3x3xf32> {tts.moment2 = "w"}, %e: tensor<3x3xf32> {tts.ema = "w"}, %o: tensor<8xf32> {tts.scalar = "optimizer"})
      -> (tensor<3x3xf32> {tts.param = "w"}, tensor<3x3xf32> {tts.moment1 = "w"}, tensor<3x3xf32> {tts.moment2 = "w"}, tensor<3x3xf32> {tts.ema = "w"},
          tensor<3x3xbf16> {tts.half_copy = "w"}, tensor<f32> {tts.param = "s"}, tensor<f32> {tts.scalar = "grad_norm"}) attributes {tts.program = "update"} {
    %0 = tts.sum_squares %gw : tensor<3x3xf32> to tensor<f32> loc("n0")
    %1 = tts.sum_squares %gs : tensor<f32> to tensor<f32> loc("n1")
    %2 = tts.add %0, %1 : tensor<f32> loc("clip")
    %clip, %norm = tts.clip_factor %2 : tensor<f32> loc("clip")
    %p, %q, %r = tts.adamw %w, %gw, %m, %v, %o, %clip : tensor<3x3xf32>, tensor<8xf32>, tensor<f32> loc("adamw")
    %h = tts.cast %p : tensor<3x3xf32> to tensor<3x3xbf16> loc("half")
    %a = tts.ema %e, %p, %o, %clip : tensor<3x3xf32>, tensor<8xf32>, tensor<f32> loc("ema")
    %t = tts.sgd %s, %gs, %o, %clip : tensor<f32>, tensor<8xf32>, tensor<f32> loc("sgd")
    return %p, %q, %r, %a, %h, %t, %norm : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xbf16>, tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error @+1 {{tts.state_sharding is "half of them"; it must be}}
module attributes {tts.ranks = 4 : i64, tts.state_sharding = "half of them"} {
}
