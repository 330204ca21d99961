// RUN: tts-opt %s --tts-to-kernels --tts-cuda-kernels-to-nvvm | FileCheck %s
// RUN: %check-ptx-of-sums
// RUN: %if cuda-toolkit %{ %check-cubin %}
// REQUIRES: tts-opt

// Dropout: eight counters in the first eight lanes give four words each, which shuffles bring to 32 lanes.

// CHECK-LABEL: llvm.func @tts_channels(
// CHECK:         llvm.mul {{.*}} : i64
// CHECK-COUNT-6: nvvm.shfl.sync idx
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.icmp "uge"
// PTX-LABEL: .entry tts_channels(
// PTX-COUNT-6: shfl.sync.idx.b32
func.func private @channels(%x: tensor<3x5x96xf32>, %u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x5x96xf32> attributes {rt.kernel} {
  %y = tts.dropout %x, %u, %d {rate = 0.1 : f64, stream = "a"} : tensor<3x5x96xf32>, tensor<3xi64>, tensor<2xi64>
  return %y : tensor<3x5x96xf32>
}

// Where time is the chunk every lane has a counter.
// CHECK-LABEL: llvm.func @tts_time(
// CHECK-NOT:     nvvm.shfl
// PTX-LABEL: .entry tts_time(
func.func private @time(%x: tensor<3x40xf32>, %u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x40xf32> attributes {rt.kernel} {
  %y = tts.dropout %x, %u, %d {rate = 0.1 : f64, stream = "a"} : tensor<3x40xf32>, tensor<3xi64>, tensor<2xi64>
  return %y : tensor<3x40xf32>
}
