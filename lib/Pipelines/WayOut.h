//===- WayOut.h - what to leave out of a request that nothing fits -------===//

#ifndef TTS_LIB_PIPELINES_WAYOUT_H
#define TTS_LIB_PIPELINES_WAYOUT_H

#include "tts/Pipelines/Planning.h"

namespace tts {

/// Whether there is a plan for another request.
using FitsRequest = llvm::function_ref<bool(const PlanRequest &)>;

/// "leave out --remat=full or allow --half-storage=auto": what was tried and
/// gives a plan; empty where nothing does. `smallest` is what the request got;
/// its micro-batch is the user's where `hasMicroBatch`.
std::string findWayOut(const PlanRequest &request, const PlanResult &smallest,
                       bool hasMicroBatch, FitsRequest fits);

} // namespace tts

#endif // TTS_LIB_PIPELINES_WAYOUT_H
