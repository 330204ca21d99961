//===- Initialize.h - first values of parameters -------------------------===//
//
// From `tts.init` (kind and arguments in the manifest) through the counter
// generator: a value depends on seed, parameter name and element index alone.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_INITIALIZE_H
#define TTS_RUNTIME_TRAIN_INITIALIZE_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/Memory/Arena.h"

namespace tts::rt {

/// Writes first values into every parameter, copies them to its EMA and
/// clears gradient and moments.
void initializeParameters(const Manifest &manifest, const Arena &arena,
                          uint64_t seed);

/// Clears gradients and moments and starts every EMA at the weights' values.
void resetStates(const Manifest &manifest, const Arena &arena);

/// Rounds a parameter, or all, into the copies that programs of mixed precision
/// read; the update does it for what it changes.
void refreshHalfCopy(const Parameter &parameter, const Arena &arena);
void refreshHalfCopies(const Manifest &manifest, const Arena &arena);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_INITIALIZE_H
