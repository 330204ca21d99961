//===- Simulate.h - definitions and clobbers, entry by entry ----*- C++ -*-===//
//
// Also what programs owe the runtime and what they may not write.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_SIMULATE_H
#define TTS_LIB_CHECK_SIMULATE_H

#include "Manifest.h"
#include "Timeline.h"

namespace tts::check {

/// Walks the timeline over several orders of buckets: each read finds bytes
/// that its own buffer defined. Needs a table that passed the checks before.
void simulate(const Table &table, const Programs &programs,
              const Manifest &manifest, Report &report);

/// Points 5 and 6 of docs/certificate.md.
void checkObligations(const Table &table, const Programs &programs,
                      const Manifest &manifest, Report &report);

/// Where there are several ranks, every gradient is summed over them once.
void checkReductions(const Table &table, const Programs &programs,
                     const Manifest &manifest, Report &report);

/// Backward updates a parameter after the last that reads its old value, with a
/// gradient that nothing is added to any more.
void checkUpdateOrder(const Table &table, const Programs &programs,
                      Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_SIMULATE_H
