//===- EntryWork.cpp - what the entries of a step do ---------------------===//

#include "tts/Pipelines/EntryWork.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Pipelines/LinkWaits.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace tts;

namespace {

using Operations = llvm::SmallVector<std::pair<std::string, int64_t>, 4>;

bool isDouble(Value value) { return getElementTypeOrSelf(value).isF64(); }

/// A kernel's operations by name (those on doubles are others), each as often
/// as its largest tensor has elements; and conversions of what it reads and
/// writes in half precision.
Operations countOperations(func::FuncOp kernel) {
  std::map<std::string, int64_t> counts;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    SmallVector<Value> values(op.getOperands());
    llvm::append_range(values, op.getResults());
    int64_t most = 0;
    for (Value value : values)
      most = std::max(most,
                      cast<RankedTensorType>(value.getType()).getNumElements());
    std::string name = op.getName().getStringRef().str();
    if (llvm::any_of(values, isDouble))
      name += plan::Work::kOnDoubles;
    counts[name] += most;
  }
  auto addHalf = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getElementType().isBF16())
      counts["bf16"] += tensor.getNumElements();
    if (tensor.getElementType().isF16())
      counts["fp16"] += tensor.getNumElements();
  };
  llvm::for_each(kernel.getArgumentTypes(), addHalf);
  llvm::for_each(kernel.getResultTypes(), addHalf);
  return Operations(counts.begin(), counts.end());
}

const char *precisionOf(int64_t dtype) {
  switch (dtype) {
  case TTS_F64:
    return "fp64";
  case TTS_BF16:
    return "bf16";
  case TTS_F16:
    return "fp16";
  default:
    return "fp32";
  }
}

/// Reads one program after another.
class Reader {
public:
  using Visit =
      llvm::function_ref<void(rt::ProgramOp, rt::EntryOp, const plan::Work &)>;

  Reader(ModuleOp module, Visit visit) : module(module), visit(visit) {}

  /// Programs that follow each other, update after update.
  void run(ArrayRef<rt::ProgramOp> programs) {
    lastTouch.clear();
    clock = 0;
    for (bool isFirst : {true, false})
      for (rt::ProgramOp program : programs)
        for (auto entry : program.getBody().getOps<rt::EntryOp>()) {
          plan::Work work;
          touch(entry, work);
          if (isFirst) // only to fill the caches
            continue;
          if (isExchange(entry)) // takes the link's time
            continue;
          describe(entry, work);
          visit(program, entry, work);
        }
  }

private:
  void touch(rt::EntryOp entry, plan::Work &work) {
    for (auto access : entry.getOperands().getAsRange<rt::AccessAttr>()) {
      auto last = lastTouch.find(access.getOffset());
      work.touches.push_back({access.getSize(), last == lastTouch.end()
                                                    ? plan::Touch::kNever
                                                    : clock - last->second});
    }
    for (auto access : entry.getOperands().getAsRange<rt::AccessAttr>()) {
      clock += access.getSize();
      lastTouch[access.getOffset()] = clock;
    }
  }

  void describe(rt::EntryOp entry, plan::Work &work) {
    ArrayRef<int64_t> s = entry.getScalars();
    if (entry.getFunction() == "rt.conv1d") {
      work.calls = 1;
      work.product = {precisionOf(s[TTS_CONV1D_DTYPE]),
                      s[TTS_CONV1D_TRANSPOSE] != 0,
                      /*transposeB=*/false,
                      /*accumulates=*/false,
                      s[TTS_CONV1D_BATCH] * s[TTS_CONV1D_TIME],
                      s[TTS_CONV1D_OUT],
                      s[TTS_CONV1D_IN],
                      s[TTS_CONV1D_TAPS]};
    } else if (entry.getFunction() == "rt.gemm") {
      work.calls = s[TTS_GEMM_BATCH];
      work.product = {precisionOf(s[TTS_GEMM_DTYPE]),
                      s[TTS_GEMM_TRANSPOSE_A] != 0,
                      s[TTS_GEMM_TRANSPOSE_B] != 0,
                      s[TTS_GEMM_BETA] != 0,
                      s[TTS_GEMM_M],
                      s[TTS_GEMM_N],
                      s[TTS_GEMM_K],
                      /*taps=*/0};
    } else if (auto kernel =
                   module.lookupSymbol<func::FuncOp>(entry.getFunction())) {
      auto [it, isNew] = operations.try_emplace(kernel);
      if (isNew)
        it->second = countOperations(kernel);
      work.operations = it->second;
    }
  }

  ModuleOp module;
  Visit visit;
  llvm::DenseMap<Operation *, Operations> operations;
  /// By offset in the arena: the clock, in bytes, after its last touch.
  llvm::DenseMap<int64_t, int64_t> lastTouch;
  int64_t clock = 0;
};

} // namespace

void tts::visitWork(
    ModuleOp module,
    llvm::function_ref<void(rt::ProgramOp, rt::EntryOp, const plan::Work &)>
        visit) {
  llvm::MapVector<int64_t, SmallVector<rt::ProgramOp, 3>> buckets;
  SmallVector<rt::ProgramOp, 2> once;
  for (auto program : module.getOps<rt::ProgramOp>())
    switch (program.getKind()) {
    case TTS_PROGRAM_DENOMINATORS:
    case TTS_PROGRAM_FORWARD:
    case TTS_PROGRAM_BACKWARD:
      buckets[program.getBucket()].push_back(program);
      break;
    case TTS_PROGRAM_EVAL:
    case TTS_PROGRAM_INFER: // no part of a step
      break;
    default:
      once.push_back(program);
      break;
    }
  Reader reader(module, visit);
  for (auto &bucket : buckets)
    reader.run(bucket.second);
  reader.run(once);
}
