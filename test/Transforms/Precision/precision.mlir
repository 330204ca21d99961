// RUN: tts-opt --tts-precision --split-input-file --verify-diagnostics %s | FileCheck %s

// f32 becomes f64 everywhere, integers stay.

module attributes {tts.plan = #tts.plan<precision = "fp64", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func.func @eval(
  // CHECK-SAME: %[[P:.*]]: tensor<4xf64> {tts.param = "w"}, %{{.*}}: tensor<2xi32>
  // CHECK-SAME: -> tensor<4xf64>
  // CHECK: tts.relu %[[P]] : tensor<4xf64>
  func.func @eval(%p: tensor<4xf32> {tts.param = "w"}, %n: tensor<2xi32> {tts.input = "n"}) -> tensor<4xf32>
      attributes {tts.program = "eval"} {
    %y = tts.relu %p : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module attributes {tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  // CHECK-LABEL: func.func @single(
  // CHECK-SAME: tensor<4xf32>
  func.func @single(%p: tensor<4xf32> {tts.param = "w"}) -> tensor<4xf32> attributes {tts.program = "eval"} {
    return %p : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{precision needs tts.plan; run tts-plan first}}
module {
}

// -----

// expected-error @+1 {{unknown precision 'int4' in tts.plan; fp32, fp64, bf16 and fp16 exist}}
module attributes {tts.plan = #tts.plan<precision = "int4", threads = 1, micro_batches = [1]>} {
}
