// RUN: tts-opt --tts-to-kernels --tts-cpu-share-kernels %s | FileCheck %s
// RUN: tts-opt --tts-to-kernels --tts-cpu-kernels-to-llvm %s | FileCheck %s --check-prefix=ENTRY
// REQUIRES: tts-opt

// Two buckets and two streams: one body, whose table holds what differs, read before any loop. Rows,
// columns and rate are the same and stay constants.
// CHECK-LABEL: func.func @short(
// CHECK-SAME:    %[[NUMBERS:[a-z0-9]+]]: memref<2xi64>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index)
// CHECK-SAME:    rt.instances = [{name = "short", numbers = array<i64: {{.*}}>, range = 20 : i64}, {name = "long", numbers = array<i64: {{.*}}>, range = 36 : i64}]
// CHECK:         memref.load %[[NUMBERS]]
// CHECK:         scf.for
// CHECK-NOT:     memref.load %[[NUMBERS]]
// CHECK-NOT:     func.func @long
func.func private @short(%x: tensor<2x10x64xf32>, %u: tensor<2xi64>, %d: tensor<2xi64>) -> tensor<2x10x64xf32> attributes {rt.kernel} {
  %0 = tts.dropout %x, %u, %d {rate = 0.1, stream = "a"} : tensor<2x10x64xf32>, tensor<2xi64>, tensor<2xi64>
  return %0 : tensor<2x10x64xf32>
}
func.func private @long(%x: tensor<2x18x64xf32>, %u: tensor<2xi64>, %d: tensor<2xi64>) -> tensor<2x18x64xf32> attributes {rt.kernel} {
  %0 = tts.dropout %x, %u, %d {rate = 0.1, stream = "b"} : tensor<2x18x64xf32>, tensor<2xi64>, tensor<2xi64>
  return %0 : tensor<2x18x64xf32>
}

// 20 columns leave a masked chunk, which is other code.
// CHECK-LABEL: func.func @masked(
// CHECK-NOT:     rt.instances
func.func private @masked(%x: tensor<2x10x20xf32>, %u: tensor<2xi64>, %d: tensor<2xi64>) -> tensor<2x10x20xf32> attributes {rt.kernel} {
  %0 = tts.dropout %x, %u, %d {rate = 0.1, stream = "a"} : tensor<2x10x20xf32>, tensor<2xi64>, tensor<2xi64>
  return %0 : tensor<2x10x20xf32>
}

// Other memory, the same numbers: an empty table.
// CHECK-LABEL: func.func @few(
// CHECK-SAME:    rt.instances = [{name = "few", numbers = array<i64>, range = 1 : i64}, {name = "again", numbers = array<i64>, range = 1 : i64}]
func.func private @few(%x: tensor<8xf32>) -> (tensor<8xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %0 = tts.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @again(%x: tensor<8xf32>) -> (tensor<8xf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
  %0 = tts.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// ENTRY:       llvm.mlir.global internal constant @long.numbers(
// ENTRY-LABEL: llvm.func @long(
// ENTRY-SAME:    rt.kernel, rt.range = 36 : i64
// ENTRY:         %[[TABLE:.*]] = llvm.mlir.addressof @long.numbers
// ENTRY:         llvm.call tail @short.shared(%{{.*}}, %{{.*}}, %{{.*}}, %[[TABLE]])
