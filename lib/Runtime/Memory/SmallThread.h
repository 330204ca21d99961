//===- SmallThread.h - a thread beside the training loop -----------------===//

#ifndef TTS_RUNTIME_MEMORY_SMALLTHREAD_H
#define TTS_RUNTIME_MEMORY_SMALLTHREAD_H

#include <pthread.h>

namespace tts::rt {

/// Starts run(argument) with a small stack, which keeps the address space
/// tight, and without signals, which are the main thread's. Throws
/// Exit::Refused; `whose` stands in the message.
pthread_t startSmallThread(void *(*run)(void *), void *argument,
                           const char *whose);

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_SMALLTHREAD_H
