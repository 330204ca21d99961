//===- Messages.h - rt.send, rt.recv: values between pipeline stages ------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_MESSAGES_H
#define TTS_RUNTIME_DEVICE_CPU_MESSAGES_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Device/Cpu/LibraryCall.h"
#include <memory>

namespace tts::rt {

/// One value to or from a stage of the same replica. `run` of a send returns
/// when the value is copied, that of a receive when it is there. runOne does
/// nothing: stages have different tables, so they rehearse channel by channel.
class Message : public LibraryCall {
public:
  virtual int channel() const = 0;
  /// A number of its own; a receive's is -1.
  virtual int outbox() const { return -1; }
  /// Returns when what was sent is through.
  virtual void finish() const {}
};

/// Throws Exit::Refused for a table that this runtime cannot serve; null where
/// `function` is neither of the two.
std::unique_ptr<Message> makeMessage(const std::string &function,
                                     const Table &table, const TtsEntry &entry,
                                     World *world, const std::string &where);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_MESSAGES_H
