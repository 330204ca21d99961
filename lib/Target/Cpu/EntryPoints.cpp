//===- EntryPoints.cpp - kernels get the signature of the ABI -------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cpu/Passes.h"

using namespace mlir;

namespace tts::cpu {
#define GEN_PASS_DEF_ENTRYPOINTSPASS
#include "tts/Target/Cpu/Passes.h.inc"

/// name(operands, lo, hi) calls name.body(operands[0], …, lo, hi).
static void addEntryPoint(LLVM::LLVMFuncOp body) {
  ImplicitLocOpBuilder b(body.getLoc(), body);
  std::string name = body.getName().str();
  body.setName(name + ".body");
  body.setLinkage(LLVM::Linkage::Internal);
  body.setAlwaysInline(true);

  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  auto entry = LLVM::LLVMFuncOp::create(b, name, type);
  for (StringRef attribute : {rt::kKernelAttr, rt::kRangeAttr})
    if (Attribute value = body->removeAttr(attribute))
      entry->setAttr(attribute, value);
  entry.setNoUnwind(true);

  b.setInsertionPointToStart(entry.addEntryBlock(b));
  SmallVector<Value> arguments;
  for (unsigned i = 0, n = body.getNumArguments() - 2; i < n; ++i) {
    Value slot = LLVM::GEPOp::create(b, pointer, pointer, entry.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    arguments.push_back(LLVM::LoadOp::create(b, pointer, slot));
  }
  arguments.append({entry.getArgument(1), entry.getArgument(2)});
  LLVM::CallOp::create(b, body, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
}

namespace {
struct EntryPointsPass : impl::EntryPointsPassBase<EntryPointsPass> {
  void runOnOperation() override {
    auto functions = getOperation().getOps<LLVM::LLVMFuncOp>();
    SmallVector<LLVM::LLVMFuncOp> kernels(
        llvm::make_filter_range(functions, [](LLVM::LLVMFuncOp function) {
          return function->hasAttr(rt::kKernelAttr);
        }));
    llvm::for_each(kernels, addEntryPoint);
  }
};
} // namespace

} // namespace tts::cpu
