//===- Emit.cpp - programs of entries on offsets --------------------------===//

#include "Emit.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::memory;

static uint32_t getClass(const Storage &storage) {
  switch (storage.role) {
  case Role::Parameter:
    return TTS_CLASS_PARAMETERS;
  case Role::Gradient:
  case Role::Partial:
    return TTS_CLASS_GRADIENTS;
  case Role::Moment1:
  case Role::Moment2:
    return TTS_CLASS_OPTIMIZER;
  case Role::Ema:
    return TTS_CLASS_EMA;
  case Role::HalfCopy:
    return TTS_CLASS_HALF_COPIES;
  case Role::Next:
  case Role::Scalar:
    return TTS_CLASS_BUFFERS;
  case Role::Messages:
    return TTS_CLASS_COLLECTIVES;
  case Role::Input:
    return TTS_CLASS_BATCH;
  case Role::Stash:
  case Role::Output:
  case Role::None:
    return storage.isMessages  ? TTS_CLASS_COLLECTIVES
           : storage.isScratch ? TTS_CLASS_WORKSPACE
                               : TTS_CLASS_ACTIVATIONS;
  }
  llvm_unreachable("a role without a class");
}

/// A persistent tensor is known by what it is: "m", "grad:m", "moment1:m".
static std::string getBufferName(const Storage &storage) {
  switch (storage.role) {
  case Role::Gradient:
    return "grad:" + storage.name;
  case Role::Partial:
    return "partial:" + storage.name;
  case Role::Moment1:
    return "moment1:" + storage.name;
  case Role::Moment2:
    return "moment2:" + storage.name;
  case Role::Ema:
    return "ema:" + storage.name;
  case Role::HalfCopy:
    return "half:" + storage.name;
  case Role::Next:
    return "next:" + storage.name;
  default:
    return storage.name;
  }
}

static uint32_t getDType(Type element) {
  if (element.isF32())
    return TTS_F32;
  if (element.isF64())
    return TTS_F64;
  if (element.isBF16())
    return TTS_BF16;
  if (element.isF16())
    return TTS_F16;
  if (element.isInteger(32))
    return TTS_I32;
  return element.isInteger(64) ? TTS_I64 : TTS_BYTES;
}

namespace {
class Emitter {
public:
  Emitter(ModuleOp module, MutableArrayRef<Program> programs, int64_t slotBytes)
      : module(module), builder(module.getContext()), programs(programs),
        slotBytes(slotBytes) {}

  void emitBuffers(StorageTable &table) {
    for (Storage &storage : table.getAll()) {
      if (storage.mergedInto || storage.offset < 0)
        continue;
      bool isInSlots = !storage.isPersistent() && slotsOf(storage) > 1;
      for (slot = 0; slot < (isInSlots ? slotsOf(storage) : 1); ++slot)
        emitBuffer(storage);
    }
    module->setAttr(rt::kBuffersAttr, builder.getArrayAttr(buffers));
  }

  void emitProgram(Program &program) {
    for (slot = 0; slot < program.slots; ++slot) {
      builder.setInsertionPointToEnd(module.getBody());
      std::string name = program.func.getName().str();
      if (slot > 0)
        name += "_slot" + std::to_string(slot);
      auto table = rt::ProgramOp::create(builder, program.func.getLoc(), name,
                                         program.kind, program.bucket, slot);
      builder.createBlock(&table.getBody());
      for (Operation *op : program.entries)
        emitEntry(program, op);
    }
    program.func.erase();
  }

private:
  int64_t slotsOf(const Storage &storage) {
    for (Program &program : programs)
      if (program.timeline == storage.timeline)
        return program.slots;
    llvm_unreachable("a storage of no timeline");
  }

  /// What forward keeps for backward has a place in each slot; the rest is
  /// where it is in all of them.
  int64_t offsetOf(const Storage &storage) {
    return storage.offset +
           (storage.role == Role::Stash ? slot * slotBytes : 0);
  }

  void emitBuffer(Storage &storage) {
    bufferIndex[{&storage, slot}] = buffers.size();
    int64_t program = -1, lastProgram = -1;
    int64_t first = 0, last = UINT32_MAX;
    if (!storage.isPersistent()) {
      std::tie(program, first) = locate(storage.timeline, storage.begin);
      std::tie(lastProgram, last) = locate(storage.timeline, storage.end);
    }
    buffers.push_back(rt::BufferAttr::get(
        builder.getContext(), builder.getStringAttr(getBufferName(storage)),
        builder.getStringAttr(storage.loc), getClass(storage), program,
        lastProgram, first, last, offsetOf(storage), storage.size));
  }

  /// (program, entry) at a position of a timeline.
  std::pair<int64_t, int64_t> locate(int timeline, int64_t position) {
    for (Program &program : programs)
      if (program.timeline == timeline && position >= program.firstPosition &&
          position < program.firstPosition + int64_t(program.entries.size()))
        return {program.index + slot, position - program.firstPosition};
    llvm_unreachable("a position outside its timeline");
  }

