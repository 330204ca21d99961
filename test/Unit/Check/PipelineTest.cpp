// A stage's slots and messages, and all stages of the toy pipeline together:
// what is sound holds, each fault planted in it is found.
#include "../Runtime/ToyStages.h"
#include "Messages.h"
#include "SmallTable.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tts::check;

namespace {

/// All but that the other stage's table is missing.
std::string faults(const SmallTable &table) {
  const Report report = table.check();
  const bool isAlone =
      report.errors().size() == 1 &&
      report.errors()[0].find("pipeline: table 0 is not of its stage") !=
          std::string::npos;
  return isAlone ? "" : "faults:\n" + all(report);
}

SmallTable stageTable() { return SmallTable(false, /*isStage=*/true); }

uint32_t programOf(const SmallTable &table, uint32_t kind, uint32_t bucket,
                   uint32_t slot) {
  for (uint32_t p = 0; p < table.programs.size(); ++p)
    if (table.programs[p].kind == kind && table.programs[p].bucket == bucket &&
        table.programs[p].slot == slot)
      return p;
  return UINT32_MAX;
}

/// An entry that calls this function in a program.
TtsEntry &entryOf(SmallTable &table, uint32_t program,
                  const std::string &function) {
  const TtsProgram &p = table.programs[program];
  for (uint32_t e = 0; e < p.num_entries; ++e) {
    TtsEntry &entry = table.entries[p.first_entry + e];
    if (table.strings.c_str() + table.functions[entry.function].name ==
        function)
      return entry;
  }
  throw std::logic_error("no such entry");
}

/// A buffer goes elsewhere, with all that is said about it.
void move(SmallTable &table, uint32_t buffer, uint64_t offset) {
  for (TtsOperand &operand : table.operands)
    if (operand.buffer == buffer)
      operand.offset += offset - table.buffers[buffer].offset;
  table.buffers[buffer].offset = offset;
  table.listBuffers();
}

TEST(Stage, SmallTableHolds) { EXPECT_EQ(faults(stageTable()), ""); }

TEST(Stage, WhatWaitsInAnotherSlotIsNotTouched) {
  // Slot 1's stash of the first bucket, beyond slot 0's of that bucket, but in
  // that of the second: no two programs of one bucket meet there.
  SmallTable table = stageTable();
  move(table, table.buffer("later0"), 2048);
  EXPECT_FOUND(table, "which waits in another slot");
  // And in one bucket, where both are live on the timeline.
  SmallTable same = stageTable();
  move(same, same.buffer("later1"), 1920);
  EXPECT_FOUND(same, "which waits in another slot");
  EXPECT_FOUND(same, "while both are live");
}

TEST(Stage, EverySlotIsThereOnce) {
  SmallTable table = stageTable();
  for (uint32_t kind : {TTS_PROGRAM_FORWARD, TTS_PROGRAM_BACKWARD})
    table.programs[programOf(table, kind, 0, 1)].slot = 0;
  EXPECT_FOUND(table, "a second program forward[0]");
  SmallTable beyond = stageTable();
  for (uint32_t kind : {TTS_PROGRAM_FORWARD, TTS_PROGRAM_BACKWARD})
    beyond.programs[programOf(beyond, kind, 1, 1)].slot = 2;
  EXPECT_FOUND(beyond, "no program backward[1].1");
  SmallTable other = stageTable();
  other.programs[programOf(other, TTS_PROGRAM_EVAL, 1, 0)].slot = 1;
  EXPECT_FOUND(other, "has no such bucket or slot");
  // A stash of one slot, taken by another.
  SmallTable crossed = stageTable();
  crossed.buffers[crossed.buffer("stash0")].last_program =
      programOf(crossed, TTS_PROGRAM_BACKWARD, 0, 1);
  crossed.listBuffers();
  EXPECT_FOUND(crossed, "outlives its program and is no stash");
}

TEST(Stage, MessagesAreSound) {
  auto changed = [](auto change) {
    SmallTable table = stageTable();
    TtsEntry &send =
        entryOf(table, programOf(table, TTS_PROGRAM_FORWARD, 0, 1), "rt.send");
    change(table, send);
    return table;
  };
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.scalars[send.first_scalar] = 0;
               }),
               "a message to no other stage");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.scalars[send.first_scalar + 1] = 9;
               }),
               "has other messages than slot 0");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.scalars[send.first_scalar + 1] = 20;
               }),
               "channel 20 is ");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.scalars[send.first_scalar + 1] = TTS_MAX_CHANNELS;
               }),
               "a message of no stage or channel");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.operands[send.first_operand + 1].size -= 64;
               }),
               "the outbox of a message ");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 t.operands[send.first_operand].access = TTS_READ_WRITE;
               }),
               "the value of a message ");
  EXPECT_FOUND(changed([](SmallTable &t, TtsEntry &send) {
                 const TtsBuffer &ema = t.buffers[t.buffer("w.ema")];
                 TtsOperand &outbox = t.operands[send.first_operand + 1];
                 outbox.offset = ema.offset;
                 outbox.buffer = t.buffer("w.ema");
               }),
               "no persistent buffer of class collectives");
  SmallTable busy = stageTable();
  busy.addOperand(busy.program("update", TTS_NO_BUCKET), 2,
                  {busy.buffer("outbox"), TTS_WRITE});
  EXPECT_FOUND(busy, "touches an outbox");
  SmallTable alone = stageTable();
  alone.manifest.erase("stages");
  EXPECT_FOUND(alone, "forward[0].1 has no such bucket or slot");
}

