//===- PrintWork.cpp - tts-print-work, what entries do as JSON -----------===//

#include "tts/Pipelines/EntryWork.h"
#include "tts/Pipelines/Passes.h"
#include "llvm/Support/JSON.h"

namespace tts {
#define GEN_PASS_DEF_PRINTWORKPASS
#include "tts/Pipelines/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;
using llvm::json::Array;
using llvm::json::Object;

namespace {

Object describe(rt::ProgramOp program, rt::EntryOp entry,
                const plan::Work &work) {
  int64_t index =
      std::distance(program.getBody().front().begin(), entry->getIterator());
  Array touches;
  for (const plan::Touch &touch : work.touches)
    touches.push_back(Array{touch.bytes, touch.distance});
  Object operations;
  for (const auto &[name, elements] : work.operations)
    operations[name] = elements;
  Object row{{"program", static_cast<int64_t>(program.getKind())},
             {"bucket", static_cast<int64_t>(program.getBucket())},
             {"index", index},
             {"function", entry.getFunction()},
             {"calls", work.calls},
             {"touches", std::move(touches)},
             {"operations", std::move(operations)}};
  if (work.product)
    row["product"] = Object{{"precision", work.product->precision},
                            {"transpose_a", work.product->transposeA},
                            {"transpose_b", work.product->transposeB},
                            {"accumulates", work.product->accumulates},
                            {"m", work.product->m},
                            {"n", work.product->n},
                            {"k", work.product->k},
                            {"taps", work.product->taps}};
  return row;
}

struct PrintWorkPass : tts::impl::PrintWorkPassBase<PrintWorkPass> {
  void runOnOperation() override {
    visitWork(getOperation(), [](rt::ProgramOp program, rt::EntryOp entry,
                                 const plan::Work &work) {
      llvm::outs() << llvm::json::Value(describe(program, entry, work)) << "\n";
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
