// The plugin brings dialects and passes into a stock mlir-opt, which knows neither without it.
// REQUIRES: plugin
// RUN: %mlir-opt-tts %s --pass-pipeline='builtin.module(canonicalize)' | FileCheck %s
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT

// CHECK-LABEL: func @f
// CHECK-SAME: #tts.dims<batch, _>
// CHECK: tts.relu
// WITHOUT: error: {{.*}}tts
func.func @f(%x: tensor<?x4xf32, #tts.dims<batch, _>>) -> tensor<?x4xf32, #tts.dims<batch, _>> {
  %y = tts.relu %x : tensor<?x4xf32, #tts.dims<batch, _>>
  return %y : tensor<?x4xf32, #tts.dims<batch, _>>
}
