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

/// The calling thread runs for a moment at a time, and soon when it wakes, even
/// where all cores compute: what a thread that exchanges wants. A wish to Linux
/// (from 6.12 on), which gives it no more of a core than before; among threads
/// of real-time priority it gets the next higher one.
void takeShortTurns();

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_SMALLTHREAD_H
