//===- Messages.h - what pipeline stages send each other --------*- C++ -*-===//

#ifndef TTS_LIB_CHECK_MESSAGES_H
#define TTS_LIB_CHECK_MESSAGES_H

#include "Manifest.h"
#include "Timeline.h"

namespace tts::check {

/// A stage's table as checked by itself.
struct Stage {
  const Table *table;
  const Manifest *manifest;
  const Programs *programs;
};

/// By itself: messages go to other stages, all slots send alike, only rt.send
/// touches an outbox, each channel is of one program.
void checkMessages(const Stage &stage, Report &report);

/// Together: each parameter is one stage's, what is sent on a channel is
/// received there, and no schedule of the runtime's waits for ever.
void checkPipeline(const std::vector<Stage> &stages, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_MESSAGES_H
