//===- Error.h - one error type: an exit code and one line of text -------===//
//
// Everything in the runtime that cannot go on throws an Error; `tts_main`
// prints it as `error: <place>: <what is wrong>; <what to do>` and exits with
// its code, the C API returns the code and keeps the text.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_ERROR_H
#define TTS_RUNTIME_ABI_ERROR_H

#include <stdexcept>
#include <string>

namespace tts::rt {

/// The exit codes of CONTRACT.md.
enum class Exit {
  Ok = 0,
  BadInput = 1,
  BadUsage = 2,
  PeerFailed = 4,
  CannotContinue = 5,
  Interrupted = 6,
  Refused = 7,
};

class Error : public std::runtime_error {
public:
  Error(Exit code, const std::string &place, const std::string &wrong,
        const std::string &todo)
      : std::runtime_error(place + ": " + wrong + "; " + todo), code(code) {}

  Exit code;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_ERROR_H
