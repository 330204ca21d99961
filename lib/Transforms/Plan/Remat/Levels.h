//===- Levels.h - kept sets at rising prices of a byte -------------------===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_LEVELS_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_LEVELS_H

#include "tts/Transforms/Plan/Remat.h"

namespace tts::plan {

/// Which values are kept, by operation.
using RematKept = std::vector<char>;

/// Kept sets from "every value that backward reads" over those that are
/// cheapest at some price of a byte to "nothing that can be computed again",
/// each different from the one before.
std::vector<RematKept> findRematLevels(const RematProblem &problem);

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_LEVELS_H
