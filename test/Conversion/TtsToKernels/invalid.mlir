// RUN: tts-opt --tts-to-kernels --split-input-file --verify-diagnostics %s
// REQUIRES: tts-opt

// expected-error @below {{kernel operand of type 'tensor<?xf32, #tts.dims<batch>>' is not a tensor of static shape; specialize first}}
func.func private @dynamic(%x: tensor<?xf32, #tts.dims<batch>>) -> tensor<?xf32, #tts.dims<batch>> attributes {rt.kernel} {
  return %x : tensor<?xf32, #tts.dims<batch>>
}

// -----

func.func private @library(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>) -> tensor<4x6xf32> attributes {rt.kernel} {
  // expected-error @below {{no kernel can be made of 'tts.linear'; Select must turn it into library calls}}
  %y = tts.linear %x, %w : tensor<4x5xf32>, tensor<5x6xf32> to tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

func.func private @two(%x: tensor<4x5xf32>) -> tensor<f32> attributes {rt.kernel} {
  %a = tts.sum_to %x dims [0] : tensor<4x5xf32> to tensor<4xf32>
  // expected-error @below {{second op of the kernel that is not a map; one kernel computes at most one}}
  %b = tts.sum_to %a dims [] : tensor<4xf32> to tensor<f32>
  return %b : tensor<f32>
}

// -----

// expected-error @below {{a kernel of 'tts.sum_to' returns another op's result}}
func.func private @besides(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4xf32>) attributes {rt.kernel} {
  %0 = tts.neg %x : tensor<4x5xf32>
  %y = tts.sum_to %0 dims [0] : tensor<4x5xf32> to tensor<4xf32>
  return %0, %y : tensor<4x5xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{results of one map kernel differ in shape}}
func.func private @shapes(%x: tensor<4xf32>, %z: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) attributes {rt.kernel} {
  %y = tts.neg %x : tensor<4xf32>
  %w = tts.neg %z : tensor<5xf32>
  return %y, %w : tensor<4xf32>, tensor<5xf32>
}

// -----

// expected-error @below {{kernel without results; drop it}}
func.func private @nothing(%x: tensor<4xf32>) attributes {rt.kernel} {
  return
}
