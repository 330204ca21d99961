//===- KnownHardware.cpp - the built-in table of devices -----------------===//
//
// Memory is what the driver reports as total; "offered" leaves out what ECC
// and the driver keep. Peaks are the makers' dense ones. What is reached of
// them, links and overheads come from measurements that others published, and
// where there is none the source says "estimate": none of these cards has run
// this compiler's programs yet.
//
//===----------------------------------------------------------------------===//

#include "tts/Transforms/Plan/Hardware.h"

using namespace tts::plan;

namespace {

constexpr int64_t MiB = int64_t(1) << 20;

/// What the devices of a generation have in common.
struct Generation {
  /// Reached of the peaks of the matrix units, and of the memory's.
  double matrixFraction, bandwidthFraction;
  int64_t processBytes;
  std::vector<Link> links;
  std::vector<CollectiveBuffers> collectives;
  std::map<std::string, std::string> sources;
};

const char kContext[] =
    "context 256 to 500 MiB (pytorch/pytorch#109888, invoke-ai/InvokeAI#9413); "
    "cuBLAS workspace 4 MiB, on Hopper 32 MiB (cuBLAS documentation, "
    "cublasSetWorkspace); the rest, kernels of cuBLASLt and cuDNN, an estimate";
const char kLatency[] =
    "latency of a ring's step: NVIDIA/nccl src/graph/tuning.cc";
const char kBandwidth[] = "data sheet; fraction an estimate for copies";

// 24 channels of NVLink.
Generation ampere() {
  return {0.87,
          0.88,
          900 * MiB,
          {{"NVLink 3, 8 devices", 8, 200e9, 3.4e-6},
           {"InfiniBand HDR, one adapter a device", 0, 180e9, 14e-6}},
          {{2, 544 * MiB}, {3, 688 * MiB}, {9, 1638 * MiB}},
          {{"fractions", "matrix units: maximum achievable matmul flops, "
                         "stas00/ml-engineering (recalled); others estimates"},
           {"bandwidth", kBandwidth},
           {"links", std::string("NVIDIA/nccl-tests#149 and #178 (bus "
                                 "bandwidth about 200 of 300 GB/s); InfiniBand "
                                 "an estimate, 0.9 of 8 x 25 GB/s; ") +
                         kLatency},
           {"collectives", "NVIDIA/nccl#964 (4 x A100), over nodes "
                           "NVIDIA/nccl#864"},
           {"process", kContext}}};
}

Generation hopper() {
  return {0.80,
          0.88,
          928 * MiB,
          {{"NVLink 4, 8 devices", 8, 370e9, 3.4e-6},
           {"InfiniBand NDR, one adapter a device", 0, 340e9, 14e-6}},
          {{2, 544 * MiB}, {3, 1085 * MiB}, {9, 1638 * MiB}},
          {{"fractions", "matrix units: about 790 Tflop/s in bf16 seen on an "
                         "H200; others estimates"},
           {"bandwidth", kBandwidth},
           {"links", std::string("NVIDIA/nccl-tests#212 (bus bandwidth 370 of "
                                 "450 GB/s in a ring); InfiniBand an estimate, "
                                 "0.85 of 8 x 50 GB/s; ") +
                         kLatency},
           {"collectives", "8 ranks NVIDIA/nccl#1685, over nodes "
                           "NVIDIA/nccl#864, 2 ranks as on A100 "
                           "(NVIDIA/nccl#964)"},
           {"process", kContext}}};
}

/// Cards without NVLink, whose traffic passes the host's memory.
Generation ada(double matrixFraction, double pcie, const char *fractionSource,
               const char *linkSource) {
  return {matrixFraction,
          0.85,
          900 * MiB,
          {{"PCIe 4.0 x16, 8 devices", 8, pcie, 5.7e-6},
           {"InfiniBand HDR, one adapter a machine", 0, pcie, 14e-6}},
          {{2, 256 * MiB}, {9, 512 * MiB}},
          {{"fractions", fractionSource},
           {"bandwidth", kBandwidth},
           {"links", std::string(linkSource) + "; " + kLatency},
           {"collectives", "estimate: 4 to 8 channels of 10 MiB a connection "
                           "(NVIDIA/nccl#1685), not 24"},
           {"process", kContext}}};
}

/// Peaks in Tflop/s, bandwidth in GB/s.
struct Peaks {
  double fp32, tf32, half, fp64, bandwidth;
};

Hardware gpu(const char *name, int64_t memory, int64_t offered,
             const Peaks &peaks, const Generation &of, const char *source) {
  Hardware h;
  h.name = name;
  h.isGpu = true;
  h.memoryBytes = memory * MiB;
  h.offeredBytes = offered * MiB;
  h.processBytes = of.processBytes;
  h.fp32 = {peaks.fp32 * 1e12, 0.9};
  h.tf32 = {peaks.tf32 * 1e12, of.matrixFraction};
  h.bf16 = h.fp16 = {peaks.half * 1e12, of.matrixFraction};
  h.fp64 = {peaks.fp64 * 1e12, 0.9};
  h.bandwidth = {peaks.bandwidth * 1e9, of.bandwidthFraction};
  h.entrySeconds = 3e-6;
  h.links = of.links;
  h.collectives = of.collectives;
  h.source = source;
  h.sources = of.sources;
  h.sources["memory"] = "driver's total; offered as frameworks report it";
  h.sources["rates"] = source;
  return h;
}

std::vector<Hardware> makeDevices() {
  Generation l4 = ada(0.6, 12e9, "estimate: 72 W hold the clock down",
                      "estimate: half of PCIe 4.0 x16 through the host");
  Generation rtx =
      ada(0.9, 10e9,
          "matrix units: cuBLAS on an L20, 88 to 96 % of the peak "
          "(DefTruth/CUDA-Learn-Notes, hgemm); others estimates",
          "NVIDIA/nccl-tests#307: 10 GB/s between sockets, no peer access");
  return {
      gpu("a100-80g", 81920, 81152, {19.5, 156, 312, 9.7, 2039}, ampere(),
          "NVIDIA A100 80GB SXM data sheet"),
      gpu("a100-40g", 40960, 40340, {19.5, 156, 312, 9.7, 1555}, ampere(),
          "NVIDIA A100 40GB SXM data sheet"),
      gpu("h100-80g", 81559, 81008, {67, 494.7, 989.4, 34, 3350}, hopper(),
          "NVIDIA H100 SXM data sheet"),
      gpu("h200-141g", 143771, 143156, {67, 494.7, 989.4, 34, 4800}, hopper(),
          "NVIDIA H200 SXM data sheet"),
      gpu("l4-24g", 23034, 22563, {30.3, 60, 121, 0.49, 300}, l4,
          "NVIDIA L4 data sheet"),
      gpu("rtx4090-24g", 24564, 24080, {82.6, 82.6, 165.2, 1.29, 1008}, rtx,
          "NVIDIA Ada GPU architecture white paper, fp32 accumulation"),
  };
}

} // namespace

llvm::ArrayRef<Hardware> tts::plan::knownDevices() {
  static const std::vector<Hardware> devices = makeDevices();
  return devices;
}
