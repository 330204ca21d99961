//===- LoaderTest.cpp - from shards to a bucket's inputs -----------------===//
//
// A corpus of three utterances, written by hand, into the inputs of an f64
// model: values widened, padding zero, empty slots marked.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Loader.h"
#include "Runtime/Abi/Error.h"
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tts::rt;
using nlohmann::json;

namespace {

/// Utterance i has i + 1 phones 10·i + t and 2·(i + 1) frames of two values.
void writeCorpus(const std::string &folder) {
  makeDirectories(folder);
  json header;
  std::string data, ids;
  auto add = [&](const std::string &name, const char *dtype, json shape,
                 const auto &values) {
    size_t begin = data.size();
    data.append(reinterpret_cast<const char *>(values.data()),
                values.size() * 4);
    header[name] = {{"dtype", dtype},
                    {"shape", shape},
                    {"data_offsets", {begin, data.size()}}};
  };
  for (int i = 0; i < 3; ++i) {
    std::string id = "u" + std::to_string(i);
    std::vector<int32_t> phones;
    std::vector<float> mel;
    for (int t = 0; t <= i; ++t)
      phones.push_back(10 * i + t);
    for (int t = 0; t < 4 * (i + 1); ++t)
      mel.push_back(float(100 * i + t) + 0.5f);
    add(id + "/phones", "I32", {i + 1}, phones);
    add(id + "/mel", "F32", {2 * (i + 1), 2}, mel);
    ids += (i ? "," : "") + id;
  }
  header["__metadata__"] = {{"ids", ids}};
  std::string text = header.dump();
  uint64_t length = text.size();
  File shard = File::openToWrite(folder + "/train-0.safetensors");
  shard.write(&length, 8);
  shard.write(text + data);
  json manifest = {
      {"version", 1},
      {"inputs",
       {{"phones", {{"dtype", "I32"}, {"dims", {"text"}}}},
        {"mel", {{"dtype", "F32"}, {"dims", {"frames", 2}}}}}},
      {"splits", {{"train", {{"files", {"train-0.safetensors"}}}}}}};
  File::openToWrite(folder + "/manifest.json").write(manifest.dump());
}

json tensor(const char *name, const char *dtype, json shape, uint64_t offset,
            uint64_t size) {
  return {{"name", name},
          {"dtype", dtype},
          {"shape", shape},
          {"offset", offset},
          {"size", size}};
}

/// One bucket of 4 slots, 4 phones and 6 frames.
json makeManifest() {
  json inputs = {tensor("phones", "I64", {4, 4}, 0, 128),
                 tensor("mel", "F64", {4, 6, 2}, 128, 384),
                 tensor("n", "F64", {4}, 512, 32),
                 tensor("utterance", "I64", {4}, 576, 32)};
  inputs[2]["lengths"] = "frames";
  return {{"version", 1},
          {"batch", 3},
          {"threads", 1},
          {"buckets",
           {{{"dims", {{"text", 4}, {"frames", 6}}},
             {"micro_batch", 4},
             {"inputs", inputs}}}},
          {"parameters", json::array()},
          {"scalars", json::array()},
          {"losses", json::array()}};
}

class LoaderTest : public testing::Test {
protected:
  LoaderTest() { writeCorpus(folder); }

  std::string refusal(const json &manifest, Exit code) {
    try {
      Corpus corpus(folder);
      Manifest parsed(manifest.dump(), 4096);
      Loader loader(corpus, parsed, 0, {});
      return "";
    } catch (const Error &e) {
      EXPECT_EQ(e.code, code);
      return e.what();
    }
  }

  std::string folder = testing::TempDir() + "/loader-corpus";
};

TEST_F(LoaderTest, FillsSlotsWithPadding) {
  Corpus corpus(folder);
  Manifest manifest(makeManifest().dump(), 4096);
  Arena arena(4096);
  std::memset(arena.at(0), 0x5a, 4096); // what another program left there
  Loader loader(corpus, manifest, 0, {});
  const HostBatch &update = loader.next();
  ASSERT_EQ(update.microBatches.size(), 1u);
  EXPECT_EQ(update.frames, 2u + 4 + 6);
  EXPECT_EQ(update.paddedFrames, 24u);
  loader.fill(update, 0, arena);

  auto *phones = reinterpret_cast<int64_t *>(arena.at(0));
  auto *mel = reinterpret_cast<double *>(arena.at(128));
  auto *n = reinterpret_cast<double *>(arena.at(512));
  auto *ids = reinterpret_cast<int64_t *>(arena.at(576));
  std::vector<int64_t> seen;
  for (int slot = 0; slot < 4; ++slot) {
    int64_t u = ids[slot];
    seen.push_back(u);
    int64_t length = u < 0 ? 0 : u + 1; // in phones
    EXPECT_EQ(n[slot], 2.0 * double(length));
    for (int t = 0; t < 4; ++t)
      EXPECT_EQ(phones[slot * 4 + t], t < length ? 10 * u + t : 0);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(mel[slot * 12 + i],
                i < 4 * length ? double(100 * u + i) + 0.5 : 0);
  }
  EXPECT_EQ(seen[3], -1);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<int64_t>{-1, 0, 1, 2}));
}

