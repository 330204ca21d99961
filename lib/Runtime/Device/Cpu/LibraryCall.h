//===- LibraryCall.h - a library function of one shape, ready to run -----===//

#ifndef TTS_RUNTIME_DEVICE_CPU_LIBRARYCALL_H
#define TTS_RUNTIME_DEVICE_CPU_LIBRARYCALL_H

#include "Runtime/Abi/Error.h"
#include <dnnl.h>
#include <string>

namespace tts::rt {

class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// The entry's operands as addresses, scratch last.
  virtual void run(dnnl_stream_t stream, void *const *operands) const = 0;
  /// Each primitive once: what it would do at its first use happens now.
  virtual void runOne(dnnl_stream_t stream, void *const *operands) const = 0;
  /// oneDNN's name for what it runs.
  virtual const char *implementation() const = 0;
};

/// Throws Exit::Refused for a call that makes something at start.
inline void checkLibrary(dnnl_status_t status, const char *call) {
  if (status != dnnl_success)
    throw Error(Exit::Refused, "oneDNN",
                std::string(call) + " failed with status " +
                    std::to_string(int(status)),
                "recompile on this machine");
}

[[noreturn]] inline void refuseEntry(const std::string &where,
                                     const std::string &wrong) {
  throw Error(Exit::Refused, where, wrong,
              "recompile the model on this machine");
}

/// Throws Exit::CannotContinue for a primitive that failed while running.
inline void checkRun(dnnl_status_t status, const char *implementation) {
  if (status != dnnl_success)
    throw Error(Exit::CannotContinue, "oneDNN",
                std::string("a primitive (") + implementation +
                    ") failed with status " + std::to_string(int(status)),
                "resume from the last checkpoint");
}

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_LIBRARYCALL_H
