//===- Register.h - every dialect and pass of the compiler -----*- C++ -*-===//

#ifndef TTS_DRIVER_REGISTER_H
#define TTS_DRIVER_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace tts {

/// The tts and rt dialects, with the interfaces that later rooms attach.
void registerDialects(mlir::DialectRegistry &registry);

/// All passes and pipelines of all rooms, by their names.
void registerPasses();

} // namespace tts

#endif // TTS_DRIVER_REGISTER_H
