//===- Problem.h - a packing problem in canonical coordinates ---*- C++ -*-===//
//
// Time shrunk to sections (the maximal sets of items live together), bytes to
// units of the common alignment.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_PACKING_PROBLEM_H
#define TTS_LIB_TRANSFORMS_MEMORY_PACKING_PROBLEM_H

#include "tts/Transforms/Memory/Packing.h"

namespace tts::packing {

/// An item over sections [begin, end), in units.
struct Span {
  int32_t begin;
  int32_t end;
  int64_t size;
  int64_t alignment;
  int64_t fixedOffset;
  int32_t source; ///< index in the caller's items
};

struct Problem {
  std::vector<Span> spans;
  int32_t numSections = 0;
  int64_t lowerBound = 0;
};

/// Offsets by span, in units.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t height = INT64_MAX;
};

inline int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The greatest common divisor of the alignments and fixed offsets.
int64_t commonUnit(const std::vector<Item> &items);

/// The problem of all items that take space.
Problem makeProblem(const std::vector<Item> &items, int64_t unit);

/// Renumbers the sections of `spans` (any integer times) and takes the bound.
Problem canonicalize(std::vector<Span> spans);

/// The sums of live sizes.
std::vector<int64_t> sectionLoads(const Problem &problem);

/// Greedy placements in several orders; stops at `target`.
Placement packGreedy(const Problem &problem, int64_t target);

/// Placements that begin with the fullest sections, exactly packed.
void packCoreFirst(const Problem &problem, int64_t target,
                   const Options &options, Placement &best);

/// Takes a problem without fixed offsets apart and packs the parts, by greedy
/// orders and by search.
Placement packByParts(const Problem &problem, int64_t target,
                      const Options &options);

/// Moves the items at the top to the front of the order, again and again.
void improveBySqueakyWheel(const Problem &problem, int64_t target,
                           const Options &options, Placement &best);

/// Searches for a placement of height at most `target` within `work` steps.
void searchForTarget(const Problem &problem, int64_t target, int64_t work,
                     Placement &best);

/// Searches for lower and lower placements than `best` where `target` itself
/// was not reached.
void searchByBisection(const Problem &problem, int64_t target, int64_t work,
                       Placement &best);

/// The largest load that each span meets.
std::vector<int64_t> contention(const Problem &problem);

/// Spans by index, first the most important: the static orders to try.
enum class Order { Size, Area, Length, Contention, Begin };
std::vector<int32_t> orderOf(const Problem &problem, Order order);

/// Places the spans one by one at the lowest (or best-fitting) free offset.
Placement placeInOrder(const Problem &problem,
                       const std::vector<int32_t> &order, bool bestFit);

} // namespace tts::packing

#endif // TTS_LIB_TRANSFORMS_MEMORY_PACKING_PROBLEM_H
