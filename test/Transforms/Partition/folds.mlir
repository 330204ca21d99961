// A deterministic sum has four groups of micro-batches; after each of its own a rank runs a fold.
// RUN: tts-opt %s --tts-partition --tts-verify-contract=level=partition | FileCheck %s --check-prefix=ONE
// RUN: sed 's/tts.deterministic/tts.ranks = 2 : i64, tts.deterministic/' %s | tts-opt --tts-partition | FileCheck %s --check-prefix=TWO
// RUN: sed 's/tts.deterministic/tts.ranks = 4 : i64, tts.deterministic/' %s | tts-opt --tts-partition | FileCheck %s --check-prefix=FOUR
// RUN: sed 's/tts.deterministic/tts.ranks = 3 : i64, tts.deterministic/' %s | not tts-opt --tts-partition 2>&1 | FileCheck %s --check-prefix=THREE

// THREE: error: a deterministic sum has 4 groups, which 3 ranks cannot share; give 1, 2 or 4
// FOUR-NOT: fold

// ONE-LABEL: func.func @fold.0
// ONE-SAME: (%[[G:.*]]: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<4xf32> {tts.partial = "w.0"}, tensor<4xf32> {tts.gradient = "w"})
// ONE: %[[Z:.*]] = tts.full -0.000000e+00
// ONE: %[[COPY:.*]] = tts.add %[[G]], %[[Z]]
// ONE: %[[CLEAR:.*]] = tts.full 0.000000e+00 {tts.gradient = "w"}
// ONE: return %[[COPY]], %[[CLEAR]]

// ONE-LABEL: func.func @fold.1
// ONE-SAME: (%[[G:.*]]: tensor<4xf32> {tts.gradient = "w"}, %[[P0:.*]]: tensor<4xf32> {tts.partial = "w.0"}) -> (tensor<4xf32> {tts.partial = "w.1"}, tensor<4xf32> {tts.gradient = "w"})
// ONE: %[[SUM:.*]] = tts.add %[[P0]], %[[G]]
// ONE: return %[[SUM]],

// ONE-LABEL: func.func @fold.2
// ONE-SAME: -> (tensor<4xf32> {tts.partial = "w.0"}, tensor<4xf32> {tts.gradient = "w"})

// ONE-LABEL: func.func @fold.3
// ONE-SAME: (%[[G:.*]]: tensor<4xf32> {tts.gradient = "w"}, %[[P0:.*]]: tensor<4xf32> {tts.partial = "w.0"}, %[[P1:.*]]: tensor<4xf32> {tts.partial = "w.1"}) -> (tensor<4xf32> {tts.gradient = "w"})
// ONE: %[[A:.*]] = tts.accumulate %[[G]], %[[P0]]
// ONE: %[[B:.*]] = tts.accumulate %[[A]], %[[P1]]
// ONE: return %[[B]]

// TWO-LABEL: func.func @fold.0
// TWO-LABEL: func.func @fold.1
// TWO-SAME: tts.partial = "w.0"}) -> (tensor<4xf32> {tts.gradient = "w"})
// TWO: tts.accumulate
// TWO-NOT: @fold.2
module attributes {tts.deterministic, tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [1]>} {
  func.func @zero(%g: tensor<4xf32> {tts.gradient = "w"}) -> (tensor<4xf32> {tts.gradient = "w"}) attributes {tts.program = "zero"} {
    %0 = tts.full 0.0 : tensor<4xf32> loc("zero")
    return %0 : tensor<4xf32>
  }
}
