module attributes {tts.plan = #tts.plan<precision = "fp64", threads = 1, micro_batches = [1]>} {
  func.func @eval(%x: tensor<4xf32> {tts.input = "x"}) -> (tensor<4xf32> {tts.output = "y"}) attributes {tts.program = "eval"} {
    %y = tts.relu %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
