//===- SmallThread.cpp - a thread beside the training loop ----------------===//

#include "Runtime/Memory/SmallThread.h"
#include "Runtime/Abi/Error.h"
#include <csignal>
#include <cstring>
#include <string>

namespace tts::rt {

pthread_t startSmallThread(void *(*run)(void *), void *argument,
                           const char *whose) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error)
    throw Error(Exit::Refused, whose,
                std::string("its thread does not start (") +
                    std::strerror(error) + ")",
                "raise the limit on threads");
  return thread;
}

} // namespace tts::rt
