//===- EarlySumsTest.cpp - gradients are summed while backward runs ------===//

#include "Runtime/Device/Cpu/EarlySums.h"
#include "TableBuilder.h"
#include "ThreadTransport.h"
#include <gtest/gtest.h>

using namespace tts::rt;
using namespace tts::test;

namespace {

void nothing(void *const *, int64_t, int64_t) {}

/// Two gradients of 1.25 MiB, so parts of their own. Backward of bucket 0 is
/// through with `late` at its third entry and with `early` at its first, that
/// of bucket 1 with `early` at its last.
struct Example {
  static constexpr uint64_t elements = 5 << 16, bytes = 4 * elements;
  TableBuilder builder;
  std::vector<uint64_t> blob;

  explicit Example(int buckets = 2) {
    Slot late = builder.buffer("late", TTS_CLASS_GRADIENTS, bytes);
    Slot early = builder.buffer("early", TTS_CLASS_GRADIENTS, bytes);
    Slot room =
        builder.buffer("room", TTS_CLASS_COLLECTIVES, 1 << 16, TTS_BYTES);
    builder.program("backward", TTS_PROGRAM_BACKWARD, 0);
    builder.kernel("first", nothing, 1, {updates(early)});
    builder.kernel("second", nothing, 1, {updates(late)});
    builder.kernel("third", nothing, 1, {reads(late), writes(room)});
    if (buckets > 1) {
      builder.program("backward", TTS_PROGRAM_BACKWARD, 1);
      builder.kernel("second", nothing, 1, {updates(late)});
      builder.kernel("first", nothing, 1, {updates(early)});
    }
    builder.program("update", TTS_PROGRAM_UPDATE, TTS_NO_BUCKET);
    builder.library("rt.all_reduce",
                    {updates(late), updates(early), writes(room)}, {});
    blob = builder.build(nlohmann::json::object());
  }
};

/// One rank: its arena and the sums on it.
struct Rank {
  Table table;
  std::vector<char> arena;
  std::vector<void *> operands;
  EarlySums sums;

  Rank(const Example &example, Transport &transport, bool alike = true)
      : table(example.blob.data()), arena(example.builder.arenaBytes()),
        operands(findOperands()),
        sums(table, entry(), operands.data(), transport, alike) {}

  const TtsEntry &entry() const {
    return table.entries[table.entries.size() - 1];
  }
  std::vector<void *> findOperands() {
    std::vector<void *> found;
    for (uint32_t i = 0; i < entry().num_operands; ++i)
      found.push_back(arena.data() +
                      table.operands[entry().first_operand + i].offset);
    return found;
  }
  void fill(int gradient, float value) {
    float *data = static_cast<float *>(operands[size_t(gradient)]);
    std::fill_n(data, Example::elements, value);
  }
  void expect(int gradient, float value) {
    const float *data = static_cast<float *>(operands[size_t(gradient)]);
    for (uint64_t i = 0; i < Example::elements; ++i)
      ASSERT_EQ(data[i], value) << "element " << i;
  }
};

/// Every update sums once, however far the thread is when it is asked, and
/// whether a rank had a last backward at all.
TEST(EarlySums, EverythingIsSummedOnceAndNotTooEarly) {
  Example example;
  onRanks(3, [&](int rank, std::unique_ptr<Transport> transport) {
    Rank own(example, *transport);
    for (int update = 0; update < 6; ++update) {
      bool hasBackward = rank != update % 4; // in some updates all have
      own.fill(0, -1000);
      own.fill(1, -1000);
      if (hasBackward) {
        uint32_t bucket = uint32_t(rank + update) % 2;
        own.sums.begin(bucket);
        // What an entry writes is there when it is told, and not before.
        for (uint32_t e = 0; e < (bucket ? 2u : 3u); ++e) {
          bool isLate = bucket ? e == 0 : e == 1;
          if (e < 2)
            own.fill(isLate ? 0 : 1, float(10 * rank + update));
          if (rank == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
          own.sums.advance(e + 1);
        }
      } else {
        own.fill(0, float(10 * rank + update));
        own.fill(1, float(10 * rank + update));
      }
      if (rank == 2) // the thread is done before it is asked
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      own.sums.finish();
      own.expect(0, float(30 + 3 * update));
      own.expect(1, float(30 + 3 * update));
    }
  });
}

/// Bucket 0's backward alone ends in the other order, so its rank's table would
/// have the parts the other way round.
TEST(EarlySums, RanksOfDifferentTablesSumInOneOrder) {
  onRanks(2, [&](int rank, std::unique_ptr<Transport> transport) {
    Example example(rank == 0 ? 2 : 1);
    Rank own(example, *transport, /*alike=*/false);
    own.fill(0, 1);
    own.fill(1, float(2 + rank));
    own.sums.begin(0);
    own.sums.advance(1); // `early`, the last operand
    for (int tries = 0; transport->bytesSent() < Example::bytes; ++tries) {
      ASSERT_LT(tries, 5000) << "nothing is sent while backward runs";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    own.sums.advance(3);
    own.sums.finish();
    own.expect(0, 2);
    own.expect(1, 5);
  });
}

TEST(EarlySums, SumsBeginBeforeBackwardEnds) {
  Example example;
  onRanks(2, [&](int, std::unique_ptr<Transport> transport) {
    Rank own(example, *transport);
    own.fill(0, 1);
    own.fill(1, 2);
    // The parts stand in the order of bucket 1's backward: `late` first.
    own.sums.begin(1);
    own.sums.advance(1);
    for (int tries = 0; transport->bytesSent() < Example::bytes; ++tries) {
      ASSERT_LT(tries, 5000) << "nothing is sent while backward runs";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(transport->bytesSent(), Example::bytes);
    own.sums.advance(2);
    own.sums.finish();
    own.expect(0, 2);
    own.expect(1, 4);
  });
}

} // namespace
