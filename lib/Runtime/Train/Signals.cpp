//===- Signals.cpp - one flag --------------------------------------------===//
//
// Nothing is done in the handler; the training loop looks between updates.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Signals.h"
#include <csignal>

namespace tts::rt {

namespace {
volatile std::sig_atomic_t asked = 0;
void ask(int) { asked = 1; }
} // namespace

void catchInterrupts() {
  asked = 0;
  struct sigaction action = {};
  action.sa_handler = ask;
  action.sa_flags = SA_RESTART | int(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN); // a closed pager must not end a training
}

bool interrupted() { return asked != 0; }

} // namespace tts::rt
