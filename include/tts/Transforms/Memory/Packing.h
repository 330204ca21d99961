//===- Packing.h - static offset assignment --------------------*- C++ -*-===//
//
// Gives every buffer of a fixed schedule an offset in one arena, so that no two
// buffers live at the same time share a byte and the arena is as low as can be.
// Plain C++: no IR, no clock; the same items give the same layout everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TRANSFORMS_MEMORY_PACKING_H
#define TTS_TRANSFORMS_MEMORY_PACKING_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tts::packing {

/// A buffer: live over the half-open interval [begin, end) of time. An empty
/// interval or a size of zero conflicts with nothing.
struct Item {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size = 0;
  int64_t alignment = 64;
  int64_t fixedOffset = -1; ///< the offset to keep, or -1
};

/// Offsets by item, and the first byte above all of them.
struct Layout {
  std::vector<int64_t> offsets;
  int64_t height = 0;
};

/// How much work to spend. Work is counted in steps of the algorithms, never in
/// seconds: a limit means the same layout on every machine.
struct Options {
  /// Steps of exact search, some 4 x 10^7 a second; 0 turns it off.
  int64_t searchWork = 200'000'000;
  /// Rounds of squeaky-wheel reordering, each a greedy placement; fewer where
  /// the square of the number of items times the rounds would pass the limit.
  int64_t squeakyRounds = 40;
  int64_t squeakyWork = 4'000'000'000;
  /// A height that is good enough: stop there. The lower bound when negative.
  int64_t target = -1;
};

/// The most bytes live at one time: no layout can be lower.
int64_t maxLive(const std::vector<Item> &items);

/// A layout of `items`: the fullest sections first and exactly, then a search
/// of all, greedy orders and squeaky-wheel reordering, until the lower bound
/// holds.
Layout pack(const std::vector<Item> &items, const Options &options = {});

/// What is wrong with `layout`, in words, or nothing: two live items share
/// bytes, an offset is misaligned, not the fixed one, or above the height.
std::optional<std::string> findFault(const std::vector<Item> &items,
                                     const Layout &layout);

} // namespace tts::packing

#endif // TTS_TRANSFORMS_MEMORY_PACKING_H
