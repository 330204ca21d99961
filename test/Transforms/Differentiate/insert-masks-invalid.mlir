// What tts-insert-masks says when it does not know the lengths.
// RUN: tts-opt %s --tts-insert-masks --split-input-file --verify-diagnostics

func.func @no_lengths(%x: tensor<?x?x8xf32, #tts.dims<batch, text, _>>, %n: tensor<?xi32, #tts.dims<batch>> {tts.lengths = "frames"}, %w: tensor<3x8x8xf32>) {
  // expected-error @+1 {{'tts.conv1d' mixes time steps along 'text', but no argument holds its lengths; give the lengths' argument, or the op that computes them, tts.lengths = "text"}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<?x?x8xf32, #tts.dims<batch, text, _>>, tensor<3x8x8xf32> to tensor<?x?x8xf32, #tts.dims<batch, text, _>>
  return
}

// -----

func.func @no_name(%x: tensor<2x5x8xf32>, %w: tensor<3x8x8xf32>) {
  // expected-error @+1 {{'tts.conv1d' mixes time steps of operand #0, whose dimension 1 has no name; write it as '?' with a name in #tts.dims}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<2x5x8xf32>, tensor<3x8x8xf32> to tensor<2x5x8xf32>
  return
}

// -----

func.func @lengths_too_late(%x: tensor<?x?x8xf32, #tts.dims<batch, frames, _>>, %n: tensor<?xf32, #tts.dims<batch>>, %w: tensor<3x8x8xf32>) {
  // expected-error @+1 {{'tts.conv1d' mixes time steps along 'frames' before its lengths are computed; compute them first}}
  %0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<?x?x8xf32, #tts.dims<batch, frames, _>>, tensor<3x8x8xf32> to tensor<?x?x8xf32, #tts.dims<batch, frames, _>>
  %1 = tts.round_to_int %n {tts.lengths = "frames"} : tensor<?xf32, #tts.dims<batch>> to tensor<?xi32, #tts.dims<batch>>
  return
}
