// A small model whose programs the contract tests damage.
!lengths = tensor<?xi32, #tts.dims<batch>>
!ids = tensor<?x?xi32, #tts.dims<batch, text>>
!x = tensor<?x?x8xf32, #tts.dims<batch, text, _>>

module {
  func.func @train(
      %table: tensor<40x8xf32> {tts.param = "table"},
      %w: tensor<8x8xf32> {tts.param = "w"},
      %v: tensor<8x8xf32> {tts.param = "v"},
      %gamma: tensor<8xf32> {tts.param = "gamma", tts.frozen},
      %beta: tensor<8xf32> {tts.param = "beta", tts.frozen},
      %ids: !ids {tts.input = "phones"},
      %target: !x {tts.input = "target"},
      %n: !lengths {tts.input = "phone_lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "near"}, tensor<f32> {tts.denominator = "near"}) attributes {tts.program = "train"} {
    %e = tts.embedding %ids, %table : !ids, tensor<40x8xf32> to !x loc("lookup")
    %a = tts.linear %e, %w : !x, tensor<8x8xf32> to !x loc("first")
    %y, %mean, %rstd = tts.layer_norm %a, %gamma, %beta {epsilon = 1.0e-5 : f64} : !x, tensor<8xf32> to tensor<?x?xf32, #tts.dims<batch, text>> loc("norm")
    %b = tts.linear %y, %v : !x, tensor<8x8xf32> to !x loc("second")
    %loss = tts.mse_loss %b, %target, %n : !x, !lengths to tensor<f32> loc("loss")
    %count = tts.count %n : !lengths to tensor<f32> loc("count")
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}
