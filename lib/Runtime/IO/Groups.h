//===- Groups.h - groups of shards that are summed apart -----------------===//
//
// A sum over an update's micro-batches is rounded in some order. Where that
// order must not depend on the number of ranks, the shards form a fixed number
// of groups; each is summed by itself, and their sums are added as a tree:
// group g with the one half of them away, and so on. Ranks go on with the same
// tree, so that one, two and four of them have the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_GROUPS_H
#define TTS_RUNTIME_IO_GROUPS_H

#include "Runtime/IO/Order.h"

namespace tts::rt {

/// The groups of a rank, in the order in which neighbours are added; of one
/// group, the rank's share itself.
std::vector<Share> groupsOf(const Share &rank, int groups);

/// values[group][i]: row 0 becomes the sum of all, neighbours first. Their
/// number is a power of two.
void addNeighbours(double *values, size_t groups, size_t count);

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_GROUPS_H
