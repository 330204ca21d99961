// RUN: tts-opt --tts-to-kernels --tts-cpu-kernels-to-llvm %s | FileCheck %s
// RUN: tts-opt --tts-to-kernels --tts-cpu-kernels-to-llvm %s | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=IR
// REQUIRES: tts-opt

// The entry point of the ABI loads the operands' addresses; the body is private to it, and nobody
// says that the operands are distinct or that a product and a sum may become one.
// CHECK-LABEL: llvm.func @k(
// CHECK-SAME:    %[[OPERANDS:.*]]: !llvm.ptr, %[[LO:.*]]: i64, %[[HI:.*]]: i64)
// CHECK-SAME:    rt.kernel, rt.range = 2 : i64
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[OPERANDS]][2]
// CHECK:         %[[Z:.*]] = llvm.load %[[SLOT]]
// CHECK:         llvm.call @k.body(%{{.*}}, %{{.*}}, %[[Z]], %[[LO]], %[[HI]])
// CHECK-LABEL: llvm.func internal @k.body(
// CHECK-NOT:     noalias
// CHECK:         llvm.fmul %{{[^{]*}} : vector<32xf32>
// CHECK:         llvm.fadd %{{[^{]*}} : vector<32xf32>
// A polynomial in f32, libm in f64.
// CHECK-NOT:     llvm.intr.exp
// CHECK-LABEL: llvm.func internal @exp64.body(
// CHECK:         llvm.intr.exp(%{{.*}}) : (vector<32xf64>)

// IR:      define internal void @k.body(
// IR-NOT:  {{fast|reassoc|contract|nnan}}
// IR:      define internal void @exp64.body(
func.func private @k(%x: tensor<2x20xf32>, %y: tensor<2x20xf32>) -> tensor<2x20xf32> attributes {rt.kernel} {
  %0 = tts.mul %x, %y : tensor<2x20xf32>
  %1 = tts.add %0, %y : tensor<2x20xf32>
  %2 = tts.exp %1 : tensor<2x20xf32>
  return %2 : tensor<2x20xf32>
}
func.func private @exp64(%x: tensor<40xf64>) -> tensor<40xf64> attributes {rt.kernel} {
  %0 = tts.exp %x : tensor<40xf64>
  return %0 : tensor<40xf64>
}
