// The small table is accepted; each fault planted in it is found and named.
#include "SmallTable.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using tts::check::Bytes;
using tts::check::Report;

namespace {

TEST(Certificate, SmallTableHolds) {
  const SmallTable table;
  const Report report = table.check();
  EXPECT_TRUE(report.ok()) << all(report);
}

TEST(Certificate, EveryErrorIsOneLineWithPlaceAndAdvice) {
  SmallTable table;
  table.certificate["classes"]["ema"] = "a\nb";
  table.buffers[0].name = table.buffers[1].name;
  const Report report = table.check();
  EXPECT_GE(report.errors().size(), 2u);
  for (const std::string &line : report.errors()) {
    EXPECT_EQ(line.rfind("error: ", 0), 0u);
    EXPECT_NE(line.find("; "), std::string::npos);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Mutation, OffsetShiftedByAByte) {
  const SmallTable sound;
  for (size_t b = 0; b < sound.buffers.size(); ++b) {
    SmallTable table;
    table.buffers[b].offset += 1;
    EXPECT_FALSE(table.check().ok()) << b;
    // Also when certificate and operands follow.
    table.listBuffers();
    for (TtsOperand &operand : table.operands)
      operand.offset += operand.buffer == b;
    EXPECT_FOUND(table, "is no multiple of 64");
    SmallTable listed;
    listed.certificate["buffers"][b]["offset"] = listed.buffers[b].offset + 1;
    EXPECT_FOUND(listed, "is not the step table's");
  }
  for (size_t o = 0; o < sound.operands.size(); ++o) {
    SmallTable table; // its first byte is then read or written by nobody
    table.operands[o].offset += 1;
    EXPECT_FALSE(table.check().ok()) << o;
  }
}

TEST(Mutation, BuffersThatMeet) {
  SmallTable table;
  const uint32_t delta = table.buffer("delta");
  table.buffers[delta].offset = 1984; // into the stash, which it reads
  for (TtsOperand &operand : table.operands)
    if (operand.buffer == delta)
      operand.offset = 1984;
  table.listBuffers();
  EXPECT_FOUND(table, "while both are live");
  SmallTable states;
  states.buffers[states.buffer("w.ema")].offset = 768;
  states.listBuffers();
  EXPECT_FOUND(states, "while both are live");
}

TEST(Mutation, AnAccessRemoved) {
  const SmallTable sound;
  std::map<std::string, int> missed;
  for (uint32_t o = 0; o < sound.operands.size(); ++o) {
    SmallTable table;
    table.removeOperand(o);
    if (table.check().ok()) {
      EXPECT_EQ(sound.operands[o].access, uint32_t(TTS_READ)) << o;
      ++missed[sound.strings.c_str() +
               sound.buffers[sound.operands[o].buffer].name];
    }
  }
  // Only reads by a kernel that is called once, of lasting bytes or inside a
  // live range, leave no trace in the bytes. (They do in the file's hash.)
  const std::map<std::string, int> expected = {
      {"w", 4},    {"batch", 6}, {"stash0", 1},     {"stash1", 1},
      {"mel0", 1}, {"mel1", 1},  {"w.gradient", 2}, {"grad_norm", 1}};
  EXPECT_EQ(missed, expected);
}

TEST(Mutation, AWriteRemoved) {
  const SmallTable sound;
  for (uint32_t o = 0; o < sound.operands.size(); ++o)
    if (sound.operands[o].access & TTS_WRITE) {
      SmallTable table;
      table.operands[o].access = TTS_READ;
      EXPECT_FALSE(table.check().ok()) << o;
      if (o == 0) { // the only operand of `zero`
        EXPECT_FOUND(table, "writes nothing");
      }
      SmallTable shorter;
      const std::string name = shorter.strings.c_str() +
                               shorter.buffers[shorter.operands[o].buffer].name;
      if (shorter.operands[o].size < 8)
        continue;
      shorter.operands[o].size -= 4; // the last bytes are never written
      // The gemm takes a part of delta; its scratch nobody reads.
      if (name != "delta" && name != "gemm.scratch") {
        EXPECT_FALSE(shorter.check().ok()) << o;
      }
    }
}

TEST(Mutation, ADtypeChanged) {
  const SmallTable sound;
  std::map<uint32_t, int> calls;
  for (const TtsEntry &entry : sound.entries)
    ++calls[entry.function];
  for (const TtsEntry &entry : sound.entries)
    for (uint32_t i = 0; i < entry.num_operands; ++i) {
      SmallTable table;
      TtsOperand &operand = table.operands[entry.first_operand + i];
      operand.dtype = operand.dtype == TTS_F32 ? TTS_I32 : TTS_F32;
      const bool isGemm =
          sound.functions[entry.function].kind == TTS_FUNCTION_LIBRARY;
      if (isGemm) {
        EXPECT_FOUND(table, "does not hold what is expected there");
      } else if (calls[entry.function] > 1) {
        EXPECT_FOUND(table, "other operands than its kernel");
      }
      operand.dtype = TTS_BYTES + 1;
      EXPECT_FOUND(table, "has no known dtype");
      operand.dtype = sound.operands[entry.first_operand + i].dtype;
      operand.reserved = 1;
      EXPECT_FOUND(table, "has no known dtype");
    }
  SmallTable table; // four bytes of doubles
  for (TtsOperand &operand : table.operands)
    if (operand.size == 4)
      operand.dtype = TTS_F64;
  EXPECT_FOUND(table, "ends inside an element");
}

TEST(Mutation, AReadOfUndefinedBytes) {
  SmallTable table;
  for (TtsOperand &operand : table.operands)
    if (operand.buffer == table.buffer("delta") && operand.access == TTS_WRITE)
      operand.access = TTS_READ_WRITE;
  EXPECT_FOUND(table, "which nothing has defined");
  SmallTable batch; // bucket 0 reads what only bucket 1 loads
  for (TtsOperand &operand : batch.operands)
    if (operand.buffer == batch.buffer("batch") && operand.size == 128)
      operand.size = 256;
  EXPECT_FOUND(batch, "which nothing has defined");
}

TEST(Mutation, ABufferDropped) {
  const SmallTable sound;
  for (uint32_t b = 0; b < sound.buffers.size(); ++b) {
    SmallTable table;
    table.removeBuffer(b);
    EXPECT_FALSE(table.check().ok()) << b;
    SmallTable listed;
    listed.certificate["buffers"].erase(b);
    EXPECT_FOUND(listed, "buffers has");
  }
}

TEST(Mutation, SumsOff) {
  const SmallTable sound;
  for (const auto &[name, value] : sound.certificate["classes"].items())
    for (int64_t by : {-1, 1}) {
      SmallTable table;
      table.certificate["classes"][name] = value.get<int64_t>() + by;
      EXPECT_FOUND(table, "classes." + name);
      // A second class that makes the sum right again does not help.
      table.certificate["classes"]["unused"] = 384 - by;
      EXPECT_FALSE(name != "unused" && table.check().ok());
    }
  for (const char *key :
       {"peak_bytes", "arena_bytes", "budget_bytes", "lower_bound_bytes"})
    for (int64_t by : {-1, 1}) {
      SmallTable table;
      table.certificate[key] = table.certificate[key].get<int64_t>() + by;
      EXPECT_FOUND(table, key);
    }
  SmallTable over; // consistent, but over the budget
  over.manifest["budget_bytes"] = 3303;
  over.certificate["budget_bytes"] = 3303;
  EXPECT_FOUND(over, "is more than budget_bytes");
}

TEST(Mutation, EntriesSwapped) {
  const SmallTable sound;
  for (const TtsProgram &program : sound.programs)
    for (uint32_t e = 0; e + 1 < program.num_entries; ++e) {
      SmallTable table;
      TtsEntry &first = table.entries[program.first_entry + e];
      TtsEntry &second = table.entries[program.first_entry + e + 1];
      const uint32_t start = first.first_operand;
      std::vector<TtsOperand> moved(table.operands.begin() + start,
                                    table.operands.begin() + start +
                                        first.num_operands);
      table.operands.erase(table.operands.begin() + start,
                           table.operands.begin() + start + first.num_operands);
      table.operands.insert(table.operands.begin() + start +
                                second.num_operands,
                            moved.begin(), moved.end());
      std::swap(first, second);
      first.first_operand = start;
      second.first_operand = start + first.num_operands;
      // Two entries that do not depend on each other may swap; but the live
      // ranges then no longer fit the accesses, or the order was needed.
      const std::string name = table.strings.c_str() + first.name;
      if (program.kind != TTS_PROGRAM_EVAL) {
        EXPECT_FALSE(table.check().ok()) << name;
      }
    }
}

TEST(Mutation, AnOutputThatIsNot) {
  SmallTable table; // written by nobody, though the buffer is there
  table.manifest["outputs"][0]["offset"] = 1920 + 64;
  EXPECT_FOUND(table, "is not wholly defined at the end");
}

TEST(Mutation, OperandsThatShareWhatOneWrites) {
  // In place is sound: the same bytes, read and written by one kernel.
  SmallTable inPlace;
  TtsOperand &copy = inPlace.operands.back(); // of eval's score: loss_sum
  copy = inPlace.operands[inPlace.operands.size() - 2];
  copy.access = TTS_WRITE;
  EXPECT_EQ(all(inPlace.check()).find("share bytes"), std::string::npos);
  copy.size -= 4;
  EXPECT_FOUND(inPlace, "share bytes that one of them writes");
  SmallTable gemm; // C = A
  for (const TtsEntry &entry : gemm.entries)
    if (entry.num_scalars == TTS_GEMM_NUM_SCALARS)
      gemm.operands[entry.first_operand + 1] =
          gemm.operands[entry.first_operand + 2];
  EXPECT_FOUND(gemm, "share bytes that one of them writes");
}

TEST(Mutation, ForbiddenWrites) {
  SmallTable table;
  for (TtsOperand &operand : table.operands)
    if (operand.buffer == table.buffer("w"))
      operand.access |= TTS_WRITE;
  EXPECT_FOUND(table, "of class parameters");
  SmallTable frozen;
  frozen.manifest["parameters"][0]["frozen"] = true;
  frozen.manifest["parameters"][0]["gradient"] = nullptr;
  EXPECT_FOUND(frozen, "which is frozen");
}

TEST(Mutation, GemmsThatTouchMore) {
  for (int scalar : {TTS_GEMM_M, TTS_GEMM_N, TTS_GEMM_K, TTS_GEMM_LDB,
                     TTS_GEMM_LDC, TTS_GEMM_BATCH, TTS_GEMM_SCRATCH}) {
    SmallTable table;
    table.scalars[scalar] += 200;
    table.scalars[TTS_GEMM_STRIDE_A] = 1;
    if (scalar == TTS_GEMM_LDB) // matters from the second row on
      table.scalars[TTS_GEMM_K] = 2;
    EXPECT_FOUND(table, "are touched");
  }
  SmallTable beta; // accumulating into bytes that are said not to be read
  beta.scalars[TTS_GEMM_BETA] = 2;
  EXPECT_FOUND(beta, "beta");
  SmallTable bias; // of which there is no operand
  bias.scalars[TTS_GEMM_BIAS] = 1;
  EXPECT_FOUND(bias, "a gemm with 4 operands, not 5");
  SmallTable row; // the scratch's place is a bias now: 8 numbers, read
  row.scalars[TTS_GEMM_BIAS] = 1;
  row.scalars[TTS_GEMM_SCRATCH] = 0;
  EXPECT_FOUND(row, "operand 3 of a gemm is accessed the wrong way");
  for (const TtsEntry &entry : row.entries)
    if (entry.num_scalars == TTS_GEMM_NUM_SCALARS) {
      TtsOperand &last = row.operands[entry.first_operand + 3];
      last.access = TTS_READ;
      last.dtype = TTS_F32;
      last.size = 28;
    }
  EXPECT_FOUND(row, "has 28 bytes but 32 are touched");
  row.scalars[TTS_GEMM_BATCH] = 2;
  EXPECT_FOUND(row, "several products with a bias");
  SmallTable absurd;
  absurd.scalars[TTS_GEMM_M] = INT64_MAX;
  EXPECT_FOUND(absurd, "no sound shape");
}

TEST(Mutation, ResultsOfAnotherType) {
  SmallTable gemm; // f32 in, bf16 out
  gemm.scalars[TTS_GEMM_DTYPE_C] = TTS_BF16;
  EXPECT_FOUND(gemm, "is of neither its operands' type nor f32");
  SmallTable conv;
  conv.makeConvolutions();
  conv.scalars[TTS_CONV1D_DTYPE_Y] = TTS_F16;
  EXPECT_FOUND(conv, "is of neither its operands' type nor f32");
}

TEST(Mutation, HalfCopies) {
  // The EMA's bytes as the copy of w, and half as many as they are.
  auto withCopy = [](uint64_t size) {
    SmallTable table;
    TtsBuffer &ema = table.buffers[table.buffer("w.ema")];
    ema.klass = TTS_CLASS_HALF_COPIES;
    auto &w = table.manifest["parameters"][0];
    w["half_copy"] = {
        {"dtype", "BF16"}, {"offset", ema.offset}, {"size", size}};
    w["ema"] = nullptr;
    table.certificate["classes"]["half_copies"] = 256;
    table.certificate["classes"]["ema"] = 0;
    table.listBuffers();
    return table;
  };
  SmallTable sound = withCopy(128);
  EXPECT_TRUE(sound.check().ok()) << all(sound.check());
  SmallTable large = withCopy(256);
  EXPECT_FOUND(large, "has not half the parameter's size");
  SmallTable elsewhere = withCopy(128);
  elsewhere.buffers[elsewhere.buffer("w.ema")].klass = TTS_CLASS_EMA;
  EXPECT_FOUND(elsewhere, "lies in no persistent buffer of class half_copies");
  SmallTable stale = withCopy(128); // the update leaves it as it was
  for (TtsOperand &operand : stale.operands)
    if (operand.buffer == stale.buffer("w.ema"))
      operand.access = TTS_READ;
  EXPECT_FOUND(stale, "does not write all of half_copy of");
}

TEST(Mutation, SumsOverRanks) {
  SmallTable sound;
  sound.makeAllReduce();
  EXPECT_EQ(all(sound.check()).find("all_reduce"), std::string::npos)
      << all(sound.check());
  SmallTable readOnly;
  readOnly.operands[readOnly.makeAllReduce().first_operand].access = TTS_READ;
  EXPECT_FOUND(readOnly, "operand 0 of an all_reduce is accessed the wrong");
  SmallTable whole;
  whole.operands[whole.makeAllReduce().first_operand].dtype = TTS_I32;
  EXPECT_FOUND(whole, "something else than F32 or F64");
  SmallTable noRoom;
  noRoom.removeOperand(noRoom.makeAllReduce().first_operand + 1);
  EXPECT_FOUND(noRoom, "without arrays and room");
  SmallTable narrow;
  narrow.operands[narrow.makeAllReduce().first_operand + 1].size = 12;
  EXPECT_FOUND(narrow, "has 12 bytes but 16 are touched");
}

TEST(Mutation, SumsOfGroups) {
  auto folded = [] {
    SmallTable table;
    table.addFolds();
    return table;
  };
  EXPECT_TRUE(folded().check().ok()) << all(folded().check());
  auto operandOf = [](SmallTable &table, const char *name, uint32_t entry,
                      uint32_t operand) -> uint32_t {
    uint32_t p = table.program(name, TTS_NO_BUCKET);
    return table.entries[table.programs[p].first_entry + entry].first_operand +
           operand;
  };
  SmallTable lost = folded(); // the first group's sum
  lost.removeOperand(operandOf(lost, "fold.1", 0, 0));
  EXPECT_FOUND(lost, "fold.1: does not read all of buffer");
  SmallTable replaced = folded(); // the last group's
  replaced.operands[operandOf(replaced, "fold.1", 0, 1)].access = TTS_WRITE;
  EXPECT_FOUND(replaced, "fold.1: does not read all of");
  SmallTable twice = folded(); // the first group's, which is not cleared
  twice.operands[operandOf(twice, "fold.0", 1, 0)].size = 128;
  EXPECT_FOUND(twice, "fold.0: does not write all of");
  SmallTable more = folded();
  more.manifest["groups"] = 4;
  EXPECT_FOUND(more, "2 folds instead of 4");
  SmallTable uneven = folded();
  uneven.manifest["ranks"] = 3;
  EXPECT_FOUND(uneven, "cannot share the groups");
}

TEST(Mutation, ShardsOfSums) {
  auto make = [](SmallTable &table) -> TtsEntry & {
    return table.makeShardCall("rt.reduce_scatter", {2, 0});
  };
  SmallTable sound;
  make(sound);
  for (const char *fault : {"reduce_scatter", "over the ranks"})
    EXPECT_EQ(all(sound.check()).find(fault), std::string::npos)
        << all(sound.check());
  SmallTable readOnly;
  readOnly.operands[make(readOnly).first_operand].access = TTS_READ;
  EXPECT_FOUND(readOnly, "operand 0 of a reduce_scatter is accessed the wrong");
  SmallTable whole;
  whole.operands[make(whole).first_operand].dtype = TTS_I32;
  EXPECT_FOUND(whole, "a reduce_scatter of something else than F32 or F64");
  SmallTable more;
  more.scalars[make(more).first_scalar] = 3;
  EXPECT_FOUND(more, "over another number of ranks than there are");
  SmallTable adds; // its one array has no accumulator beside it
  adds.scalars[make(adds).first_scalar + 1] = 1;
  EXPECT_FOUND(adds, "without pairs of arrays and shards, and room");
  SmallTable untold;
  make(untold).num_scalars = 1;
  EXPECT_FOUND(untold, "with another number of scalars than 2");
}

TEST(Mutation, WhatIsGatheredAhead) {
  auto gatherOf = [](SmallTable &table) -> TtsEntry & {
    return table.entries[table.programs[table.program("infer", 0)].first_entry];
  };
  SmallTable sound;
  sound.addPrefetch();
  for (const char *fault : {"gather", "whole", "room", "hidden"})
    EXPECT_EQ(all(sound.check()).find(fault), std::string::npos)
        << all(sound.check());
  // What is made while the gather runs, in the bytes that it writes.
  SmallTable early;
  early.addPrefetch();
  const uint32_t hidden = early.buffer("hidden0"),
                 whole = early.buffer("whole0");
  early.buffers[hidden].offset = early.buffers[whole].offset;
  for (TtsOperand &operand : early.operands)
    if (operand.buffer == hidden)
      operand.offset = early.buffers[whole].offset;
  early.listBuffers();
  EXPECT_FOUND(early, "shares bytes with");
  // Its live range ends before: then nobody has what is read.
  early.buffers[whole].last_entry = 0;
  EXPECT_FOUND(early, "which is not live there");
  SmallTable waits; // then nothing is at the room behind the gather
  waits.addPrefetch();
  gatherOf(waits).num_scalars = 1;
  EXPECT_FOUND(waits, "is not accessed where it ends");
  SmallTable odd;
  odd.addPrefetch();
  odd.scalars[gatherOf(odd).first_scalar + 1] = 2;
  EXPECT_FOUND(odd, "another number of scalars than 1, or a last one that is");
}

TEST(Mutation, ShardsAndWhatTheyAreOf) {
  // 64 floats to 32 of them.
  auto make = [](SmallTable &table) -> TtsOperand * {
    TtsEntry &entry = table.makeShardCall("rt.shard", {2});
    TtsOperand *operands = &table.operands[entry.first_operand];
    operands[0].access = TTS_READ;
    operands[1].dtype = TTS_F32;
    operands[1].size = 128;
    return operands;
  };
  SmallTable sound;
  make(sound);
  EXPECT_EQ(all(sound.check()).find("a shard"), std::string::npos)
      << all(sound.check());
  SmallTable narrow;
  make(narrow)[1].size = 124;
  EXPECT_FOUND(narrow, "has 124 bytes but 128 are touched");
  SmallTable wide;
  make(wide)[1].size = 192;
  EXPECT_FOUND(wide, "a shard of a shard that is longer than its array's");
  SmallTable writes;
  make(writes)[0].access = TTS_READ_WRITE;
  EXPECT_FOUND(writes, "operand 0 of a shard is accessed the wrong way");
  SmallTable unpaired;
  unpaired.makeShardCall("rt.all_gather", {2});
  EXPECT_FOUND(unpaired, "an all_gather without pairs of arrays and shards");
}

TEST(Mutation, StatesThatAreShards) {
  auto withShard = [](int ranks, uint64_t size) {
    SmallTable table;
    table.manifest["ranks"] = ranks;
    auto &moment = table.manifest["parameters"][0]["moment1"];
    moment["shard"] = true;
    moment["size"] = size;
    return table;
  };
  EXPECT_FOUND(withShard(1, 256), "is a shard, but there is one rank");
  EXPECT_FOUND(withShard(2, 124), "is smaller than a shard of the parameter");
  EXPECT_EQ(all(withShard(2, 128).check()).find("smaller"), std::string::npos);
}

TEST(Mutation, GradientsThatNoRankSums) {
  SmallTable table;
  table.manifest["ranks"] = 2;
  EXPECT_FOUND(table, "over the ranks 0 times, not 1");
}

TEST(Mutation, ConvolutionsThatTouchMore) {
  SmallTable sound;
  sound.makeConvolutions();
  EXPECT_EQ(all(sound.check()).find("conv1d"), std::string::npos)
      << all(sound.check());
  for (int scalar : {TTS_CONV1D_BATCH, TTS_CONV1D_TIME, TTS_CONV1D_IN,
                     TTS_CONV1D_OUT, TTS_CONV1D_TAPS, TTS_CONV1D_SCRATCH}) {
    SmallTable table;
    table.makeConvolutions();
    table.scalars[scalar] += 200;
    EXPECT_FOUND(table, "are touched");
  }
  SmallTable left;
  left.makeConvolutions();
  left.scalars[TTS_CONV1D_LEFT] = 1;
  EXPECT_FOUND(left, "do not reach its own row");
  SmallTable beta; // overwrites what it is said to read
  beta.makeConvolutions();
  beta.scalars[TTS_CONV1D_BETA] = 2;
  EXPECT_FOUND(beta, "a conv1d whose beta is neither 0 nor 1");
  SmallTable bias;
  bias.makeConvolutions();
  bias.scalars[TTS_CONV1D_BIAS] = 1;
  EXPECT_FOUND(bias, "scalars and 4 operands, not");
  SmallTable absurd;
  absurd.makeConvolutions();
  absurd.scalars[TTS_CONV1D_OUT] = INT64_MAX;
  EXPECT_FOUND(absurd, "no sound shape");
  SmallTable writesInput;
  writesInput.makeConvolutions();
  for (const TtsEntry &entry : writesInput.entries)
    if (entry.num_scalars == TTS_CONV1D_NUM_SCALARS)
      writesInput.operands[entry.first_operand].access = TTS_READ_WRITE;
  EXPECT_FOUND(writesInput, "is accessed the wrong way");
}

TEST(Mutation, FunctionsThatNoRuntimeHas) {
  SmallTable table;
  table.makeConvolutions();
  const size_t at = table.strings.find("rt.conv1d");
  table.strings[at + 3] = 'k';
  EXPECT_FOUND(table, "which no runtime has");
}

TEST(Mutation, OtherHashes) {
  SmallTable table;
  table.certificate["hashes"]["executable"] = "00fe";
  EXPECT_FOUND(table, "SHA-256");
  SmallTable model;
  model.certificate["hashes"]["model"] = "abd";
  EXPECT_FOUND(model, "model_hash");
}

TEST(Mutation, ASmallerModelOrAnotherBatchIsNamed) {
  SmallTable sound;
  uint64_t elements = 256 / 4; // of w
  sound.certificate["experiment"] = {{"parameters", elements}, {"batch", 16}};
  EXPECT_TRUE(sound.check().ok());
  SmallTable smaller = sound;
  smaller.certificate["experiment"]["parameters"] = elements - 1;
  EXPECT_FOUND(smaller, "experiment.parameters is 63, the step table gives 64");
  SmallTable batch = sound;
  batch.certificate["experiment"]["batch"] = 8;
  EXPECT_FOUND(batch, "experiment.batch is not the manifest's");
}

TEST(Mutation, MissingPrograms) {
  const SmallTable sound;
  for (size_t p = 0; p < sound.programs.size(); ++p) {
    SmallTable table;
    table.programs[p].kind = TTS_PROGRAM_INFER;
    EXPECT_FALSE(table.check().ok()) << p;
    SmallTable bucket;
    bucket.programs[p].bucket = 7;
    EXPECT_FALSE(bucket.check().ok()) << p;
  }
}

TEST(Damage, TruncatedAnywhere) {
  const SmallTable table;
  const Bytes whole = table.blob();
  for (size_t size = 0; size < whole.size(); ++size) {
    Report report;
    tts::check::checkTable(Bytes(whole.begin(), whole.begin() + size),
                           table.certificate.dump(), "00ff", report);
    ASSERT_FALSE(report.ok()) << size;
  }
}

TEST(Damage, FlippedBytesNeverCrash) {
  const SmallTable table;
  const std::string certificate = table.certificate.dump();
  const Bytes whole = table.blob();
  std::mt19937 generator(20260101);
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes damaged = whole;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      damaged[generator() % damaged.size()] ^= uint8_t(1u << generator() % 8);
    Report report;
    tts::check::checkTable(damaged, certificate, "00ff", report);
    found += !report.ok();
  }
  // The rest hit names and locations of entries or padding: no matter of bytes.
  EXPECT_GT(found, 1300);
}

TEST(Damage, CertificatesThatAreNone) {
  const SmallTable table;
  const std::string text = table.certificate.dump();
  std::mt19937 generator(7);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = text;
    damaged[generator() % damaged.size()] = char(generator());
    Report report;
    tts::check::checkTable(table.blob(), damaged, "00ff", report);
  }
  for (const char *none : {"", "[]", "{}", "null", "{\"classes\": 3}"}) {
    Report report;
    tts::check::checkTable(table.blob(), none, "00ff", report);
    EXPECT_FALSE(report.ok()) << none;
  }
}

} // namespace
