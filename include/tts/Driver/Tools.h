//===- Tools.h - the mains of the compiler's tools -----------*- C++ -*-===//

#ifndef TTS_DRIVER_TOOLS_H
#define TTS_DRIVER_TOOLS_H

namespace tts {

/// mlir-opt with our dialects and passes; with planning flags, the phases up to
/// --stop-after on the model, the plan table on stderr.
int runOpt(int argc, char **argv);

/// A model file to an executable or shared library and its certificate.
int runCompile(int argc, char **argv);

} // namespace tts

#endif // TTS_DRIVER_TOOLS_H
