// Attributes of modules, tensors and arguments: printed as they were parsed.
// RUN: tts-opt %s | tts-opt | FileCheck %s

// CHECK: tts.batch = 16 : i64
// CHECK-SAME: tts.buckets = [#tts.bucket<text = 64, frames = 300>, #tts.bucket<text = 128, frames = 600>]
module attributes {tts.batch = 16 : i64,
                   tts.buckets = [#tts.bucket<text = 64, frames = 300>, #tts.bucket<text = 128, frames = 600>]} {
  // CHECK: func @inits(
  func.func @inits(
      // CHECK-SAME: #tts.init<zeros>
      %a: tensor<8xf32> {tts.param = "a", tts.init = #tts.init<zeros>},
      // CHECK-SAME: #tts.init<ones>
      %b: tensor<8xf32> {tts.param = "b", tts.init = #tts.init<ones>},
      // CHECK-SAME: #tts.init<constant, 5.000000e-01>
      %c: tensor<8xf32> {tts.param = "c", tts.init = #tts.init<constant, 0.5>},
      // CHECK-SAME: #tts.init<normal, {{.*}}>, tts.param = "d"
      %d: tensor<8xf32> {tts.param = "d", tts.init = #tts.init<normal, 0.02>, tts.frozen},
      // CHECK-SAME: #tts.init<uniform, -1.000000e+00, 1.000000e+00>
      %e: tensor<8xf32> {tts.param = "e", tts.init = #tts.init<uniform, -1.0, 1.0>},
      // CHECK-SAME: #tts.init<xavier_uniform>
      %f: tensor<8x8xf32> {tts.param = "f", tts.init = #tts.init<xavier_uniform>},
      // CHECK-SAME: #tts.init<linspace, 0.000000e+00, 1.000000e+00>
      %g: tensor<8xf32> {tts.param = "g", tts.init = #tts.init<linspace, 0.0, 1.0>},
      // CHECK-SAME: tensor<?x?x80xf32, #tts.dims<batch, frames, _>> {tts.input = "mel"}
      %mel: tensor<?x?x80xf32, #tts.dims<batch, frames, _>> {tts.input = "mel"},
      // CHECK-SAME: tts.lengths = "frames"
      %n: tensor<?xi32, #tts.dims<batch>> {tts.input = "mel_lengths", tts.lengths = "frames"}) {
    return
  }
}

// CHECK: tts.plan = #tts.plan<precision = "fp32", threads = 2, micro_batches = [4, 2]
// CHECK-SAME: recompute = {{\[\[}}#tts.recompute<"a", before = "b">], []]
// CHECK-SAME: store = {{\[\[}}#tts.store<"a", bf16>, #tts.store<"norm"[1], f16>], []]>
module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 2, micro_batches = [4, 2],
                                        recompute = [[#tts.recompute<"a", before = "b">], []],
                                        store = [[#tts.store<"a"[0], bf16>, #tts.store<"norm"[1], f16>], []]>} {
}