TEST_F(LoaderTest, TheHostBoundIsKept) {
  json manifest = makeManifest();
  EXPECT_EQ(refusal(manifest, Exit::Refused), "");
  // An update that crosses epochs may hold the longest utterance (64 bytes of
  // phones, 64 of mel) twice and the next (as long) once: 384 a half.
  manifest["host_buffer_bytes"] = 2 * 384;
  EXPECT_EQ(refusal(manifest, Exit::Refused), "");
  manifest["host_buffer_bytes"] = 2 * 384 - 2;
  EXPECT_NE(refusal(manifest, Exit::Refused).find("host bytes"),
            std::string::npos);
}

TEST_F(LoaderTest, WhatARankGetsBeyondItsShareIsReadLate) {
  // All three utterances are in one shard, so one of two ranks has them all:
  // more than its share of two and the one that may come late.
  json text = makeManifest();
  text["ranks"] = 2;
  text["host_buffer_bytes"] = (2 * 2 + 1) * 128;
  Corpus corpus(folder);
  Manifest manifest(text.dump(), 4096);
  Arena arena(4096);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Loader loader(corpus, manifest, 0, {}, Share{rank, 2});
    const HostBatch &update = loader.next();
    EXPECT_LE(loader.hostBytes(), uint64_t(manifest.hostBufferBytes));
    EXPECT_EQ(update.total, 3u);
    if (update.utterances.empty())
      continue;
    ASSERT_EQ(update.utterances.size(), 3u);
    loader.fill(update, 0, arena);
    EXPECT_GT(loader.lateReads(), 0u);
    for (int slot = 0; slot < 3; ++slot) {
      int64_t u = reinterpret_cast<int64_t *>(arena.at(576))[slot];
      for (int64_t t = 0; t <= u; ++t)
        EXPECT_EQ(reinterpret_cast<int64_t *>(arena.at(0))[slot * 4 + t],
                  10 * u + t);
      for (int64_t i = 0; i < 4 * (u + 1); ++i)
        EXPECT_EQ(reinterpret_cast<double *>(arena.at(128))[slot * 12 + i],
                  double(100 * u + i) + 0.5);
    }
  }
  // A share must fit, even so.
  text["host_buffer_bytes"] = (2 * 2 + 1) * 128 - 128;
  Manifest less(text.dump(), 4096);
  EXPECT_THROW(Loader(corpus, less, 0, {}, Share{0, 2}), Error);
}

TEST_F(LoaderTest, ABatchOfFramesIsAsManyUtterancesAsReachThem) {
  // Frames are 2, 4 and 6, in whatever order, over and over.
  json text = makeManifest();
  text["batch"] = 1;
  text["batch_frames"] = 7;
  text["buckets"][0]["micro_batch"] = 4;
  Corpus corpus(folder);
  Manifest manifest(text.dump(), 4096);
  Loader loader(corpus, manifest, 5, {});
  EXPECT_EQ(loader.mostUtterances(), 3u); // 2, 2 and 4 at an epoch's end
  uint64_t frames = 0;
  for (int update = 0; update < 30; ++update) {
    const HostBatch &batch = loader.next();
    EXPECT_GE(batch.frames, 7u);
    EXPECT_LE(batch.total, 3u);
    EXPECT_EQ(batch.total, batch.utterances.size());
    frames += batch.frames;
  }
  // Nothing is dropped: the stream of 12 frames an epoch goes on.
  DataPosition after = loader.next().after;
  EXPECT_GE(after.epoch * 12 + 12, frames);
}

TEST_F(LoaderTest, WhatDoesNotMatchIsNamed) {
  json manifest = makeManifest();
  json &inputs = manifest["buckets"][0]["inputs"];
  inputs[1]["name"] = "pitch";
  EXPECT_NE(refusal(manifest, Exit::BadInput).find("no input 'pitch'"),
            std::string::npos);
  manifest = makeManifest();
  manifest["buckets"][0]["inputs"][2]["lengths"] = "samples";
  EXPECT_NE(refusal(manifest, Exit::BadInput).find("'samples'"),
            std::string::npos);
  manifest = makeManifest();
  manifest["buckets"][0]["inputs"][1] =
      tensor("mel", "I64", {4, 6, 2}, 128, 384); // F32 is not narrowed
  EXPECT_NE(refusal(manifest, Exit::BadInput).find("another dtype"),
            std::string::npos);
  manifest = makeManifest();
  manifest["buckets"][0]["dims"]["frames"] = 5;
  EXPECT_NE(refusal(manifest, Exit::BadInput), "");
}

} // namespace
