//===- Loader.cpp - prefetch ---------------------------------------------===//
//
// The order of the data is the thread's, so nothing depends on timing: the
// caller only ever waits.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Loader.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/IO/Crc32.h"
#include "Runtime/Memory/SmallThread.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace tts::rt {

namespace {

constexpr uint64_t hostAlignment = 64;

uint64_t aligned(uint64_t bytes) {
  return (bytes + hostAlignment - 1) / hostAlignment * hostAlignment;
}

std::vector<BucketShape> bucketShapes(const Manifest &manifest) {
  std::vector<BucketShape> shapes;
  for (size_t b = 0; b < manifest.buckets.size(); ++b) {
    const Bucket &bucket = manifest.buckets[b];
    BucketShape shape{uint32_t(bucket.microBatch), bucket.seconds, b > 0};
    for (const auto &[dim, extent] : bucket.dims) {
      if (bucket.seconds == 0) // no prediction: the padded elements
        shape.cost += double(extent) * double(bucket.microBatch);
      shape.holdsLower =
          shape.holdsLower && extent >= manifest.buckets[b - 1].extent(dim);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

/// Host bytes of one utterance.
uint64_t hostBytesOf(const Corpus &corpus, const Inputs &inputs, uint32_t u) {
  uint64_t bytes = 0;
  for (size_t input : inputs.taken())
    bytes += aligned(corpus.inputBytes(u, corpus.inputs[input]));
  return bytes;
}

/// The shortest of the training split, each as often as one update may hold it,
/// until they reach the frames of a batch.
size_t countMost(const Corpus &corpus, const Manifest &manifest) {
  if (manifest.batchFrames == 0)
    return size_t(manifest.batch);
  std::vector<uint64_t> frames;
  uint64_t wanted = uint64_t(manifest.batchFrames), all = 0;
  for (uint32_t u = corpus.train.first; u < corpus.train.end; ++u) {
    frames.push_back(uint64_t(corpus.extent(u, corpus.frames)));
    all += frames.back();
  }
  if (all == 0)
    throw Error(Exit::BadInput, corpus.directory, "no utterance has a frame",
                "prepare it again");
  std::sort(frames.begin(), frames.end());
  uint64_t repeats = wanted / all + 2, sum = 0;
  size_t count = 0;
  for (uint64_t each : frames)
    for (uint64_t i = 0; i < repeats && sum < wanted; ++i, ++count)
      sum += each;
  return std::max(count, size_t(manifest.batch));
}

} // namespace

Loader::Loader(const Corpus &corpus, const Manifest &manifest, uint64_t seed,
               DataPosition start, Share share)
    : corpus(corpus), manifest(manifest), inputs(corpus, manifest),
      bucketOf(inputs.assignBuckets()), share(share),
      groups(groupsOf(share, manifest.groups)),
      most(countMost(corpus, manifest)),
      order(corpus.train.shardSizes, corpus.train.first, seed),
      batches(bucketShapes(manifest), most), batchesOfCaller(batches) {
  findValidation(seed);
  order.seek(start);
  allocate();

  thread = startSmallThread(enter, this, "loader");
  started = true;
}

void Loader::findValidation(uint64_t seed) {
  Order shards(corpus.validation.shardSizes, corpus.validation.first, seed);
  for (const Share &group : groups) {
    std::vector<uint32_t> &list = validationOrder.emplace_back();
    for (uint32_t u = corpus.validation.first; u < corpus.validation.end; ++u)
      if (shards.isIn(group, u))
        list.push_back(u);
    std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return bucketOf[a] < bucketOf[b];
    });
  }
}

Loader::~Loader() {
  if (started) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    pthread_join(thread, nullptr);
  }
  if (host)
    munmap(host, hostBytes());
}

/// The longest utterances in a rank's share of one update; where that crosses
/// into the next epoch it may hold an utterance twice, in a small corpus more
/// often.
uint64_t Loader::worstBytes(uint64_t &largestInput) const {
  size_t batch = size_t(manifest.batch);
  std::vector<uint64_t> bytes(corpus.size());
  for (uint32_t u = 0; u < corpus.size(); ++u) {
    bytes[u] = hostBytesOf(corpus, inputs, u);
    for (size_t input : inputs.taken())
      largestInput = std::max(
          largestInput, aligned(corpus.inputBytes(u, corpus.inputs[input])));
  }
  std::sort(bytes.rbegin(), bytes.rend());
  size_t repeats = batch / bytes.size() + 2;
  uint64_t worst = 0;
  for (size_t i = 0; i < (batch + share.ranks - 1) / share.ranks; ++i)
    worst += bytes[std::min(i / repeats, bytes.size() - 1)];
  return worst;
}

