// Where tts-insert-masks puts a mask, and where it knows better.
// RUN: tts-opt %s --tts-insert-masks | FileCheck %s
// RUN: tts-opt %s --tts-insert-masks --mlir-print-debuginfo | FileCheck %s --check-prefix=NAME

!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!lengths = tensor<?xi32, #tts.dims<batch>>
!w = tensor<3x8x8xf32>

// CHECK-LABEL: func @between_convolutions(
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[N:[^:]*]]: tensor<?xi32, #tts.dims<batch>> {tts.input = "n"
func.func @between_convolutions(%x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"}) -> !x {
  // The loader writes zeros beyond the lengths: inputs need no mask.
  // CHECK-NOT: tts.mask
  // CHECK: %[[Y:.*]] = tts.conv1d %[[X]]
  %0 = tts.conv1d %x, %w {left = 1 : i64} : !x, !w to !x
  // CHECK: %[[M:.*]] = tts.mask %[[Y]], %[[N]]
  // CHECK: tts.conv1d %[[M]]
  // NAME: tts.mask {{.*}} loc(#[[LOC:.*]])
  // NAME: #[[LOC]] = loc("second.mask"
  %1 = tts.conv1d %0, %w {left = 1 : i64} : !x, !w to !x loc("second")
  return %1 : !x
}

// One tensor instead of two is kept for the gradient.
// CHECK-LABEL: func @above_relu(
func.func @above_relu(%x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"}) -> !x {
  // CHECK: %[[Y:.*]] = tts.conv1d
  // CHECK: %[[M:.*]] = tts.mask %[[Y]]
  // CHECK: %[[R:.*]] = tts.relu %[[M]]
  // CHECK: tts.conv1d %[[R]]
  %0 = tts.conv1d %x, %w {left = 1 : i64} : !x, !w to !x
  %1 = tts.relu %0 : !x
  %2 = tts.conv1d %1, %w {left = 1 : i64} : !x, !w to !x
  return %2 : !x
}

// Another reader of relu's result must not see the mask.
// CHECK-LABEL: func @below_shared_relu(
func.func @below_shared_relu(%x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"}) -> (!x, !x) {
  // CHECK: %[[Y:.*]] = tts.conv1d
  // CHECK: %[[R:.*]] = tts.relu %[[Y]]
  // CHECK: %[[M:.*]] = tts.mask %[[R]]
  // CHECK: %[[Z:.*]] = tts.conv1d %[[M]]
  // CHECK: return %[[R]], %[[Z]]
  %0 = tts.conv1d %x, %w {left = 1 : i64} : !x, !w to !x
  %1 = tts.relu %0 : !x
  %2 = tts.conv1d %1, %w {left = 1 : i64} : !x, !w to !x
  return %1, %2 : !x, !x
}

// CHECK-LABEL: func @shared_mask(
func.func @shared_mask(%x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"}) -> (!x, !x) {
  // CHECK: %[[M:.*]] = tts.mask
  // CHECK-NOT: tts.mask
  // CHECK-COUNT-2: tts.conv1d %[[M]]
  %0 = tts.sigmoid %x : !x
  %1 = tts.conv1d %0, %w {left = 1 : i64} : !x, !w to !x
  %2 = tts.conv1d %0, %w {left = 2 : i64} : !x, !w to !x
  return %1, %2 : !x, !x
}

// A mask found after a pointwise op may stand in front of one found before it.
// CHECK-LABEL: func @shared_above(
func.func @shared_above(%x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"}) -> (!x, !x) {
  // CHECK: %[[S:.*]] = tts.sigmoid
  // CHECK: %[[M:.*]] = tts.mask %[[S]]
  // CHECK: %[[R:.*]] = tts.relu %[[M]]
  // CHECK: tts.conv1d %[[M]]
  // CHECK: tts.conv1d %[[R]]
  %0 = tts.sigmoid %x : !x
  %1 = tts.relu %0 : !x
  %2 = tts.conv1d %0, %w {left = 1 : i64} : !x, !w to !x
  %3 = tts.conv1d %1, %w {left = 1 : i64} : !x, !w to !x
  return %2, %3 : !x, !x
}

