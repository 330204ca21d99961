//===- Hardware.cpp - the table of machines and its JSON form ------------===//
//
// Memory is what the driver reports as total; "offered" leaves out what ECC
// and the driver keep. GPU rates are the data sheets' dense peaks; the rates
// of the host were measured (docs/planning.md).
//
//===----------------------------------------------------------------------===//

#include "tts/Transforms/Plan/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace tts::plan;

namespace {

constexpr int64_t MiB = int64_t(1) << 20;

Hardware gpu(llvm::StringRef name, int64_t memory, int64_t offered, double fp32,
             double fp64, double bf16, double bandwidth,
             llvm::StringRef source) {
  Hardware h;
  h.name = name.str();
  h.isGpu = true;
  h.memoryBytes = memory;
  h.offeredBytes = offered;
  h.processBytes = 900 * MiB; // CUDA context, cuBLAS and cuDNN handles
  h.primitiveBytes = 0;
  h.fp32Flops = fp32;
  h.fp64Flops = fp64;
  h.bf16Flops = bf16;
  h.bandwidth = bandwidth;
  h.entrySeconds = 3e-6;
  h.source = source.str();
  return h;
}

/// The built-in GPUs; the host is made by measuring.
const std::vector<Hardware> &gpus() {
  static const std::vector<Hardware> table = {
      gpu("a100-80g", 81920 * MiB, 81152 * MiB, 19.5e12, 9.7e12, 312e12,
          2.039e12, "NVIDIA A100 80GB SXM data sheet"),
      gpu("a100-40g", 40960 * MiB, 40340 * MiB, 19.5e12, 9.7e12, 312e12,
          1.555e12, "NVIDIA A100 40GB SXM data sheet"),
      gpu("h100-80g", 81559 * MiB, 81008 * MiB, 67e12, 34e12, 989e12, 3.35e12,
          "NVIDIA H100 SXM data sheet"),
      gpu("h200-141g", 143771 * MiB, 143156 * MiB, 67e12, 34e12, 989e12, 4.8e12,
          "NVIDIA H200 SXM data sheet"),
      gpu("l4-24g", 23034 * MiB, 22563 * MiB, 30.3e12, 0.49e12, 121e12, 0.3e12,
          "NVIDIA L4 data sheet"),
      gpu("rtx4090-24g", 24564 * MiB, 24080 * MiB, 82.6e12, 1.29e12, 165e12,
          1.008e12, "NVIDIA Ada GPU architecture white paper"),
  };
  return table;
}

std::string readFile(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// MemTotal, or the tightest limit of the control groups above this process.
int64_t hostMemoryBytes() {
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

llvm::Error badFile(llvm::StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(path + ": " + what);
}

} // namespace

double Hardware::flopsPerSecond(llvm::StringRef precision, int threads) const {
  double rate = precision == "fp64"   ? fp64Flops
                : precision == "bf16" ? bf16Flops
                                      : fp32Flops;
  return isGpu ? rate : rate * threads;
}

double Hardware::bytesPerSecond(int threads) const {
  return isGpu ? bandwidth : bandwidth * threads;
}

std::string Hardware::json() const {
  llvm::json::Object object{
      {"name", name},
      {"device", isGpu ? "gpu" : "cpu"},
      {"memory_bytes", memoryBytes},
      {"offered_bytes", offeredBytes},
      {"process_bytes", processBytes},
      {"primitive_bytes", primitiveBytes},
      {"fp32_flops", fp32Flops},
      {"fp64_flops", fp64Flops},
      {"bf16_flops", bf16Flops},
      {"bandwidth", bandwidth},
      {"entry_seconds", entrySeconds},
      {"call_seconds", callSeconds},
      {"source", source},
  };
  llvm::json::Array times;
  for (const ConvTime &t : convTimes)
    times.push_back(llvm::json::Object{
        {"direction", t.transpose ? "input_gradient" : "forward"},
        {"rows", t.rows},
        {"in", t.in},
        {"out", t.out},
        {"taps", t.taps},
        {"products_ns", t.productsNs},
        {"library_ns", t.libraryNs}});
  object["conv1d"] = std::move(times);
  return llvm::formatv("{0}", llvm::json::Value(std::move(object)));
}

std::string Hardware::hash() const {
  std::string text = json();
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

llvm::ArrayRef<llvm::StringRef> tts::plan::hardwareNames() {
  static const llvm::StringRef names[] = {"host",       "a100-80g",  "a100-40g",
                                          "h100-80g",   "h200-141g", "l4-24g",
                                          "rtx4090-24g"};
  return names;
}

Hardware tts::plan::describeHost() {
  Hardware h;
  h.name = "host";
  h.memoryBytes = h.offeredBytes = hostMemoryBytes();
  h.processBytes = 14 * MiB;
  h.primitiveBytes = 90000;
  h.fp32Flops = 150e9;
  h.fp64Flops = 6e9;
  h.bf16Flops = 700e9;
  h.bandwidth = 18e9;
  h.entrySeconds = 3e-6;
  h.callSeconds = 1e-6;
  h.convTimes = hostConvTimes().vec();
  h.source = "measured on two Xeon cores with AVX-512, oneDNN 2.6";
  return h;
}

/// The rows of `conv1d`; false where one lacks a number.
static bool readConvTimes(const llvm::json::Array &rows,
                          std::vector<ConvTime> &times) {
  times.clear();
  for (const llvm::json::Value &value : rows) {
    const llvm::json::Object *row = value.getAsObject();
    auto direction = row ? row->getString("direction") : std::nullopt;
    if (!direction ||
        (*direction != "forward" && *direction != "input_gradient"))
      return false;
    ConvTime time;
    time.transpose = *direction != "forward";
    for (auto [key, field] : {std::pair("rows", &time.rows),
                              {"in", &time.in},
                              {"out", &time.out},
                              {"taps", &time.taps},
                              {"products_ns", &time.productsNs},
                              {"library_ns", &time.libraryNs}}) {
      *field = row->getInteger(key).value_or(0);
      if (*field <= 0)
        return false;
    }
    times.push_back(time);
  }
  return true;
}

llvm::Expected<Hardware> tts::plan::findHardware(llvm::StringRef nameOrPath) {
  if (nameOrPath == "host")
    return describeHost();
  for (const Hardware &known : gpus())
    if (known.name == nameOrPath)
      return known;
  if (!nameOrPath.ends_with(".json"))
    return badFile(nameOrPath, "is no known hardware (" +
                                   llvm::join(hardwareNames(), ", ") +
                                   " or a .json file)");
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (!buffer)
    return badFile(nameOrPath, buffer.getError().message());
  auto value = llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    return badFile(nameOrPath, llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  if (!object || !object->getString("name") ||
      !object->getInteger("memory_bytes"))
    return badFile(nameOrPath, "lacks \"name\" or \"memory_bytes\"");

  Hardware h = describeHost();
  h.isGpu = object->getString("device").value_or("cpu") == "gpu";
  h.name = object->getString("name")->str();
  h.source = object->getString("source").value_or(nameOrPath).str();
  auto bytes = [&](llvm::StringRef key, int64_t &field) {
    field = object->getInteger(key).value_or(field);
  };
  auto number = [&](llvm::StringRef key, double &field) {
    field = object->getNumber(key).value_or(field);
  };
  bytes("memory_bytes", h.memoryBytes);
  h.offeredBytes = h.memoryBytes;
  bytes("offered_bytes", h.offeredBytes);
  bytes("process_bytes", h.processBytes);
  bytes("primitive_bytes", h.primitiveBytes);
  number("fp32_flops", h.fp32Flops);
  number("fp64_flops", h.fp64Flops);
  number("bf16_flops", h.bf16Flops);
  number("bandwidth", h.bandwidth);
  number("entry_seconds", h.entrySeconds);
  number("call_seconds", h.callSeconds);
  if (h.isGpu)
    h.convTimes.clear();
  if (const llvm::json::Array *rows = object->getArray("conv1d"))
    if (!readConvTimes(*rows, h.convTimes))
      return badFile(nameOrPath,
                     "has a row of \"conv1d\" without direction (forward or "
                     "input_gradient), rows, in, out, taps, products_ns and "
                     "library_ns, all positive");
  if (h.memoryBytes <= 0 || h.offeredBytes <= 0 || h.processBytes < 0 ||
      h.primitiveBytes < 0)
    return badFile(nameOrPath, "has a byte count that is not positive");
  if (!(h.fp32Flops > 0 && h.fp64Flops > 0 && h.bf16Flops > 0 &&
        h.bandwidth > 0))
    return badFile(nameOrPath, "has a rate that is not positive");
  return h;
}