TEST(Stage, SumsRunOverTheRightRanks) {
  SmallTable table = stageTable();
  const uint32_t update = table.program("update", TTS_NO_BUCKET);
  TtsEntry &sum = entryOf(table, update, "rt.all_reduce");
  table.scalars[sum.first_scalar] = TTS_AMONG_REPLICAS;
  EXPECT_FOUND(table, "makes the norm of one stage's gradients");
  table.scalars[sum.first_scalar] = 3;
  EXPECT_FOUND(table, "an all_reduce over ranks of an unknown kind");
  // Two replicas: the gradient must be summed over them.
  SmallTable replicas = stageTable();
  replicas.manifest["ranks"] = 4;
  EXPECT_FOUND(replicas, "over the ranks 0 times, not 1");
  // And over no others: squares become the gradient.
  SmallTable wrong = stageTable();
  TtsEntry &over = entryOf(wrong, update, "rt.all_reduce");
  const TtsBuffer &gradient = wrong.buffers[wrong.buffer("w.gradient")];
  TtsOperand &operand = wrong.operands[over.first_operand];
  operand.offset = gradient.offset;
  operand.size = gradient.size;
  operand.buffer = wrong.buffer("w.gradient");
  EXPECT_FOUND(wrong, "over other ranks than the replicas of its stage");
}

TEST(Stage, ParametersOfOtherStagesHaveNoBytesHere) {
  SmallTable table = stageTable();
  table.manifest["parameters"].push_back(
      {{"name", "v"}, {"shape", {64}}, {"dtype", "F32"}, {"stage", 1}});
  EXPECT_EQ(faults(table), "");
  table.manifest["parameters"].back()["moment1"] =
      table.manifest["parameters"][0]["moment1"];
  EXPECT_FOUND(table, "is another stage's but has moment1");
  SmallTable own = stageTable();
  own.manifest["parameters"].push_back(
      {{"name", "v"}, {"shape", {64}}, {"dtype", "F32"}});
  EXPECT_FOUND(own, "parameter v has no bytes in the arena");
  SmallTable nowhere = stageTable();
  nowhere.manifest["parameters"][0]["stage"] = 2;
  EXPECT_FOUND(nowhere, "is on no stage");
}

/// The toy's tables, read.
struct Pipeline {
  std::vector<Table> tables;
  std::vector<Manifest> manifests;
  std::vector<Programs> programs;
  Report report;

