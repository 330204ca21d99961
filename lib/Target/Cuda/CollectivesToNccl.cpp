//===- CollectivesToNccl.cpp - sums over ranks as calls of NCCL ----------===//
//
// Values of ncclDataType_t and ncclRedOp_t are nccl.h's, which is part of its
// ABI; no CUDA header is read by the compiler.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cuda/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tts::cuda {
#define GEN_PASS_DEF_COLLECTIVESTONCCLPASS
#include "tts/Target/Cuda/Passes.h.inc"

namespace {

constexpr int32_t kNcclFloat32 = 7, kNcclFloat64 = 8, kNcclSum = 0;

/// Builds the functions of one module.
class NcclBuilder {
public:
  explicit NcclBuilder(ModuleOp collectives)
      : builder(collectives.getBodyRegion()), loc(collectives.getLoc()),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())),
        status(builder.getI32Type()), size(builder.getI64Type()) {
    groupStart = declare("ncclGroupStart", {});
    groupEnd = declare("ncclGroupEnd", {});
    allReduce = declare("ncclAllReduce", {pointer, pointer, size, status,
                                          status, pointer, pointer});
  }

  LogicalResult add(StringRef name, rt::EntryOp entry) {
    loc = entry.getLoc();
    OpBuilder::InsertionGuard guard(builder);
    auto func = LLVM::LLVMFuncOp::create(
        builder, loc, name,
        LLVM::LLVMFunctionType::get(status, {pointer, pointer, pointer}));
    builder.setInsertionPointToStart(func.addEntryBlock(builder));
    Value arena = func.getArgument(0);
    result = call(groupStart, {});
    // The last operand is room for messages, of which NCCL has its own.
    ArrayRef<Attribute> arrays = entry.getOperands().getValue().drop_back();
    for (auto access : llvm::map_range(arrays, llvm::CastTo<rt::AccessAttr>)) {
      bool isDouble = access.getDtype() == TTS_F64;
      if (!isDouble && access.getDtype() != TTS_F32)
        return entry.emitError("sums something else than f32 or f64");
      Value array =
          LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), arena,
                              ValueRange{makeSize(access.getOffset())});
      note(call(allReduce,
                {array, array, makeSize(access.getSize() / (isDouble ? 8 : 4)),
                 makeStatus(isDouble ? kNcclFloat64 : kNcclFloat32),
                 makeStatus(kNcclSum), func.getArgument(1),
                 func.getArgument(2)}));
    }
    note(call(groupEnd, {}));
    LLVM::ReturnOp::create(builder, loc, result);
    return success();
  }

private:
  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> arguments) {
    return LLVM::LLVMFuncOp::create(
        builder, loc, name, LLVM::LLVMFunctionType::get(status, arguments));
  }
  Value call(LLVM::LLVMFuncOp func, ValueRange arguments) {
    return LLVM::CallOp::create(builder, loc, func, arguments).getResult();
  }
  Value makeStatus(int32_t value) {
    return LLVM::ConstantOp::create(builder, loc, status, value);
  }
  Value makeSize(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, size, value);
  }
  /// The first call that fails says what the function returns; the others are
  /// made all the same, since a group that is begun has to end.
  void note(Value next) {
    Value isFine = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                        result, makeStatus(0));
    result = LLVM::SelectOp::create(builder, loc, isFine, next, result);
  }

  OpBuilder builder;
  Location loc;
  Type pointer, status, size;
  LLVM::LLVMFuncOp groupStart, groupEnd, allReduce;
  Value result; ///< the status so far
};

struct CollectivesToNcclPass
    : impl::CollectivesToNcclPassBase<CollectivesToNcclPass> {
  void runOnOperation() override {
    SmallVector<std::pair<std::string, rt::EntryOp>> found;
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      for (auto [index, entry] :
           llvm::enumerate(program.getBody().getOps<rt::EntryOp>()))
        if (entry.getFunction() == "rt.all_reduce")
          found.push_back({llvm::formatv("{0}all_reduce_{1}_{2}", kSymbolPrefix,
                                         program.getSymName(), index),
                           entry});
    if (found.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto collectives =
        ModuleOp::create(builder, getOperation().getLoc(), kCollectivesModule);
    NcclBuilder functions(collectives);
    for (auto &[name, entry] : found)
      if (failed(functions.add(name, entry)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tts::cuda
