//===- Signals.h - Ctrl-C ends the run after the update ------------------===//
//
// The first SIGINT or SIGTERM asks; a second one kills, as everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_SIGNALS_H
#define TTS_RUNTIME_TRAIN_SIGNALS_H

namespace tts::rt {

void catchInterrupts();
bool interrupted();

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_SIGNALS_H
