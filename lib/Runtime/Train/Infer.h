//===- Infer.h - --infer: speaks requests --------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_INFER_H
#define TTS_RUNTIME_TRAIN_INFER_H

#include "Runtime/Train/Options.h"
#include "tts-runtime/Abi.h"

namespace tts::rt {

/// Runs the infer program over the requests of `options.infer`, writes tensors
/// `<request>/<output>` without padding into `options.dumpOutputs`. A request
/// that wants more than its bucket has moves to a larger one; what the largest
/// cannot hold is cut, with a warning.
void runInference(const Options &options, const void *blob,
                  const TtsKernel *kernels);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_INFER_H
