//===- Transport.h - messages between ranks ------------------------------===//
//
// What the algorithms over ranks stand on: MPI, or threads in a test. Two
// transfers may be under way at a time, each a message out and one in, so that
// arithmetic runs beside them.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_TRANSPORT_H
#define TTS_RUNTIME_COLLECTIVES_TRANSPORT_H

#include <cstdint>

namespace tts::rt {

class Transport {
public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  struct Transfer {
    int to;
    const void *out;
    uint64_t outBytes;
    int from;
    void *in;
    uint64_t inBytes;
  };
  /// Begins a transfer in one of two slots; nothing is sent or awaited for 0
  /// bytes. Both sides of a message use the same slot.
  virtual void start(int slot, const Transfer &transfer) = 0;
  /// Returns when both messages are through.
  virtual void wait(int slot) = 0;
  /// Tells every rank that this one ends with an error.
  virtual void announceFailure(int exitCode) {}

  /// Of payload, so far.
  uint64_t bytesSent() const { return sent; }

protected:
  uint64_t sent = 0;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_TRANSPORT_H
