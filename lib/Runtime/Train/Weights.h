//===- Weights.h - parameters to and from safetensors --------------------===//
//
// Tensor names are the model's own, so a PyTorch load_state_dict takes them.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_WEIGHTS_H
#define TTS_RUNTIME_TRAIN_WEIGHTS_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/IO/Safetensors.h"
#include "Runtime/Memory/Arena.h"

namespace tts::rt {

/// Reads every parameter from a file; what it lacks, or has in another shape,
/// is Exit::BadInput. Returns how many tensors of the file no parameter took.
size_t loadWeights(const Manifest &manifest, const Arena &arena,
                   const std::string &path);

/// Reads one state (Parameter::moment1, …) of every parameter that has it from
/// tensors named `prefix` + parameter.
size_t loadStates(const Manifest &manifest, const Arena &arena,
                  const File &file, Slice Parameter::*state,
                  const std::string &prefix);

void saveWeights(const Manifest &manifest, const Arena &arena,
                 const std::string &path);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_WEIGHTS_H
