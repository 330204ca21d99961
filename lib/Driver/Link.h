//===- Link.h - object and runtime to a program -------------*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_LINK_H
#define TTS_LIB_DRIVER_LINK_H

#include "Failure.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tts {

/// libTtsRuntime.a: `given`, else beside the tool in ../lib.
llvm::Expected<std::string> findRuntime(const char *tool,
                                        llvm::StringRef given);

struct LinkKind {
  bool isShared = false; ///< a library with the C API of Runtime.h
  bool hasRanks = false; ///< with MPI and libTtsRuntimeMpi.a beside the runtime
};

/// Links objects with the runtime into `output`, an executable or a library.
llvm::Error link(llvm::ArrayRef<std::string> objects, llvm::StringRef runtime,
                 llvm::StringRef output, LinkKind kind);

} // namespace tts

#endif // TTS_LIB_DRIVER_LINK_H
