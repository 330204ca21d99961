// A pitch predictor of three layers in two buckets: the smallest model with a convolution, a mask and an optimizer.
#text = #tts.dims<batch, text>
#wide = #tts.dims<batch, text, _>
module attributes {tts.batch = 4 : i64,
                   tts.buckets = [#tts.bucket<text = 8>, #tts.bucket<text = 16>],
                   tts.hardware = "host", tts.optimizer = "adamw", tts.grad_clip = 1.0 : f64,
                   tts.ema_decay = 0.9 : f64, tts.lr = 1.0e-3 : f64, tts.warmup = 10 : i64,
                   tts.schedule = "constant"} {
  func.func @train(
      %embedding: tensor<11x16xf32> {tts.param = "embedding.weight", tts.init = #tts.init<normal, 0.1>},
      %conv: tensor<3x16x16xf32> {tts.param = "conv.weight", tts.init = #tts.init<xavier_uniform>},
      %head: tensor<16x1xf32> {tts.param = "head.weight", tts.init = #tts.init<xavier_uniform>},
      %phones: tensor<?x?xi32, #text> {tts.input = "phones"},
      %pitch: tensor<?x?xf32, #text> {tts.input = "pitch"},
      %lengths: tensor<?xi32, #tts.dims<batch>> {tts.input = "phone_lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "pitch", tts.coefficient = 1.0 : f64},
        tensor<f32> {tts.denominator = "pitch"},
        tensor<?x?xf32, #text> {tts.output = "pitch"})
      attributes {tts.program = "train"} {
    %0 = tts.embedding %phones, %embedding : tensor<?x?xi32, #text>, tensor<11x16xf32> to tensor<?x?x16xf32, #wide> loc("embedding")
    %1 = tts.conv1d %0, %conv {left = 1 : i64} : tensor<?x?x16xf32, #wide>, tensor<3x16x16xf32> to tensor<?x?x16xf32, #wide> loc("conv")
    %2 = tts.relu %1 : tensor<?x?x16xf32, #wide> loc("relu")
    %3 = tts.linear %2, %head : tensor<?x?x16xf32, #wide>, tensor<16x1xf32> to tensor<?x?x1xf32, #wide> loc("head")
    %4 = tts.squeeze %3 {dim = 2 : i64} : tensor<?x?x1xf32, #wide> to tensor<?x?xf32, #text> loc("squeeze")
    %5 = tts.mse_loss %4, %pitch, %lengths : tensor<?x?xf32, #text>, tensor<?xi32, #tts.dims<batch>> to tensor<f32> loc("pitch_loss")
    %6 = tts.count %lengths {per = 1.0 : f64} : tensor<?xi32, #tts.dims<batch>> to tensor<f32> loc("pitch_count")
    return %5, %6, %4 : tensor<f32>, tensor<f32>, tensor<?x?xf32, #text>
  }
}
