//===- ByteMap.h - who owns each byte, and is it defined --------*- C++ -*-===//
//
// A map from intervals of bytes to (owner, defined).
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_BYTEMAP_H
#define TTS_LIB_CHECK_BYTEMAP_H

#include <cstdint>
#include <map>
#include <optional>

namespace tts::check {

class ByteMap {
public:
  static constexpr uint32_t nobody = UINT32_MAX;
  struct State {
    uint32_t owner = nobody;
    bool defined = false;
  };

  /// The bytes [begin, end) take a new state.
  void assign(uint64_t begin, uint64_t end, State state) {
    splitAt(begin);
    splitAt(end);
    runs.erase(runs.lower_bound(begin), runs.lower_bound(end));
    runs[begin] = {end, state};
  }

  struct Flaw {
    uint64_t byte;
    State state;
  };
  /// The first byte of [begin, end) that is not `owner`'s or not defined.
  std::optional<Flaw> findFlaw(uint64_t begin, uint64_t end,
                               uint32_t owner) const {
    auto run = runs.upper_bound(begin);
    if (run != runs.begin())
      --run;
    for (uint64_t at = begin; at < end;) {
      if (run == runs.end() || run->first > at)
        return Flaw{at, {}};
      if (run->second.end > at) {
        const State &state = run->second.state;
        if (state.owner != owner || !state.defined)
          return Flaw{at, state};
        at = run->second.end;
      }
      ++run;
    }
    return std::nullopt;
  }

private:
  struct Run {
    uint64_t end;
    State state;
  };
  std::map<uint64_t, Run> runs; ///< by first byte, disjoint

  void splitAt(uint64_t at) {
    auto run = runs.lower_bound(at);
    if (run == runs.begin())
      return;
    --run;
    if (run->second.end <= at)
      return;
    runs[at] = run->second;
    run->second.end = at;
  }
};

} // namespace tts::check

#endif // TTS_LIB_CHECK_BYTEMAP_H