void Loader::allocate() {
  uint64_t largestInput = 0, worst = worstBytes(largestInput);
  uint64_t planned = manifest.hostBufferBytes;
  if (share.ranks > 1 || manifest.batchFrames)
    lateBytes = largestInput;
  halfBytes = planned == 0          ? worst
              : planned > lateBytes ? (planned - lateBytes) / 2
                                    : 0;
  halfBytes -= halfBytes % hostAlignment;
  bool isEnough = manifest.batchFrames ? planned == 0 || planned > lateBytes
                                       : worst <= halfBytes;
  if (!isEnough)
    throw Error(Exit::Refused, "loader",
                "an update of the longest utterances takes " +
                    std::to_string(2 * worst + lateBytes) + " host bytes, " +
                    std::to_string(planned) + " are planned",
                "recompile with --buckets-from this corpus");
  halfBytes = std::max(halfBytes, hostAlignment);
  void *map = mmap(nullptr, hostBytes(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    throw Error(Exit::Refused, "loader",
                std::to_string(hostBytes()) +
                    " bytes of host memory cannot be had (" +
                    std::strerror(errno) + ")",
                "free memory or recompile with a smaller --memory-budget");
  host = static_cast<char *>(map);
  std::memset(host, 0, hostBytes());
  taken.reserve(most);
  for (int i = 0; i < 2; ++i) {
    slots[i].utterances.reserve(most);
    slots[i].microBatches.reserve(most + manifest.buckets.size());
    slots[i].groupEnds.reserve(groups.size());
    slots[i].data.reserve(most * inputs.taken().size());
    slots[i].buffer = host + uint64_t(i) * halfBytes;
  }
}

void Loader::readAll(HostBatch &batch) {
  batch.data.clear();
  char *to = batch.buffer;
  for (uint32_t u : batch.utterances)
    for (size_t input : inputs.taken()) {
      uint64_t bytes = aligned(corpus.inputBytes(u, corpus.inputs[input]));
      bool fits = bytes <= uint64_t(batch.buffer + halfBytes - to);
      batch.data.push_back(fits ? to : nullptr);
      if (!fits)
        continue;
      corpus.read(u, input, to);
      to += bytes;
    }
  batch.frames = batch.paddedFrames = 0;
  for (uint32_t u : batch.utterances)
    batch.frames += uint64_t(corpus.extent(u, corpus.frames));
  for (const MicroBatch &micro : batch.microBatches) {
    const Bucket &bucket = manifest.buckets[micro.bucket];
    batch.paddedFrames +=
        uint64_t(bucket.microBatch * bucket.extent(corpus.dims[corpus.frames]));
  }
}

/// The stream's next ones: a number of them, or as many as reach the frames.
void Loader::takeUpdate() {
  if (manifest.batchFrames == 0) {
    taken.resize(size_t(manifest.batch));
    return order.take(taken.data(), taken.size());
  }
  taken.clear();
  for (int64_t frames = 0; frames < manifest.batchFrames;) {
    uint32_t next;
    order.take(&next, 1);
    taken.push_back(next);
    frames += corpus.extent(next, corpus.frames);
  }
}

void Loader::plan(HostBatch &batch) {
  DataPosition before = order.position();
  bool turned = before.taken == corpus.train.size();
  batch.epoch = before.epoch + (turned ? 1 : 0);
  takeUpdate();
  batch.total = taken.size();
  batch.after = order.position();
  batch.checksum = crc32(taken.data(), taken.size() * sizeof(taken[0]));
  batch.utterances.clear();
  batch.microBatches.clear();
  batch.groupEnds.clear();
  for (const Share &group : groups) {
    size_t first = batch.utterances.size();
    for (uint32_t u : taken)
      if (order.isIn(group, u))
        batch.utterances.push_back(u);
    cut(batches, batch, first);
  }
}

/// Into micro-batches of a group: its utterances are the last, from `first` on.
void Loader::cut(Batches &batches, HostBatch &batch, size_t first) const {
  size_t before = batch.microBatches.size();
  batches.cut(batch.utterances.data() + first, batch.utterances.size() - first,
              bucketOf.data(), batch.microBatches);
  for (size_t i = before; i < batch.microBatches.size(); ++i)
    batch.microBatches[i].first += uint32_t(first);
  batch.groupEnds.push_back(batch.microBatches.size());
}

void *Loader::enter(void *self) {
  static_cast<Loader *>(self)->work();
  return nullptr;
}

void Loader::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (ready) {
      changed.wait(lock);
      continue;
    }
    HostBatch &batch = slots[1 - mine];
    lock.unlock();
    std::exception_ptr error;
    try {
      plan(batch);
      readAll(batch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    failure = error;
    ready = true;
    changed.notify_all();
  }
}

const HostBatch &Loader::next() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return ready; });
  if (failure)
    std::rethrow_exception(failure);
  mine = 1 - mine;
  ready = false;
  changed.notify_all();
  return slots[mine];
}

const HostBatch &Loader::read(const uint32_t *utterances, size_t count) {
  HostBatch &batch = slots[mine];
  batch.utterances.assign(utterances, utterances + count);
  batch.microBatches.clear();
  batch.groupEnds.clear();
  cut(batchesOfCaller, batch, 0);
  readAll(batch);
  return batch;
}

void Loader::fill(const HostBatch &batch, size_t i, const Arena &arena) const {
  const MicroBatch &micro = batch.microBatches[i];
  size_t taken = inputs.taken().size();
  inputs.fill(arena, micro.bucket, batch.utterances.data() + micro.first,
              micro.count, [&](uint32_t slot, size_t t) -> const char * {
                const char *data = batch.data[(micro.first + slot) * taken + t];
                if (data)
                  return data;
                // Copied from there before the next one is asked for.
                char *room = host + 2 * halfBytes;
                corpus.read(batch.utterances[micro.first + slot],
                            inputs.taken()[t], room);
                ++late;
                return room;
              });
}

void Loader::fillEmpty(uint32_t bucket, const Arena &arena) const {
  inputs.fill(arena, bucket, nullptr, 0,
              [](uint32_t, size_t) -> const char * { return nullptr; });
}

} // namespace tts::rt
