// REQUIRES: avx512
// RUN: tts-opt --tts-cpu-choose-epilogues --split-input-file %s | FileCheck %s -enable-var-scope
// RUN: tts-opt --tts-cpu-choose-epilogues --tts-select --split-input-file %s | FileCheck %s -enable-var-scope --check-prefix=SELECT

// The sums behind a product are nobody else's kernel: they go.
// CHECK-LABEL: func.func @bias(
// CHECK: tts.add {{.*}} {rt.epilogue}
// SELECT-LABEL: func.func @bias(
// SELECT-SAME: %[[X:.*]]: tensor<2x16x64xf32>{{.*}}, %[[W:.*]]: tensor<64x32xf32>{{.*}}, %[[B:.*]]: tensor<32xf32>
// SELECT: %[[Y:.*]] = rt.gemm %[[X]], %[[W]] into %{{.*}} bias %[[B]] <m = 32, n = 32, k = 64, {{.*}} beta = 0,
// SELECT-NOT: rt.launch
// SELECT: return %[[Y]]
func.func @bias(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x32xf32> {tts.param = "w"},
                %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x16x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x16x32xf32>
  %y = tts.add %p, %bb : tensor<2x16x32xf32>
  return %y : tensor<2x16x32xf32>
}

// -----

// The residual's last reader is the sum: its bytes are the result's. One that
// the program returns as well keeps them, so that a kernel adds it to the biased product.
// CHECK-LABEL: func.func @residual(
// CHECK: tts.add {{.*}} {rt.epilogue}
// CHECK: tts.add
// CHECK-NOT: rt.epilogue
// CHECK: tts.add {{.*}} {rt.epilogue}
// CHECK: tts.add {{.*}} {rt.epilogue}
// CHECK-NOT: rt.epilogue
// CHECK: return
// SELECT-LABEL: func.func @residual(
// SELECT: %[[H:.*]] = rt.gemm %{{.*}}, %{{.*}} into %{{.*}} bias
// SELECT: %[[Q:.*]] = rt.gemm %[[H]],
// SELECT: %[[Y:.*]] = rt.gemm %[[Q]], %{{.*}} into %[[H]] bias %{{.*}} <{{.*}} beta = 1,
// SELECT: %[[P:.*]] = rt.gemm %[[Y]], {{.*}} bias {{.*}} beta = 0,
// SELECT: rt.launch @add{{.*}}(%[[Y]], %[[P]])
func.func @residual(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x64xf32> {tts.param = "w"},
                    %b: tensor<64xf32> {tts.param = "b"})
    -> (tensor<2x16x64xf32> {tts.output = "y"}, tensor<2x16x64xf32> {tts.output = "z"})
    attributes {tts.program = "eval"} {
  %bb = tts.broadcast %b dims [2] : tensor<64xf32> to tensor<2x16x64xf32>
  %p0 = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %h = tts.add %p0, %bb : tensor<2x16x64xf32>
  %q = tts.linear %h, %w {transpose} : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %p = tts.linear %q, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %s = tts.add %p, %bb : tensor<2x16x64xf32>
  %y = tts.add %s, %h : tensor<2x16x64xf32>
  %p2 = tts.linear %y, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %s2 = tts.add %p2, %bb : tensor<2x16x64xf32>
  %z = tts.add %y, %s2 : tensor<2x16x64xf32>
  return %y, %z : tensor<2x16x64xf32>, tensor<2x16x64xf32>
}

// -----

// A product may not add onto its own input, nor onto what a later kernel reads,
// nor onto what outlives the program.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: rt.epilogue
func.func @kept(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x64xf32> {tts.param = "w"})
    -> (tensor<2x16x64xf32> {tts.output = "y"}, tensor<2x16x64xf32> {tts.output = "z"})
    attributes {tts.program = "eval"} {
  %p0 = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %a = tts.add %p0, %x : tensor<2x16x64xf32>
  %h = tts.tanh %a : tensor<2x16x64xf32>
  %p1 = tts.linear %h, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %y = tts.add %p1, %h : tensor<2x16x64xf32>
  %g = tts.tanh %x : tensor<2x16x64xf32>
  %late = tts.exp %g : tensor<2x16x64xf32>
  %p2 = tts.linear %y, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %c = tts.add %p2, %g : tensor<2x16x64xf32>
  %n = tts.linear %c, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %z = tts.mul %late, %n : tensor<2x16x64xf32>
  return %y, %z : tensor<2x16x64xf32>, tensor<2x16x64xf32>
}

// -----

// In front of a kernel (here a ReLU, from which oneDNN's differs on a NaN) the
// product adds its bias all the same, so that it is one primitive wherever it
// runs.
// CHECK-LABEL: func.func @front(
// CHECK: tts.add {{.*}} {rt.epilogue}
// SELECT-LABEL: func.func @front(
// SELECT: %[[P:.*]] = rt.gemm {{.*}} bias
// SELECT: rt.launch @relu{{.*}}(%[[P]])
func.func @front(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x32xf32> {tts.param = "w"},
                 %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x16x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x16x32xf32>
  %s = tts.add %p, %bb : tensor<2x16x32xf32>
  %y = tts.relu %s : tensor<2x16x32xf32>
  return %y : tensor<2x16x32xf32>
}

