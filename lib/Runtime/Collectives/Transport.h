//===- Transport.h - messages between ranks ------------------------------===//
//
// What the algorithms over ranks stand on: MPI, or threads in a test. A
// transfer is a message out and one in. Two may be under way at a time for
// arrays, so that arithmetic runs beside them, and one for numbers; these two
// uses may come from two threads. Groups of ranks have slots of their own, so
// that their messages are never taken for others'.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_TRANSPORT_H
#define TTS_RUNTIME_COLLECTIVES_TRANSPORT_H

#include <atomic>
#include <cstdint>
#include <vector>

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
  static constexpr int groups = 3, slotsOfGroup = 3, slotOfNumbers = 2;
  static constexpr int slots = groups * slotsOfGroup;
  /// Begins a transfer in one of the slots; nothing is sent or awaited for 0
  /// bytes. Both sides of a message use the same slot.
  virtual void start(int slot, const Transfer &transfer) = 0;
  /// Returns when both messages are through.
  virtual void wait(int slot) = 0;

  /// Begins a message of its own, which goes on while this rank computes; the
  /// bytes must stay until `finishPost` of the same outbox, a small number.
  virtual void post(int outbox, int to, int channel, const void *data,
                    uint64_t bytes) = 0;
  /// Returns when the outbox's message, if there is one, is through.
  virtual void finishPost(int outbox) = 0;
  /// Returns when the next message of the channel is there.
  virtual void receive(int from, int channel, void *data, uint64_t bytes) = 0;
  /// These ranks (this one among them) post each other so many messages of
  /// every size, before any is received: what that allocates is allocated now.
  virtual void rehearsePosts(const std::vector<int> &members, int ahead) {}

  /// Tells every rank that this one ends with an error.
  virtual void announceFailure(int exitCode) {}

  /// Of payload, so far.
  uint64_t bytesSent() const { return sent; }

protected:
  std::atomic<uint64_t> sent{0};
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_TRANSPORT_H
