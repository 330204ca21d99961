//===- EventFile.h - scalars in TensorBoard's format ---------------------===//
//
// One event file per start of a run, named so that TensorBoard reads them in
// the order of their starts. All memory is taken when the file is opened; a
// record is one write(2).
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_EVENTFILE_H
#define TTS_RUNTIME_TRAIN_EVENTFILE_H

#include "Runtime/IO/File.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tts::rt {

/// CRC-32C (Castagnoli) of some bytes.
uint32_t crc32c(const void *data, size_t bytes);

/// How TensorBoard's records store it.
inline uint32_t maskedCrc32c(const void *data, size_t bytes) {
  uint32_t crc = crc32c(data, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// Bytes of protocol buffers, written one after the other.
using Encoded = std::string;

class EventFile {
public:
  /// Writes nowhere.
  EventFile() = default;

  /// Begins a file in `directory`: events of older ones from `firstStep` on
  /// are void. No record may hold more than these `tags`, each once.
  EventFile(const std::string &directory, int64_t firstStep,
            const std::vector<std::string> &tags);

  bool isOpen() const { return file.isOpen(); }

  /// One record: begin, a scalar per value, end.
  void begin(int64_t step);
  void scalar(const std::string &tag, double value);
  void end();

private:
  void write();

  File file;
  Encoded value, summary, event, record; ///< each holds the one before it
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_EVENTFILE_H
