// RUN: tts-opt --tts-specialize %s | FileCheck %s
// RUN: tts-opt --tts-specialize=only-bucket=1 %s | FileCheck %s --check-prefix=ONE

// One clone per bucket with its micro-batch; what has no symbolic shape stays
// single; the names of inputs' dimensions survive for the loader.

module attributes {tts.buckets = [#tts.bucket<text = 8, frames = 16>, #tts.bucket<text = 12, frames = 40>],
                   tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [4, 2]>} {
  // CHECK-LABEL: func.func @forward_b0(
  // CHECK-SAME: %[[X:.*]]: tensor<4x16x80xf32> {tts.dims = #tts.dims<batch, frames, _>, tts.input = "mel"}
  // CHECK-SAME: -> (tensor<4x16x80xf32> {tts.dims = #tts.dims<batch, frames, _>, tts.output = "mel"})
  // CHECK-SAME: tts.bucket_index = 0
  // CHECK: tts.relu %[[X]] : tensor<4x16x80xf32>
  // CHECK-LABEL: func.func @forward_b1(
  // CHECK-SAME: tensor<2x40x80xf32>
  // CHECK-SAME: tts.bucket_index = 1
  // ONE-NOT: @forward_b0
  // ONE: @forward_b1
  func.func @forward(%x: tensor<?x?x80xf32, #tts.dims<batch, frames, _>> {tts.input = "mel"})
      -> (tensor<?x?x80xf32, #tts.dims<batch, frames, _>> {tts.output = "mel"}) attributes {tts.program = "forward"} {
    %y = tts.relu %x : tensor<?x?x80xf32, #tts.dims<batch, frames, _>>
    return %y : tensor<?x?x80xf32, #tts.dims<batch, frames, _>>
  }

  // The program that speaks, as every other.
  // CHECK-LABEL: func.func @infer_b0(
  // CHECK-SAME: tensor<4x8xf32> {tts.dims = #tts.dims<batch, text>, tts.input = "durations"}
  // CHECK-SAME: -> (tensor<4xi32> {tts.dims = #tts.dims<batch>, tts.lengths = "frames", tts.output = "wanted"})
  // CHECK-LABEL: func.func @infer_b1(
  // CHECK-SAME: tensor<2x12xf32>
  func.func @infer(%d: tensor<?x?xf32, #tts.dims<batch, text>> {tts.input = "durations"})
      -> (tensor<?xi32, #tts.dims<batch>> {tts.output = "wanted", tts.lengths = "frames"}) attributes {tts.program = "infer"} {
    %s = tts.sum_to %d dims [0] : tensor<?x?xf32, #tts.dims<batch, text>> to tensor<?xf32, #tts.dims<batch>>
    %n = tts.round_to_int %s : tensor<?xf32, #tts.dims<batch>> to tensor<?xi32, #tts.dims<batch>>
    return %n : tensor<?xi32, #tts.dims<batch>>
  }

  // CHECK-LABEL: func.func @zero(
  // CHECK-NOT: tts.bucket_index
  func.func @zero(%g: tensor<3xf32> {tts.gradient = "w"}) -> (tensor<3xf32> {tts.gradient = "w"}) attributes {tts.program = "zero"} {
    %z = tts.full 0.0 : tensor<3xf32>
    return %z : tensor<3xf32>
  }
}