// Zeros go through sums and dropout; a bias ends them.
// CHECK-LABEL: func @known_zero(
func.func @known_zero(%x: !x {tts.input = "x"}, %b: tensor<8xf32> {tts.param = "b"}, %n: !lengths {tts.input = "n", tts.lengths = "text"}, %w: !w {tts.param = "w"},
                      %u: tensor<?xi64, #tts.dims<batch>> {tts.input = "utterance"}, %draw: tensor<2xi64> {tts.scalar = "draw"}) -> (!x, !x) {
  %0 = tts.dropout %x, %u, %draw {rate = 0.1 : f64, stream = "d"} : !x, tensor<?xi64, #tts.dims<batch>>, tensor<2xi64>
  %1 = tts.add %0, %x : !x
  // CHECK: %[[KNOWN:.*]] = tts.add
  // CHECK-NOT: tts.mask
  // CHECK: tts.conv1d %[[KNOWN]]
  %2 = tts.conv1d %1, %w {left = 1 : i64} : !x, !w to !x
  %3 = tts.broadcast %b dims [2] : tensor<8xf32> to !x
  // CHECK: %[[BIASED:.*]] = tts.add
  // CHECK: %[[M:.*]] = tts.mask %[[BIASED]]
  // CHECK: tts.conv1d %[[M]]
  %4 = tts.add %x, %3 : !x
  %5 = tts.conv1d %4, %w {left = 1 : i64} : !x, !w to !x
  return %2, %5 : !x, !x
}

// A mask of the user's counts when its lengths are this dimension's.
// CHECK-LABEL: func @masked_by_user(
func.func @masked_by_user(%x: !x, %n: !lengths {tts.input = "n", tts.lengths = "text"},
                          %m: !lengths {tts.input = "m", tts.lengths = "frames"}, %w: !w {tts.param = "w"}) -> (!x, !x) {
  // CHECK: %[[RIGHT:.*]] = tts.mask %[[X:.*]], %{{.*}}
  // CHECK-NEXT: tts.conv1d %[[RIGHT]]
  %0 = tts.mask %x, %n : !x, !lengths
  %1 = tts.conv1d %0, %w {left = 1 : i64} : !x, !w to !x
  // CHECK: tts.mask {{.*}}
  // CHECK-NEXT: tts.mask
  %2 = tts.mask %x, %m : !x, !lengths
  %3 = tts.conv1d %2, %w {left = 1 : i64} : !x, !w to !x
  return %1, %3 : !x, !x
}

// The length regulator reads phones, so phone lengths mask its operand.
// CHECK-LABEL: func @length_regulator(
// CHECK-SAME: %[[N:[^:]*]]: tensor<?xi32, #tts.dims<batch>> {tts.input = "n"
func.func @length_regulator(%n: !lengths {tts.input = "n", tts.lengths = "text"}, %m: !lengths {tts.input = "m", tts.lengths = "frames"},
                            %d: tensor<?x?xi32, #tts.dims<batch, text>> {tts.input = "durations"},
                            %ids: tensor<?x?xi32, #tts.dims<batch, text>> {tts.input = "phones"}, %t: tensor<40x8xf32> {tts.param = "t"}) -> tensor<?x?x8xf32, #tts.dims<batch, frames, _>> {
  %0 = tts.embedding %ids, %t : tensor<?x?xi32, #tts.dims<batch, text>>, tensor<40x8xf32> to !x
  // CHECK: tts.mask %{{.*}}, %[[N]]
  %1 = tts.length_regulate %0, %d : !x, tensor<?x?xi32, #tts.dims<batch, text>> to tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
  return %1 : tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
}

// Lengths that are computed serve like an argument's; a mask stands behind them.
// CHECK-LABEL: func @computed_lengths(
func.func @computed_lengths(%x: !x {tts.input = "x"}, %n: tensor<?xf32, #tts.dims<batch>> {tts.input = "n"}, %w: !w {tts.param = "w"}) -> !x {
  // CHECK: tts.sigmoid
  // CHECK-NEXT: %[[N:.*]] = tts.round_to_int
  // CHECK-NEXT: %[[M:.*]] = tts.mask %{{.*}}, %[[N]]
  // CHECK-NEXT: tts.conv1d %[[M]]
  %0 = tts.sigmoid %x : !x
  %1 = tts.round_to_int %n {tts.lengths = "text"} : tensor<?xf32, #tts.dims<batch>> to !lengths
  %2 = tts.conv1d %0, %w {left = 1 : i64} : !x, !w to !x
  return %2 : !x
}
