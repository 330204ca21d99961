//===- Libraries.h - what compiled programs call at run time -------------===//

#ifndef TTS_TARGET_CPU_LIBRARIES_H
#define TTS_TARGET_CPU_LIBRARIES_H

#include <string>

namespace tts::cpu {

/// oneDNN's version, "2.6.3": its scratch and its bits depend on it.
std::string getMatmulLibraryVersion();

} // namespace tts::cpu

#endif // TTS_TARGET_CPU_LIBRARIES_H
