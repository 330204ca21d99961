//===- MessengerTest.cpp - collectives beside which other entries run ----===//

#include "Runtime/Device/Cpu/Messenger.h"
#include "Runtime/Device/Cpu/Executor.h"
#include "TableBuilder.h"
#include "ThreadTransport.h"
#include <chrono>
#include <gtest/gtest.h>
#include <numeric>

using namespace tts::rt;
using namespace tts::test;

namespace {

void nothing(void *const *, int64_t, int64_t) {}

/// Fills what it writes with twos.
void fill(void *const *operands, int64_t lo, int64_t hi) {
  std::fill(static_cast<float *>(operands[0]) + lo,
            static_cast<float *>(operands[0]) + hi, 2.0f);
}

/// sums[i] += whole[i]
void add(void *const *operands, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i)
    static_cast<float *>(operands[1])[i] +=
        static_cast<float *>(operands[0])[i];
}

constexpr uint64_t elements = 1000, bytes = 4 * elements;

struct Example {
  TableBuilder builder;
  Slot shard, other, whole, gradient, sums, room, aside;

  Example() {
    shard = builder.buffer("shard", TTS_CLASS_PARAMETERS, bytes / 2);
    other = builder.buffer("other", TTS_CLASS_PARAMETERS, bytes / 2);
    whole = builder.buffer("whole", TTS_CLASS_ACTIVATIONS, bytes);
    gradient = builder.buffer("gradient", TTS_CLASS_ACTIVATIONS, bytes);
    sums = builder.buffer("sums", TTS_CLASS_GRADIENTS, bytes / 2);
    room = builder.buffer("room", TTS_CLASS_COLLECTIVES, 1 << 10, TTS_BYTES);
    aside = builder.buffer("aside", TTS_CLASS_ACTIVATIONS, bytes);
    builder.program("forward", TTS_PROGRAM_FORWARD, 0);
    builder.library("rt.all_gather",
                    {reads(shard), writes(whole), writes(room)}, {2, 1});
    builder.kernel("fill", fill, elements, {writes(aside)});
    builder.kernel("fill", fill, elements, {writes(gradient)});
    builder.library("rt.reduce_scatter",
                    {updates(gradient), updates(sums), writes(room)},
                    {2, 1, 1});
    builder.kernel("reads", nothing, 1, {reads(shard), writes(aside)});
    builder.kernel("add", add, elements, {reads(whole), updates(aside)});
    builder.kernel("again", nothing, 1, {reads(whole), writes(aside)});
    builder.kernel("uses up", nothing, 1, {writes(gradient)});
    builder.kernel("overwrites", nothing, 1, {writes(shard)});
    builder.library("rt.all_gather",
                    {reads(other), writes(whole), writes(room)}, {2});
  }
};

TEST(Messenger, AnEntryWaitsForWhatItsBytesAreUsedBy) {
  Example example;
  auto blob = example.builder.build(nlohmann::json::object());
  Table table(blob.data());
  // Readers of what a gather reads do not wait, nor does anyone twice; the
  // last, beside which nothing runs, waits for the room.
  EXPECT_EQ(findWaits(table, table.programs[0]),
            (std::vector<uint32_t>{0, 0, 0, 0, 0, 1, 0, 2, 0, 0}));
}

/// Both ranks end with the whole and the sums, however late one of them is.
TEST(Messenger, NothingChangesButTheTime) {
  Example example;
  auto blob = example.builder.build(nlohmann::json::object());
  onRanks(2, [&](int rank, std::unique_ptr<Transport> transport) {
    Table table(blob.data());
    World world(std::move(transport));
    Arena arena(example.builder.arenaBytes());
    Executor executor(table, example.builder.kernels.data(), arena, 1, &world);
    for (int time = 0; time < 20; ++time) {
      auto at = [&](Slot slot) {
        return reinterpret_cast<float *>(arena.at(slot.offset));
      };
      std::fill_n(at(example.shard), elements / 2, float(10 * rank + time));
      std::fill_n(at(example.other), elements / 2, float(rank));
      std::fill_n(at(example.sums), elements / 2, 1.0f);
      if (rank == time % 3)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      executor.run(0);
      for (uint64_t i = 0; i < elements; ++i) {
        int owner = i < elements / 2 ? 0 : 1;
        ASSERT_EQ(at(example.aside)[i], float(2 + 10 * owner + time));
        ASSERT_EQ(at(example.whole)[i], float(owner));
      }
      for (uint64_t i = 0; i < elements / 2; ++i)
        ASSERT_EQ(at(example.sums)[i], 5.0f);
    }
  });
}

/// A call that ends when it is told, perhaps badly.
class Slow : public LibraryCall {
public:
  void run(dnnl_stream_t, void *const *) const override {
    while (!may)
      std::this_thread::yield();
    if (fails)
      throw std::runtime_error("cut off");
    ++calls;
  }
  void runOne(dnnl_stream_t, void *const *) const override {}
  const char *implementation() const override { return "test"; }
  std::atomic<bool> may{false}, fails{false};
  mutable std::atomic<int> calls{0};
};

TEST(Messenger, BeginReturnsAtOnceAndFinishWithAll) {
  Slow first, second;
  Messenger messenger(2);
  for (int time = 1; time <= 3; ++time) {
    messenger.begin(first);
    messenger.begin(second);
    EXPECT_EQ(first.calls, time - 1);
    first.may = true;
    messenger.wait(1);
    EXPECT_EQ(first.calls, time);
    EXPECT_EQ(second.calls, time - 1);
    second.may = true;
    messenger.finish();
    EXPECT_EQ(second.calls, time);
    first.may = second.may = false;
  }
}

TEST(Messenger, WhoWaitsHearsOfAFailure) {
  Slow call;
  call.may = call.fails = true;
  Messenger messenger(1);
  messenger.begin(call);
  EXPECT_THROW(messenger.wait(1), std::runtime_error);
}

} // namespace
