//===- Search.h - exact search for a placement under a height ---*- C++ -*-===//
//
// One attempt of the search, and how an attempt orders what it tries.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_PACKING_SEARCH_H
#define TTS_LIB_TRANSFORMS_MEMORY_PACKING_SEARCH_H

#include "Problem.h"

namespace tts::packing {

enum class Outcome { Placed, Impossible, OutOfWork };

/// The valley of the skyline to decide next.
enum class ValleyPick { Lowest, Tightest, FewestChoices };

struct Strategy {
  std::vector<int32_t> order; ///< spans, first those to try first
  ValleyPick pick = ValleyPick::Lowest;
};

/// Looks for a placement of height at most `capacity`; takes its steps from
/// `work`.
Outcome searchSkyline(const Problem &problem, int64_t capacity,
                      const Strategy &strategy, int64_t &work,
                      std::vector<int64_t> &offsets);

} // namespace tts::packing

#endif // TTS_LIB_TRANSFORMS_MEMORY_PACKING_SEARCH_H