// -----

// But not where its group is as large as a group may be: what is left would be
// grouped anew, and a residual that some other product adds onto might be read later.
// CHECK-LABEL: func.func @full(
// CHECK-NOT: rt.epilogue
func.func @full(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x32xf32> {tts.param = "w"},
                %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x16x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x16x32xf32>
  %0 = tts.add %p, %bb : tensor<2x16x32xf32>
  %1 = tts.relu %0 : tensor<2x16x32xf32>
  %2 = tts.tanh %1 : tensor<2x16x32xf32>
  %3 = tts.exp %2 : tensor<2x16x32xf32>
  %4 = tts.relu %3 : tensor<2x16x32xf32>
  %5 = tts.tanh %4 : tensor<2x16x32xf32>
  %6 = tts.exp %5 : tensor<2x16x32xf32>
  %7 = tts.relu %6 : tensor<2x16x32xf32>
  %8 = tts.tanh %7 : tensor<2x16x32xf32>
  %9 = tts.exp %8 : tensor<2x16x32xf32>
  %y = tts.relu %9 : tensor<2x16x32xf32>
  return %y : tensor<2x16x32xf32>
}

// -----

// The sums stay a kernel behind several taps, in another order and where
// somebody reads a sum on the way.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT: rt.epilogue
func.func @stay(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x64xf32> {tts.param = "w"},
                %b: tensor<64xf32> {tts.param = "b"}, %taps: tensor<3x64x64xf32> {tts.param = "taps"})
    -> (tensor<2x16x64xf32> {tts.output = "c"}, tensor<2x16x64xf32> {tts.output = "o"},
        tensor<2x16x64xf32> {tts.output = "s"}) attributes {tts.program = "eval"} {
  %bb = tts.broadcast %b dims [2] : tensor<64xf32> to tensor<2x16x64xf32>
  %k = tts.conv1d %x, %taps {left = 1} : tensor<2x16x64xf32>, tensor<3x64x64xf32> to tensor<2x16x64xf32>
  %c = tts.add %k, %bb : tensor<2x16x64xf32>
  %p1 = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %h = tts.tanh %x : tensor<2x16x64xf32>
  %first = tts.add %p1, %h : tensor<2x16x64xf32>
  %o = tts.add %first, %bb : tensor<2x16x64xf32>
  %p2 = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x64xf32> to tensor<2x16x64xf32>
  %again = tts.mul %p2, %p2 : tensor<2x16x64xf32>
  %s2 = tts.add %p2, %again : tensor<2x16x64xf32>
  return %c, %o, %s2 : tensor<2x16x64xf32>, tensor<2x16x64xf32>, tensor<2x16x64xf32>
}

// -----

// Two storages for one value: its op runs twice, so the product has two readers.
// CHECK-LABEL: func.func @twice(
// CHECK-NOT: rt.epilogue
// SELECT-LABEL: func.func @twice(
// SELECT-COUNT-2: rt.launch @add
// SELECT: %[[C:.*]] = rt.empty
// SELECT: %[[P:.*]] = rt.gemm %{{.*}} into %[[C]]
// SELECT: %[[D:.*]] = rt.empty
// SELECT: %[[Q:.*]] = rt.gemm %{{.*}} into %[[D]]
// SELECT: return %{{.*}}, %{{.*}}, %[[P]], %[[Q]] :
func.func @twice(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x32xf32> {tts.param = "w"},
                 %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x16x32xf32> {tts.output = "y"}, tensor<2x16x32xf32> {tts.output = "z"},
        tensor<2x16x32xf32> {tts.output = "p"}, tensor<2x16x32xf32> {tts.output = "q"})
    attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x16x32xf32>
  %y = tts.add %p, %bb : tensor<2x16x32xf32>
  %bare = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  return %y, %y, %bare, %bare : tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>
}

// -----

// CHECK-LABEL: func.func @double(
// CHECK-NOT: rt.epilogue
func.func @double(%x: tensor<2x16x64xf64> {tts.input = "x"}, %w: tensor<64x32xf64> {tts.param = "w"},
                  %b: tensor<32xf64> {tts.param = "b"})
    -> (tensor<2x16x32xf64> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf64>, tensor<64x32xf64> to tensor<2x16x32xf64>
  %bb = tts.broadcast %b dims [2] : tensor<32xf64> to tensor<2x16x32xf64>
  %y = tts.add %p, %bb : tensor<2x16x32xf64>
  return %y : tensor<2x16x32xf64>
}

// -----

module attributes {tts.unfused} {
// CHECK-LABEL: func.func @unfused(
// CHECK-NOT: rt.epilogue
func.func @unfused(%x: tensor<2x16x64xf32> {tts.input = "x"}, %w: tensor<64x32xf32> {tts.param = "w"},
                   %b: tensor<32xf32> {tts.param = "b"})
    -> (tensor<2x16x32xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
  %p = tts.linear %x, %w : tensor<2x16x64xf32>, tensor<64x32xf32> to tensor<2x16x32xf32>
  %bb = tts.broadcast %b dims [2] : tensor<32xf32> to tensor<2x16x32xf32>
  %y = tts.add %p, %bb : tensor<2x16x32xf32>
  return %y : tensor<2x16x32xf32>
}
}
