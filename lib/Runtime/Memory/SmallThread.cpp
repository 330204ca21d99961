//===- SmallThread.cpp - a thread beside the training loop ----------------===//

#include "Runtime/Memory/SmallThread.h"
#include "Runtime/Abi/Error.h"
#include <csignal>
#include <cstring>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void takeShortTurns() {
  int policy = SCHED_OTHER;
  sched_param parameters = {};
  pthread_getschedparam(pthread_self(), &policy, &parameters);
  if (policy == SCHED_FIFO || policy == SCHED_RR) {
    ++parameters.sched_priority;
    pthread_setschedparam(pthread_self(), policy, &parameters);
    return;
  }
  // struct sched_attr of Linux (sched_setattr(2)), first version.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  attributes.size = sizeof attributes;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  attributes.runtime = 100000; // nanoseconds
  syscall(SYS_sched_setattr, 0, &attributes, 0u);
}

} // namespace tts::rt
