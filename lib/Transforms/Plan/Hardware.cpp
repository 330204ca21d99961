//===- Hardware.cpp - what a machine's figures come to -------------------===//

#include "tts/Transforms/Plan/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace tts::plan;

double Hardware::flopsPerSecond(llvm::StringRef precision, int threads) const {
  const Rate &rate = precision == "fp64"   ? fp64
                     : precision == "bf16" ? bf16
                     : precision == "fp16" ? fp16
                                           : fp32;
  return isGpu ? rate.reached() : rate.reached() * threads;
}

double Hardware::bytesPerSecond(int threads) const {
  return isGpu ? bandwidth.reached() : bandwidth.reached() * threads;
}

const Link *Hardware::linkOf(int64_t ranks) const {
  for (const Link &link : links)
    if (link.ranks == 0 || link.ranks >= ranks)
      return &link;
  return nullptr;
}

int64_t Hardware::collectiveBytes(int64_t ranks) const {
  int64_t bytes = 0;
  for (const CollectiveBuffers &buffers : collectives)
    if (buffers.ranks <= ranks)
      bytes = buffers.bytes;
  return bytes;
}

int64_t tts::plan::allReduceBytes(int64_t bytes, int64_t ranks) {
  // Without a product that could overflow: 2 bytes - 2 bytes/N.
  return 2 * bytes - 2 * bytes / ranks;
}

double Hardware::allReduceSeconds(int64_t bytes, int64_t ranks) const {
  const Link *link = linkOf(ranks);
  if (ranks < 2 || !link)
    return 0;
  // Halving and doubling, else a ring (lib/Runtime/Collectives/Ring.h).
  bool halves = llvm::isPowerOf2_64(ranks);
  int64_t rounds = 2 * (halves ? llvm::Log2_64(ranks) : ranks - 1);
  return allReduceBytes(bytes, ranks) / link->bandwidth +
         rounds * link->latency;
}

std::string Hardware::hash() const {
  std::string text = json();
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

llvm::ArrayRef<llvm::StringRef> tts::plan::hardwareNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list = {"host"};
    for (const Hardware &device : knownDevices())
      list.push_back(device.name);
    return list;
  }();
  return names;
}

llvm::Expected<Hardware> tts::plan::findHardware(llvm::StringRef nameOrPath) {
  if (nameOrPath == "host")
    return describeHost();
  for (const Hardware &known : knownDevices())
    if (known.name == nameOrPath)
      return known;
  if (!nameOrPath.ends_with(".json"))
    return llvm::createStringError(nameOrPath + ": is no known hardware (" +
                                   llvm::join(hardwareNames(), ", ") +
                                   " or a .json file)");
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(nameOrPath + ": " +
                                   buffer.getError().message());
  return parseHardware((*buffer)->getBuffer(), nameOrPath);
}
