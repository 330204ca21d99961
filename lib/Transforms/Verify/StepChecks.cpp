//===- StepChecks.cpp - promises from static shapes to machine code ------===//

#include "Checks.h"
#include "Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

/// Runs `visit` on every value of every program until one fails.
static LogicalResult forEachValue(ModuleOp module,
                                  function_ref<LogicalResult(Value)> visit) {
  for (func::FuncOp program : getPrograms(module)) {
    for (BlockArgument argument : program.getArguments())
      if (failed(visit(argument)))
        return failure();
    WalkResult walk = program.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (failed(visit(result)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult tts::checkStaticShapes(ModuleOp module) {
  return forEachValue(module, [](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.hasStaticShape() && !type.getEncoding())
      return success();
    return emitError(value.getLoc())
           << value.getType()
           << " is no tensor of static shape without an encoding; "
              "tts-specialize makes them";
  });
}

LogicalResult tts::checkElementTypes(ModuleOp module) {
  auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
  if (!plan)
    return module.emitError("no tts.plan on the module; tts-plan sets it");
  StringRef planned = plan.getPrecision();
  // What forward keeps in half is cast, viewed and handed on, never computed
  // with.
  auto isKeptInHalf = [&](Value value, Type type) {
    if (!plan.getStore() || !(type.isBF16() || type.isF16()))
      return false;
    Operation *op = value.getDefiningOp();
    return !op || isa<CastOp>(op) || op->hasTrait<Alias>() ||
           op->hasTrait<Indexing>();
  };
  auto isPlanned = [&](Type type) {
    return planned == "fp64"   ? type.isF64()
           : planned == "bf16" ? type.isBF16() || type.isF32()
           : planned == "fp16" ? type.isF16() || type.isF32()
                               : type.isF32();
  };
  return forEachValue(module, [&](Value value) -> LogicalResult {
    Type type = getElementTypeOrSelf(value.getType());
    if (!isa<FloatType>(type) || isPlanned(type) || isKeptInHalf(value, type))
      return success();
    return emitError(value.getLoc()) << type << " in a program planned as "
                                     << plan.getPrecision().getValue();
  });
}

/// Whether a gradient is summed over the ranks in `kind`, and nowhere else.
static bool isReducedOnce(BlockArgument gradient, bool isShard,
                          StringRef kind) {
  if (!gradient.hasOneUse())
    return false;
  Operation *user = *gradient.getUsers().begin();
  if (!isShard)
    return kind == "update" && isa<AllReduceOp, ReduceScatterOp>(user);
  // Backward adds what is summed to it.
  auto scatter = dyn_cast<ReduceScatterOp>(user);
  return scatter && llvm::is_contained(scatter.getAccumulators(), gradient);
}

LogicalResult tts::checkReducedOnce(ModuleOp module) {
  auto ranks = module->getAttrOfType<IntegerAttr>(kRanksAttr);
  auto starts = module->getAttrOfType<ArrayAttr>(kStageStartsAttr);
  int64_t stages = starts ? int64_t(starts.size()) + 1 : 1;
  if (!ranks || ranks.getInt() <= stages)
    return success();
  for (func::FuncOp program : getPrograms(module)) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (kind.getValue() != "update" && kind.getValue() != "backward")
      continue;
    for (BlockArgument argument : program.getArguments()) {
      auto gradient = program.getArgAttrOfType<StringAttr>(
          argument.getArgNumber(), kGradientAttr);
      bool isShard =
          program.getArgAttr(argument.getArgNumber(), kShardOfAttr) != nullptr;
      if (!gradient || argument.use_empty() ||
          isShard == (kind.getValue() == "update"))
        continue;
      if (!isReducedOnce(argument, isShard, kind))
        return program.emitError()
               << "the gradient of '" << gradient.getValue()
               << "' is not summed over the ranks exactly once before it is "
                  "read; run tts-partition";
    }
  }
  return success();
}

LogicalResult tts::checkOnlyRtOps(ModuleOp module) {
  for (func::FuncOp program : getPrograms(module))
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa<rt::LaunchOp, rt::GemmOp, rt::Conv1dOp, rt::AllReduceOp,
               rt::ShardOp, rt::ReduceScatterOp, rt::AllGatherOp, rt::SendOp,
               rt::ReceiveOp, rt::EmptyOp, rt::SliceOp, rt::AliasOp>(op))
        return emitError(op.getLoc())
               << "'" << op.getName()
               << "' is neither a launch nor a library call; tts-select "
                  "leaves only those";
  return success();
}

LogicalResult tts::checkEntries(ModuleOp module) {
  if (!getPrograms(module).empty())
    return getPrograms(module).front().emitError(
        "a program on tensors after tts-memory");
  auto arena = module->getAttrOfType<IntegerAttr>(rt::kArenaAttr);
  auto buffers = module->getAttrOfType<ArrayAttr>(rt::kBuffersAttr);
  if (!arena || !buffers)
    return module.emitError("no rt.arena_bytes or rt.buffers on the module");
  WalkResult walk = module.walk([&](rt::EntryOp entry) {
    for (auto access : entry.getOperands().getAsRange<rt::AccessAttr>()) {
      auto buffer = access.getBuffer() < buffers.size()
                        ? dyn_cast<rt::BufferAttr>(buffers[access.getBuffer()])
                        : rt::BufferAttr();
      int64_t end = access.getOffset() + access.getSize();
      if (!buffer || access.getOffset() < buffer.getOffset() ||
          end > buffer.getOffset() + buffer.getSize() || end > arena.getInt()) {
        emitError(entry.getLoc()) << "an operand of '" << entry.getFunction()
                                  << "' lies outside its buffer";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The C library's functions that generated code may call; the runtime's and
/// the libraries' own are called by the step loop, never by kernels.
static bool isInAbi(StringRef symbol) {
  static const llvm::StringSet<> symbols = {
      "memcpy", "memset", "memmove", "sin",  "sinf",  "cos",    "cosf",
      "exp",    "expf",   "log",     "logf", "log1p", "log1pf", "tanh",
      "tanhf",  "pow",    "powf",    "sqrt", "sqrtf"};
  return symbols.contains(symbol) || symbol.starts_with("llvm.");
}

LogicalResult tts::checkSymbols(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (!isa_and_nonnull<LLVM::LLVMDialect>(op.getDialect()))
      return emitError(op.getLoc())
             << "'" << op.getName() << "' is left beside the LLVM dialect";
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function.isExternal() && !isInAbi(function.getName()))
      return function.emitError()
             << "'" << function.getName() << "' is outside the ABI list";
  return success();
}
