//===- SourceHash.h - which sources the tool was built from --------------===//

#ifndef TTS_LIB_DRIVER_SOURCEHASH_H
#define TTS_LIB_DRIVER_SOURCEHASH_H

#include "llvm/ADT/StringRef.h"

namespace tts {

/// A hash of all sources of the compiler: what one build has planned another
/// one may plan otherwise.
llvm::StringRef getSourceHash();

} // namespace tts

#endif // TTS_LIB_DRIVER_SOURCEHASH_H
