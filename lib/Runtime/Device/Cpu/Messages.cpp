//===- Messages.cpp - rt.send, rt.recv as the runtime does them -----------===//

#include "Runtime/Device/Cpu/Messages.h"
#include <climits>
#include <cstring>

namespace tts::rt {

namespace {

class Send : public Message {
public:
  /// Whoever has the same outbox waits for the message before.
  Send(Transport &stages, int to, int channel, int outbox, uint64_t bytes)
      : stages(stages), to(to), number(channel), box(outbox), bytes(bytes) {}

  void run(dnnl_stream_t, void *const *operands) const override {
    stages.finishPost(box);
    std::memcpy(operands[1], operands[0], bytes);
    stages.post(box, to, number, operands[1], bytes);
  }
  void runOne(dnnl_stream_t, void *const *) const override {}
  const char *implementation() const override { return "send"; }
  int outbox() const override { return box; }
  void finish() const override { stages.finishPost(box); }
  int channel() const override { return number; }

private:
  Transport &stages;
  int to, number, box;
  uint64_t bytes;
};

class Receive : public Message {
public:
  Receive(Transport &stages, int from, int channel, uint64_t bytes)
      : stages(stages), from(from), number(channel), bytes(bytes) {}

  void run(dnnl_stream_t, void *const *operands) const override {
    stages.receive(from, number, operands[0], bytes);
  }
  void runOne(dnnl_stream_t, void *const *) const override {}
  const char *implementation() const override { return "receive"; }
  int channel() const override { return number; }

private:
  Transport &stages;
  int from, number;
  uint64_t bytes;
};

} // namespace

std::unique_ptr<Message> makeMessage(const std::string &function,
                                     const Table &table, const TtsEntry &entry,
                                     World *world, const std::string &where) {
  bool sends = function == "rt.send";
  if (!sends && function != "rt.recv")
    return nullptr;
  if (!world || world->stages() < 2)
    refuseEntry(where, "it speaks to another stage, but there is one");
  if (entry.num_operands != (sends ? 2u : 1u) ||
      entry.num_scalars != TTS_MESSAGE_NUM_SCALARS)
    refuseEntry(where, "it has another number of operands or scalars than a "
                       "message");
  const int64_t *scalars = table.scalars.first + entry.first_scalar;
  int64_t peer = scalars[TTS_MESSAGE_STAGE],
          channel = scalars[TTS_MESSAGE_CHANNEL];
  if (peer < 0 || peer >= world->stages() || peer == world->stage() ||
      channel < 0 || channel >= TTS_MAX_CHANNELS)
    refuseEntry(where, "there is no such stage or channel");
  const TtsOperand *operands = table.operands.first + entry.first_operand;
  uint64_t bytes = operands[0].size;
  if (bytes > INT_MAX)
    refuseEntry(where,
                "a message of " + std::to_string(bytes) + " bytes is too long");
  Transport &stages = *world->messages(Among::Stages);
  if (!sends)
    return std::make_unique<Receive>(stages, int(peer), int(channel), bytes);
  if (operands[1].size < bytes ||
      table.buffers[operands[1].buffer].program != TTS_NO_BUCKET)
    refuseEntry(where, "its outbox is too small or not its own");
  return std::make_unique<Send>(stages, int(peer), int(channel),
                                int(operands[1].buffer), bytes);
}

} // namespace tts::rt