  explicit Pipeline(int stages, int mostSlots = 99)
      : tables(size_t(stages)), manifests(tables.size()),
        programs(tables.size()) {
    for (int s = 0; s < stages; ++s) {
      tts::test::ToyStagesOptions options;
      options.stages = stages;
      options.stage = s;
      options.mostSlots = mostSlots;
      const tts::test::Toy toy = tts::test::makeToyStage(options);
      Bytes blob(toy.blobBytes());
      std::memcpy(blob.data(), toy.blob.data(), blob.size());
      EXPECT_TRUE(readTable(blob, report, tables[size_t(s)]));
      EXPECT_TRUE(
          readManifest(tables[size_t(s)], report, manifests[size_t(s)]));
      EXPECT_TRUE(findPrograms(tables[size_t(s)], manifests[size_t(s)], report,
                               programs[size_t(s)]))
          << all(report);
    }
  }

  std::string check(bool each = false) {
    std::vector<Stage> stages;
    for (size_t s = 0; s < tables.size(); ++s) {
      stages.push_back({&tables[s], &manifests[s], &programs[s]});
      if (each)
        checkMessages(stages.back(), report);
    }
    checkPipeline(stages, report);
    return all(report);
  }

  /// The message of a channel that has this end in a stage's table.
  TtsEntry &message(size_t stage, const std::string &function, int which = 0) {
    Table &table = tables[stage];
    for (TtsEntry &entry : table.entries)
      if (table.name(table.functions[entry.function].name) == function &&
          which-- == 0)
        return entry;
    throw std::logic_error("no such message");
  }
};

TEST(Pipeline, TheToyHolds) {
  for (int stages : {1, 2, 4})
    for (int slots : {1, 2, 99})
      EXPECT_EQ(Pipeline(stages, slots).check(/*each=*/true), "") << stages;
}

#define EXPECT_SAID(pipeline, words)                                           \
  do {                                                                         \
    const std::string said = (pipeline).check();                               \
    EXPECT_NE(said.find(words), std::string::npos) << said;                    \
  } while (false)

TEST(Pipeline, BothEndsOfAChannelAgree) {
  Pipeline bytes(2);
  bytes.tables[1].operands[bytes.message(1, "rt.recv").first_operand].size -= 4;
  EXPECT_SAID(bytes, "has other ends or bytes");
  Pipeline deaf(2); // another channel than the other end's
  Table &table = deaf.tables[1];
  for (TtsEntry &entry : table.entries)
    if (table.name(table.functions[entry.function].name) == "rt.recv")
      table.scalars[entry.first_scalar + 1] += 100;
  EXPECT_SAID(deaf, "waits for ever");
}

TEST(Pipeline, NobodyWaitsForEver) {
  // The first stage wants the gradient before it has sent what it is of.
  Pipeline crossed(2);
  Table &table = crossed.tables[0];
  for (const Programs::Bucket &bucket : crossed.programs[0].buckets)
    for (size_t slot : {0, 1}) {
      const TtsProgram &forward = table.programs[bucket.forward[slot]];
      const TtsProgram &backward = table.programs[bucket.backward[slot]];
      std::swap(table.entries[forward.first_entry + forward.num_entries - 1],
                table.entries[backward.first_entry]);
    }
  EXPECT_SAID(crossed, "waits for ever");
  // More forwards ahead than the stage before ever begins.
  Pipeline greedy(2, 1);
  greedy.manifests[1].stages.slots = 2;
  EXPECT_SAID(greedy, "has more slots than the one before");
  // Sent, and nobody takes it.
  Pipeline lost(2);
  TtsEntry &receive = lost.message(1, "rt.recv");
  receive.function = lost.message(1, "scale0").function;
  EXPECT_SAID(lost, "channel 0 is sent but not received");
}

TEST(Pipeline, EveryParameterIsOneStages) {
  Pipeline two(2);
  two.manifests[1].places[0].stage = 1;
  EXPECT_SAID(two, "is another elsewhere");
  Pipeline none(2);
  none.manifests[0].places[0].isHere = false;
  EXPECT_SAID(none, "is not on stage 0, which updates it");
  Pipeline fewer(2);
  fewer.manifests[1].places.pop_back();
  EXPECT_SAID(fewer, "another number of parameters");
  Pipeline swapped(2);
  std::swap(swapped.manifests[0].stages, swapped.manifests[1].stages);
  EXPECT_SAID(swapped, "is not of its stage");
}

} // namespace
