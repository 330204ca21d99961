//===- Register.cpp - every dialect and pass of the compiler -------------===//

#include "tts/Driver/Register.h"

#include "tts/Conversion/RtToLLVM/Passes.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

void tts::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<TtsDialect, rt::RtDialect>();
}

void tts::registerPasses() { registerRtToLLVMPasses(); }
