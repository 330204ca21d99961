// States that no op, two ops or a value that is no state would stand behind.
// RUN: tts-opt %s --split-input-file --tts-differentiate --verify-diagnostics

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

func.func @no_state(%g: tensor<8xf32> {tts.param = "g"}, %m: tensor<8xf32> {tts.param = "m", tts.frozen},
                    %x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  // expected-error @+1 {{'tts.batch_norm' keeps a state in a value that is none; pass a parameter with tts.state}}
  %y = tts.batch_norm %x, %g, %g, %m, %m, %n {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : !x, tensor<8xf32>, !lengths
  %loss = tts.mse_loss %y, %x, %n : !x, !lengths to tensor<f32>
  %count = tts.count %n : !lengths to tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}

// -----

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

func.func @twice(%g: tensor<8xf32> {tts.param = "g"}, %m: tensor<8xf32> {tts.param = "m", tts.state},
                 %x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  // expected-error @+1 {{'tts.batch_norm' advances state "m", which another op advances already; give each its own}}
  %y = tts.batch_norm %x, %g, %g, %m, %m, %n {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : !x, tensor<8xf32>, !lengths
  %loss = tts.mse_loss %y, %x, %n : !x, !lengths to tensor<f32>
  %count = tts.count %n : !lengths to tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}

// -----

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

// expected-error @+1 {{state "m" is advanced by no op; freeze it with tts.frozen instead}}
func.func @never(%g: tensor<8xf32> {tts.param = "g"}, %m: tensor<8xf32> {tts.param = "m", tts.state},
                 %x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  %b = tts.broadcast %g dims [2] : tensor<8xf32> to !x
  %loss = tts.mse_loss %b, %x, %n : !x, !lengths to tensor<f32>
  %count = tts.count %n : !lengths to tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}

// -----

!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

// expected-error @+1 {{parameter "m" is frozen and a state; drop tts.frozen or tts.state}}
func.func @both(%g: tensor<8xf32> {tts.param = "g"}, %m: tensor<8xf32> {tts.param = "m", tts.state, tts.frozen},
                %x: !x {tts.input = "x"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
  %b = tts.broadcast %g dims [2] : tensor<8xf32> to !x
  %loss = tts.mse_loss %b, %x, %n : !x, !lengths to tensor<f32>
  %count = tts.count %n : !lengths to tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
