//===- Alike.h - ranks in one place whose plans differ ----------*- C++ -*-===//

#ifndef TTS_LIB_CHECK_ALIKE_H
#define TTS_LIB_CHECK_ALIKE_H

#include "Manifest.h"

namespace tts::check {

/// Devices of other budgets train one model: role `role` has the model, the
/// experiment and the buckets of the first, and exchanges what that does, in
/// the same order and in the same pieces, and nothing within a micro-batch.
void checkAlike(const Table &first, const Manifest &firstManifest,
                const Table &other, const Manifest &otherManifest, size_t role,
                Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_ALIKE_H