  Attribute getAccess(Place place, int64_t offset, int64_t size, uint32_t mode,
                      uint32_t dtype) {
    int64_t slotOf = place.storage->isPersistent() ? 0 : slot;
    return rt::AccessAttr::get(
        builder.getContext(), offsetOf(*place.storage) + place.offset + offset,
        size, mode, bufferIndex.lookup({place.storage, slotOf}), dtype);
  }

  Attribute getWhole(Program &program, Value value, uint32_t mode) {
    auto type = cast<RankedTensorType>(value.getType());
    return getAccess(program.place(value), 0, getBytes(type), mode,
                     getDType(type.getElementType()));
  }

  void emitEntry(Program &program, Operation *op) {
    if (auto gemm = dyn_cast<rt::GemmOp>(op))
      return emitGemm(program, gemm);
    if (auto conv = dyn_cast<rt::Conv1dOp>(op))
      return emitConv1d(program, conv);
    if (auto reduce = dyn_cast<rt::AllReduceOp>(op))
      return emitAllReduce(program, reduce);
    if (auto send = dyn_cast<rt::SendOp>(op))
      return emitSend(program, send);
    if (auto receive = dyn_cast<rt::ReceiveOp>(op))
      return emitReceive(program, receive);
    if (auto shard = dyn_cast<rt::ShardOp>(op))
      return emitShards(program, shard, "rt.shard", shard.getRanks());
    if (auto gather = dyn_cast<rt::AllGatherOp>(op))
      return emitShards(program, gather, "rt.all_gather", gather.getRanks());
    if (auto scatter = dyn_cast<rt::ReduceScatterOp>(op))
      return emitReduceScatter(program, scatter);
    auto launch = cast<rt::LaunchOp>(op);
    SmallVector<Attribute> operands;
    for (auto [index, operand] : llvm::enumerate(launch.getOperands())) {
      bool tied = llvm::is_contained(launch.getTied(), int64_t(index));
      operands.push_back(
          getWhole(program, operand, tied ? TTS_READ_WRITE : TTS_READ));
    }
    for (OpResult result : launch->getResults())
      if (launch.getTied()[result.getResultNumber()] < 0)
        operands.push_back(getWhole(program, result, TTS_WRITE));
    create(launch.getLoc(), launch.getKernel(), operands, {});
  }

  void emitGemm(Program &program, rt::GemmOp gemm) {
    rt::GemmAttr s = gemm.getShape();
    auto typeOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getElementType();
    };
    Type element = typeOf(gemm.getA()), elementC = typeOf(gemm.getC());
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    int64_t bytesC = elementC.getIntOrFloatBitWidth() / 8;
    uint32_t dtype = getDType(element), dtypeC = getDType(elementC);
    // From the first element touched to the last.
    auto span = [&](int64_t rows, int64_t columns, int64_t ld, int64_t stride) {
      return (s.getBatch() - 1) * stride + (rows - 1) * ld + columns;
    };
    bool tA = s.getTransposeA(), tB = s.getTransposeB();
    SmallVector<Attribute> operands = {
        getAccess(program.place(gemm.getA()), gemm.getOffsetA() * bytes,
                  bytes * span(tA ? s.getK() : s.getM(),
                               tA ? s.getM() : s.getK(), s.getLda(),
                               s.getStrideA()),
                  TTS_READ, dtype),
        getAccess(program.place(gemm.getB()), gemm.getOffsetB() * bytes,
                  bytes * span(tB ? s.getN() : s.getK(),
                               tB ? s.getK() : s.getN(), s.getLdb(),
                               s.getStrideB()),
                  TTS_READ, dtype),
        getAccess(program.place(gemm.getC()), gemm.getOffsetC() * bytesC,
                  bytesC * span(s.getM(), s.getN(), s.getLdc(), s.getStrideC()),
                  s.getBeta() ? TTS_READ_WRITE : TTS_WRITE, dtypeC)};
    if (Value bias = gemm.getBias())
      operands.push_back(getWhole(program, bias, TTS_READ));
    int64_t scratch = addScratch(program, gemm, operands);
    create(gemm.getLoc(), "rt.gemm", operands,
           {int64_t(dtype), s.getM(), s.getN(), s.getK(), s.getLda(),
            s.getLdb(), s.getLdc(), s.getTransposeA(), s.getTransposeB(),
            s.getBeta(), s.getBatch(), s.getStrideA(), s.getStrideB(),
            s.getStrideC(), int64_t(dtypeC), bool(gemm.getBias()), scratch});
  }

