// One layer that looks at the whole update, two buckets.
!lengths = tensor<?xi32, #tts.dims<batch>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

module attributes {tts.batch = 4 : i64, tts.buckets = [#tts.bucket<text = 4>, #tts.bucket<text = 8>], tts.hardware = "host"} {
  func.func @train(%g: tensor<8xf32> {tts.param = "bn.weight", tts.init = #tts.init<ones>}, %b: tensor<8xf32> {tts.param = "bn.bias", tts.init = #tts.init<zeros>},
                   %m: tensor<8xf32> {tts.param = "bn.running_mean", tts.init = #tts.init<zeros>, tts.state},
                   %v: tensor<8xf32> {tts.param = "bn.running_var", tts.init = #tts.init<ones>, tts.state},
                   %x: !x {tts.input = "x"}, %t: !x {tts.input = "t"}, %n: !lengths {tts.input = "n", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l"}, tensor<f32> {tts.denominator = "l"}) attributes {tts.program = "train"} {
    %y = tts.batch_norm %x, %g, %b, %m, %v, %n {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} : !x, tensor<8xf32>, !lengths loc("bn")
    %loss = tts.mse_loss %y, %t, %n : !x, !lengths to tensor<f32> loc("loss")
    %count = tts.count %n : !lengths to tensor<f32> loc("count")
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}
