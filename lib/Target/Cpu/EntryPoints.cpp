//===- EntryPoints.cpp - kernels get the signature of the ABI -------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cpu/Passes.h"

using namespace mlir;

namespace tts::cpu {
#define GEN_PASS_DEF_ENTRYPOINTSPASS
#include "tts/Target/Cpu/Passes.h.inc"

namespace {

class EntryPoints {
public:
  explicit EntryPoints(LLVM::LLVMFuncOp body)
      : b(body.getLoc(), body), body(body), name(body.getName().str()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())),
        i64(b.getI64Type()) {}

  void run() {
    body.setName(name + ".body");
    body.setLinkage(LLVM::Linkage::Internal);
    body.setAlwaysInline(true);
    body->removeAttr(rt::kKernelAttr);
    Attribute range = body->removeAttr(rt::kRangeAttr);
    auto instances = cast_or_null<ArrayAttr>(
        Attribute(body->removeAttr(rt::kInstancesAttr)));
    if (!instances)
      return setRange(callBody(name, /*takesTable=*/false), range);
    LLVM::LLVMFuncOp shared = callBody(name + ".shared", /*takesTable=*/true);
    shared.setLinkage(LLVM::Linkage::Internal);
    for (auto instance : instances.getAsRange<DictionaryAttr>())
      addInstance(shared, instance);
  }

private:
  LLVM::LLVMFuncOp makeFunction(StringRef own, ArrayRef<Type> arguments) {
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), arguments);
    b.setInsertionPoint(body);
    auto function = LLVM::LLVMFuncOp::create(b, own, type);
    function.setNoUnwind(true);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    return function;
  }

  void setRange(LLVM::LLVMFuncOp entry, Attribute range) {
    entry->setAttr(rt::kKernelAttr, b.getUnitAttr());
    if (range)
      entry->setAttr(rt::kRangeAttr, range);
  }

  /// own(operands, lo, hi[, table]) calls body(operands[0], …, [table], lo,
  /// hi).
  LLVM::LLVMFuncOp callBody(StringRef own, bool takesTable) {
    SmallVector<Type> types = {pointer, i64, i64};
    if (takesTable)
      types.push_back(pointer);
    LLVM::LLVMFuncOp caller = makeFunction(own, types);
    unsigned operands = body.getNumArguments() - 2 - takesTable;
    SmallVector<Value> arguments;
    for (unsigned i = 0; i < operands; ++i) {
      Value slot =
          LLVM::GEPOp::create(b, pointer, pointer, caller.getArgument(0),
                              ArrayRef<LLVM::GEPArg>{int32_t(i)});
      arguments.push_back(LLVM::LoadOp::create(b, pointer, slot));
    }
    if (takesTable)
      arguments.push_back(caller.getArgument(3));
    arguments.append({caller.getArgument(1), caller.getArgument(2)});
    LLVM::CallOp::create(b, body, arguments);
    LLVM::ReturnOp::create(b, ValueRange());
    return caller;
  }

  /// An instance's entry point passes its own numbers on.
  void addInstance(LLVM::LLVMFuncOp shared, DictionaryAttr instance) {
    StringRef own = instance.getAs<StringAttr>("name").getValue();
    ArrayRef<int64_t> numbers =
        instance.getAs<DenseI64ArrayAttr>("numbers").asArrayRef();
    LLVM::LLVMFuncOp entry = makeFunction(own, {pointer, i64, i64});
    setRange(entry, instance.get("range"));
    SmallVector<Value> arguments(entry.getArguments());
    arguments.push_back(addTable(entry, own, numbers));
    auto call = LLVM::CallOp::create(b, shared, arguments);
    call.setTailCallKind(LLVM::TailCallKind::Tail);
    LLVM::ReturnOp::create(b, ValueRange());
  }

  Value addTable(LLVM::LLVMFuncOp entry, StringRef own,
                 ArrayRef<int64_t> numbers) {
    if (numbers.empty())
      return LLVM::ZeroOp::create(b, pointer);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry);
    auto table = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(i64, numbers.size()), /*isConstant=*/true,
        LLVM::Linkage::Internal, (own + ".numbers").str(),
        b.getI64TensorAttr(numbers));
    b.setInsertionPointToStart(&entry.getBody().front());
    return LLVM::AddressOfOp::create(b, table);
  }

  ImplicitLocOpBuilder b;
  LLVM::LLVMFuncOp body;
  std::string name;
  Type pointer, i64;
};

struct EntryPointsPass : impl::EntryPointsPassBase<EntryPointsPass> {
  void runOnOperation() override {
    auto functions = getOperation().getOps<LLVM::LLVMFuncOp>();
    SmallVector<LLVM::LLVMFuncOp> kernels(
        llvm::make_filter_range(functions, [](LLVM::LLVMFuncOp function) {
          return function->hasAttr(rt::kKernelAttr);
        }));
    for (LLVM::LLVMFuncOp kernel : kernels)
      EntryPoints(kernel).run();
  }
};
} // namespace

} // namespace tts::cpu
