//===- HostHardware.cpp - this machine's description ---------------------===//

#include "tts/Transforms/Plan/Hardware.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

using namespace tts::plan;

static constexpr int64_t MiB = int64_t(1) << 20;

static std::string readFile(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// MemTotal, or the tightest limit of the control groups above this process.
static int64_t hostMemoryBytes() {
  int64_t bytes = 0;
  std::string info = readFile("/proc/meminfo");
  llvm::StringRef total =
      llvm::StringRef(info).split("MemTotal:").second.ltrim();
  if (total.consumeInteger(10, bytes))
    bytes = 0;
  bytes *= 1024;
  std::string groups = readFile("/proc/self/cgroup");
  llvm::StringRef path =
      llvm::StringRef(groups).split("0::").second.split('\n').first;
  while (path.starts_with("/")) {
    std::string limit = readFile("/sys/fs/cgroup" + path + "/memory.max");
    int64_t most;
    if (!llvm::StringRef(limit).trim().getAsInteger(10, most))
      bytes = bytes ? std::min(bytes, most) : most;
    if (path == "/")
      break;
    path = llvm::sys::path::parent_path(path);
  }
  return bytes;
}

/// With AMX and with vectors that multiply pairs as measured (the products of
/// small models); half of fp32 where pairs are taken apart is an estimate.
static double hostBf16Flops() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features.lookup("amx-bf16")     ? 700e9
         : features.lookup("avx512bf16") ? 110e9
                                         : 75e9;
}

Hardware tts::plan::describeHost() {
  Hardware h;
  h.name = "host";
  h.memoryBytes = h.offeredBytes = hostMemoryBytes();
  h.processBytes = 14 * MiB;
  h.primitiveBytes = 90000;
  // Measured as reached: the fractions are 1.
  h.fp32.peak = h.tf32.peak = 150e9;
  h.fp64.peak = 6e9;
  h.bf16.peak = hostBf16Flops();
  h.fp16.peak = 40e9; // converted before and after: no vectors multiply it
  h.bandwidth.peak = 18e9;
  h.entrySeconds = 3e-6;
  h.callSeconds = 1e-6;
  h.links = {{"shared memory", 0, 5.9e9, 1e-6}};
  h.collectives = {{2, 12 * MiB}};
  h.convTimes = hostConvTimes().vec();
  h.source = "measured on two Xeon cores with AVX-512, oneDNN 2.6";
  h.sources = {
      {"memory", "/proc/meminfo and the control group's memory.max"},
      {"rates", "oneDNN's products as reached by one thread; fp64 is generated "
                "code; bf16 on AMX 700 Gflop/s, with AVX512_BF16 110, "
                "without either an estimate; fp16 is converted"},
      {"bandwidth", "kernels of the small FastSpeech 2, one thread"},
      {"links", "OpenMPI 4.1, MPI_Allreduce of 4 MiB pieces on two ranks"},
      {"collectives", "OpenMPI 4.1 on 2 and 3 ranks, VmHWM over that of one "
                      "rank, arena and buffers apart (10.8 MiB)"},
      {"process", "VmHWM less arena and buffers, see docs/planning.md"},
  };
  return h;
}