  void emitConv1d(Program &program, rt::Conv1dOp conv) {
    auto x = cast<RankedTensorType>(conv.getX().getType());
    auto y = cast<RankedTensorType>(conv.getY().getType());
    auto w = cast<RankedTensorType>(conv.getW().getType());
    SmallVector<Attribute> operands = {
        getWhole(program, conv.getX(), TTS_READ),
        getWhole(program, conv.getW(), TTS_READ),
        getWhole(program, conv.getY(),
                 conv.getC() ? TTS_READ_WRITE : TTS_WRITE)};
    if (Value bias = conv.getBias())
      operands.push_back(getWhole(program, bias, TTS_READ));
    int64_t scratch = addScratch(program, conv, operands);
    create(conv.getLoc(), "rt.conv1d", operands,
           {getDType(x.getElementType()), x.getDimSize(0), x.getDimSize(1),
            x.getDimSize(2), y.getDimSize(2), w.getDimSize(0),
            int64_t(conv.getLeft()), conv.getTranspose(),
            getDType(y.getElementType()), bool(conv.getC()),
            bool(conv.getBias()), scratch});
  }

  void emitAllReduce(Program &program, rt::AllReduceOp reduce) {
    SmallVector<Attribute> operands;
    for (Value value : reduce.getValues())
      operands.push_back(getWhole(program, value, TTS_READ_WRITE));
    addScratch(program, reduce, operands);
    SmallVector<int64_t> scalars;
    if (auto among = reduce.getAmong())
      scalars.push_back(*among == "stages" ? TTS_AMONG_STAGES
                                           : TTS_AMONG_REPLICAS);
    create(reduce.getLoc(), "rt.all_reduce", operands, scalars);
  }

  void emitSend(Program &program, rt::SendOp send) {
    SmallVector<Attribute> operands = {
        getWhole(program, send.getValue(), TTS_READ)};
    addScratch(program, send, operands);
    create(send.getLoc(), "rt.send", operands,
           {int64_t(send.getStage()), int64_t(send.getChannel())});
  }

  void emitReceive(Program &program, rt::ReceiveOp receive) {
    create(receive.getLoc(), "rt.recv",
           {getWhole(program, receive.getValue(), TTS_WRITE)},
           {int64_t(receive.getStage()), int64_t(receive.getChannel())});
  }

  /// What is read, then what is made of it.
  void emitShards(Program &program, Operation *op, StringRef function,
                  uint64_t ranks) {
    SmallVector<Attribute> operands;
    for (Value value : op->getOperands())
      operands.push_back(getWhole(program, value, TTS_READ));
    for (Value value : op->getResults())
      operands.push_back(getWhole(program, value, TTS_WRITE));
    addScratch(program, op, operands);
    SmallVector<int64_t> scalars = {int64_t(ranks)};
    addAhead(op, scalars);
    create(op->getLoc(), function, operands, scalars);
  }

  void emitReduceScatter(Program &program, rt::ReduceScatterOp scatter) {
    SmallVector<Attribute> operands;
    for (Value value : scatter.getOperands())
      operands.push_back(getWhole(program, value, TTS_READ_WRITE));
    addScratch(program, scatter, operands);
    SmallVector<int64_t> scalars = {int64_t(scatter.getRanks()),
                                    !scatter.getAccumulators().empty()};
    addAhead(scatter, scalars);
    create(scatter.getLoc(), "rt.reduce_scatter", operands, scalars);
  }

  /// The last scalar of a collective beside which other entries run.
  void addAhead(Operation *op, SmallVectorImpl<int64_t> &scalars) {
    if (op->hasAttr(rt::kAheadAttr))
      scalars.push_back(1);
  }

  /// The bytes of scratch of a library call, which become its last operand;
  /// -1: no library serves it.
  int64_t addScratch(Program &program, Operation *op,
                     SmallVectorImpl<Attribute> &operands) {
    auto asked = op->getAttrOfType<IntegerAttr>(rt::kScratchAttr);
    int64_t scratch = asked ? asked.getInt() : 0;
    if (Storage *storage = program.scratch.lookup(op))
      operands.push_back(
          getAccess({storage, 0}, 0, scratch, TTS_WRITE, TTS_BYTES));
    return scratch;
  }

  void create(Location loc, StringRef function, ArrayRef<Attribute> operands,
              ArrayRef<int64_t> scalars) {
    rt::EntryOp::create(builder, loc, function, builder.getArrayAttr(operands),
                        builder.getDenseI64ArrayAttr(scalars), /*range=*/0,
                        getStableName(loc));
  }

  ModuleOp module;
  OpBuilder builder;
  MutableArrayRef<Program> programs;
  SmallVector<Attribute> buffers;
  llvm::DenseMap<std::pair<Storage *, int64_t>, uint32_t> bufferIndex;
  int64_t slotBytes;
  int64_t slot = 0; ///< whose programs and buffers are made
};
} // namespace

void memory::emitPrograms(ModuleOp module, MutableArrayRef<Program> programs,
                          StorageTable &table, const Layout &layout) {
  Builder builder(module.getContext());
  module->setAttr(rt::kArenaAttr, builder.getI64IntegerAttr(layout.arenaBytes));
  module->setAttr(rt::kPersistentAttr,
                  builder.getI64IntegerAttr(layout.persistentBytes));
  Emitter emitter(module, programs, layout.slotBytes);
  emitter.emitBuffers(table);
  for (Program &program : programs)
    emitter.emitProgram(program);
}
