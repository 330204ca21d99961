//===- Memory.cpp - every byte of every program ---------------------------===//

#include "Emit.h"
#include "Schedule.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Memory/Passes.h"

using namespace mlir;
using namespace tts;
using namespace tts::memory;

namespace tts {
#define GEN_PASS_DEF_TTSMEMORY
#include "tts/Transforms/Memory/Passes.h.inc"
} // namespace tts

namespace {
int64_t getKind(StringRef program) {
  static constexpr StringLiteral names[] = TTS_PROGRAM_NAMES;
  const auto *it = llvm::find(names, program);
  return it == std::end(names) ? -1 : it - names;
}

struct Memory : tts::impl::TtsMemoryBase<Memory> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<Program> programs;
    if (failed(collect(module, programs)))
      return signalPassFailure();
    StorageTable table;
    for (Program &program : programs)
      if (failed(table.assign(program)) || failed(schedule(program)))
        return signalPassFailure();
    Layout layout = layOut(&getContext(), programs, table);
    for (Program &program : programs)
      numEntries += program.entries.size() * program.slots;
    numBuffers = table.getAll().size();
    module->setAttr(rt::kManifestAttr, buildManifest(module, programs, table));
    emitPrograms(module, programs, table, layout);
  }

  /// The module's programs in the order of an update, bucket by bucket.
  LogicalResult collect(ModuleOp module, std::vector<Program> &programs) {
    for (auto func : module.getOps<func::FuncOp>()) {
      auto kind = func->getAttrOfType<StringAttr>(kProgramAttr);
      if (!kind)
        continue;
      Program program;
      program.func = func;
      program.kind = getKind(kind);
      if (program.kind < 0)
        return func.emitError() << "unknown program '" << kind.getValue()
                                << "'; run tts-differentiate first";
      if (auto bucket = func->getAttrOfType<IntegerAttr>(kBucketAttr))
        program.bucket = bucket.getInt();
      programs.push_back(std::move(program));
    }
    llvm::stable_sort(programs, [](const Program &a, const Program &b) {
      return std::pair(a.kind, a.bucket) < std::pair(b.kind, b.bucket);
    });
    auto slots = module->getAttrOfType<IntegerAttr>(kSlotsAttr);
    int64_t index = 0;
    for (Program &program : programs) {
      if (slots && (program.kind == TTS_PROGRAM_FORWARD ||
                    program.kind == TTS_PROGRAM_BACKWARD))
        program.slots = slots.getInt();
      program.index = index;
      index += program.slots;
    }
    return success();
  }
};
} // namespace
