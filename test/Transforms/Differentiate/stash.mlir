// What backward keeps of forward: what it reads, unless it is made again from less.
// RUN: tts-opt %s --tts-differentiate | FileCheck %s

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>
!flat = tensor<?x?xf32, #tts.dims<batch, text>>
!thin = tensor<?x?x1xf32, #tts.dims<batch, text, _>>

module {
  func.func @train(%w: tensor<8x8xf32> {tts.param = "w"}, %scale: tensor<8xf32> {tts.param = "scale"}, %v: tensor<8x1xf32> {tts.param = "v"},
                   %x: !x {tts.input = "x"}, %t: !flat {tts.input = "t"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
    %half = tts.full 0.5 : !x loc("half")
    %positions = tts.sinusoid : tensor<?x8xf32, #tts.dims<text, _>> loc("positions")
    %p = tts.broadcast %positions dims [1, 2] : tensor<?x8xf32, #tts.dims<text, _>> to !x loc("positions.wide")
    %s = tts.broadcast %scale dims [2] : tensor<8xf32> to !x loc("scale.wide")
    %0 = tts.linear %x, %w : !x, tensor<8x8xf32> to !x loc("same")
    %1 = tts.mul %0, %half : !x loc("same")
    %2 = tts.mul %1, %p : !x loc("located")
    %3 = tts.mul %2, %s : !x loc("scaled")
    %4 = tts.exp %3 : !x loc("same")
    %5 = tts.linear %4, %v : !x, tensor<8x1xf32> to !thin loc("thin")
    %6 = tts.squeeze %5 {dim = 2 : i64} : !thin to !flat loc("flat")
    %7 = tts.mul %6, %6 : !flat loc("square")
    %loss = tts.l1_loss %7, %t, %n : !flat, !lengths to tensor<f32> loc("loss")
    %count = tts.count %n : !lengths to tensor<f32> loc("count")
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}

// The input x, the parameters, constants, positions and broadcasts stay out; squeeze's result is its operand's bytes.
// CHECK-LABEL: func @forward(
// CHECK-SAME: -> (tensor<f32> {tts.loss = "l"},
// CHECK-SAME: tensor<?x?x8xf32, #tts.dims<batch, text, _>> {tts.stash = "located"},
// CHECK-SAME: tensor<?x?x8xf32, #tts.dims<batch, text, _>> {tts.stash = "same"},
// CHECK-SAME: tensor<?x?x1xf32, #tts.dims<batch, text, _>> {tts.stash = "thin"},
// CHECK-SAME: tensor<?x?xf32, #tts.dims<batch, text>> {tts.stash = "square"})

// CHECK-LABEL: func @backward(
// CHECK-SAME: %[[SCALE:[^:]*]]: tensor<8xf32> {tts.param = "scale"}
// CHECK-SAME: %[[X:[^:]*]]: {{[^{]*}}{tts.input = "x"}
// CHECK-SAME: %[[LOCATED:[^:]*]]: {{[^{]*}}{tts.stash = "located"}
// CHECK-SAME: %[[EXP:[^:]*]]: {{[^{]*}}{tts.stash = "same"}
// CHECK-SAME: %[[THIN:[^:]*]]: {{[^{]*}}{tts.stash = "thin"}
// CHECK-DAG: %[[FLAT:.*]] = tts.squeeze %[[THIN]]
// CHECK-DAG: tts.mul %{{.*}}, %[[FLAT]]
// CHECK-DAG: %[[S:.*]] = tts.broadcast %[[SCALE]] dims [2]
// CHECK-DAG: tts.mul %{{.*}}, %[[S]]
// CHECK-DAG: %[[POSITIONS:.*]] = tts.sinusoid
// CHECK-DAG: %[[P:.*]] = tts.broadcast %[[POSITIONS]] dims [1, 2]
// CHECK-DAG: tts.mul %{{.*}}, %[[P]]
// CHECK-DAG: %[[HALF:.*]] = tts.full 5.000000e-01
// CHECK-DAG: tts.mul %{{.*}}, %[[HALF]]
