//===- TableBuilder.h - makes step tables by hand ------------------------===//
//
// What the compiler writes, without a compiler: buffers one after the other,
// programs as lists of entries, a manifest by hand.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_RUNTIME_TABLEBUILDER_H
#define TTS_TEST_RUNTIME_TABLEBUILDER_H

#include "tts-runtime/Abi.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tts::test {

/// A buffer of the arena.
struct Slot {
  uint32_t index;
  uint64_t offset, size;
  TtsDType dtype = TTS_F32;

  nlohmann::json slice() const { return {{"offset", offset}, {"size", size}}; }
};

/// A tensor of the manifest that lies there.
nlohmann::json tensor(const std::string &name, const char *dtype,
                      const std::vector<int> &shape, Slot slot);

struct Use {
  Slot slot;
  uint32_t access;
};
inline Use reads(Slot slot) { return {slot, TTS_READ}; }
inline Use writes(Slot slot) { return {slot, TTS_WRITE}; }
inline Use updates(Slot slot) { return {slot, TTS_READ_WRITE}; }

class TableBuilder {
public:
  Slot buffer(const std::string &name, TtsClass klass, uint64_t bytes,
              TtsDType dtype = TTS_F32);
  void program(const std::string &name, TtsProgramKind kind, uint32_t bucket,
               uint32_t slot = 0);
  /// Appends to the last program.
  void kernel(const std::string &name, TtsKernel kernel, uint32_t range,
              const std::vector<Use> &operands);
  void library(const std::string &name, const std::vector<Use> &operands,
               const std::vector<int64_t> &scalars);

  /// The blob, eight-byte aligned; arena_bytes and the like are filled in.
  std::vector<uint64_t> build(nlohmann::json manifest) const;
  uint64_t arenaBytes() const { return arena; }

  std::vector<TtsKernel> kernels;

private:
  uint32_t text(const std::string &name);
  void entry(uint32_t function, const std::string &name, uint32_t range,
             const std::vector<Use> &operands,
             const std::vector<int64_t> &scalars);
  uint32_t function(const std::string &name, TtsFunctionKind kind,
                    TtsKernel kernel);

  std::vector<TtsFunction> functions;
  std::vector<TtsProgram> programs;
  std::vector<TtsEntry> entries;
  std::vector<TtsOperand> operands;
  std::vector<int64_t> scalars;
  std::vector<TtsBuffer> buffers;
  std::string strings = std::string(1, '\0');
  uint64_t arena = 0;
};

} // namespace tts::test

#endif // TTS_TEST_RUNTIME_TABLEBUILDER_H
