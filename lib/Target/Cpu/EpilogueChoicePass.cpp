//===- EpilogueChoicePass.cpp - sums that the library's product does -----===//
//
// A group that is nothing but the sums behind one product needs no kernel: the
// library adds the bias and the result's old value with the same bits. It adds
// the bias in front of other kernels, too: so a product is the same primitive
// wherever it runs, forward or again in backward.
//
//===----------------------------------------------------------------------===//

#include "LibraryShapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Analysis/Epilogues.h"
#include "tts/Analysis/FusionGroups.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Target/Cpu/Passes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tts;

namespace tts::cpu {
#define GEN_PASS_DEF_EPILOGUECHOICEPASS
#include "tts/Target/Cpu/Passes.h.inc"
} // namespace tts::cpu

namespace {
/// Asks oneDNN once per shape what scratch a product with its sums wants; -1:
/// it has none that keeps to its scratch.
class Library {
public:
  Library(MLIRContext *context, int threads)
      : builder(context), threads(threads) {}

  int64_t ask(const Epilogue &epilogue) {
    if (auto conv = dyn_cast<Conv1dOp>(epilogue.product)) {
      if (conv->hasAttr(rt::kScratchAttr))
        return askConv1d(conv, epilogue);
      // With more taps, those after the first would add behind the bias.
      bool single =
          cast<RankedTensorType>(conv.getW().getType()).getDimSize(0) == 1;
      return single
                 ? askGemm(cpu::getRowsShape(conv.getX(), conv.getY(), false),
                           epilogue)
                 : -1;
    }
    auto linear = cast<LinearOp>(epilogue.product);
    return askGemm(
        cpu::getRowsShape(linear.getX(), linear.getY(), linear.getTranspose()),
        epilogue);
  }

private:
  int64_t askConv1d(Conv1dOp conv, const Epilogue &epilogue) {
    rt::Conv1dShape s = cpu::getConv1dShape(conv.getX(), conv.getY(),
                                            conv.getW(), conv.getLeft(), false);
    s.bias = bool(epilogue.bias);
    s.accumulate = bool(epilogue.residual);
    return remember(
        {s.batch, s.time, s.in, s.out, s.taps, s.left, s.bias, s.accumulate},
        [&] { return rt::conv1dScratchBytes(s, threads); });
  }

  int64_t askGemm(rt::GemmShape s, const Epilogue &epilogue) {
    s.bias = bool(epilogue.bias);
    s.accumulate = bool(epilogue.residual);
    return remember({s.m, s.n, s.k, s.transposeB, s.bias, s.accumulate},
                    [&] { return rt::gemmScratchBytes(s, threads); });
  }

  int64_t remember(ArrayRef<int64_t> shape, function_ref<int64_t()> ask) {
    auto [it, inserted] =
        known.try_emplace(builder.getDenseI64ArrayAttr(shape), 0);
    if (inserted)
      it->second = ask();
    return it->second;
  }

  Builder builder;
  int threads;
  llvm::DenseMap<Attribute, int64_t> known;
};

/// One program: its groups, and where each op will run.
class Chooser {
public:
  Chooser(Block &block, Library &library) : library(library) {
    for (const FusionGroup &group : computeFusionGroups(block))
      note(group);
  }

  int64_t run() {
    return llvm::count_if(found, [&](Epilogue &e) { return choose(e); });
  }

private:
  /// The group's ops run at its root, and so does a product whose sums are all
  /// of it.
  void note(const FusionGroup &group) {
    Operation *root = group.root();
    for (Operation *op : group.ops)
      runsAt[op] = root;
    std::optional<Epilogue> whole = matchEpilogue(root);
    if (whole && whole->ops.size() == group.ops.size())
      return note(*whole);
    // Of a fuller group the rest might be grouped anew.
    if (group.ops.size() < kMostGroupOps)
      for (Operation *op : group.ops)
        if (std::optional<Epilogue> part = matchEpilogue(op);
            part && !part->residual)
          note(*part);
  }

  void note(Epilogue epilogue) {
    Operation *last = epilogue.ops.back();
    if (!isReturnedOnceAtMost(last) || !isF32(last->getResult(0)) ||
        !llvm::all_of(epilogue.product->getOperands(), isF32))
      return;
    runsAt[epilogue.product] = runsAt[last] = last;
    found.push_back(std::move(epilogue));
  }

  /// Select lets an op run once for each time that its value is returned.
  static bool isReturnedOnceAtMost(Operation *op) {
    return llvm::count_if(op->getUses(), [](OpOperand &use) {
             return use.getOwner()->hasTrait<OpTrait::IsTerminator>();
           }) <= 1;
  }

  static bool isF32(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getElementType().isF32() && type.hasStaticShape();
  }

  bool choose(Epilogue &epilogue) {
    if (epilogue.residual && !diesAt(epilogue.residual, epilogue)) {
      if (!epilogue.bias)
        return false;
      epilogue.residual = {}; // a kernel adds it
      epilogue.ops.pop_back();
    }
    int64_t scratch = library.ask(epilogue);
    if (scratch < 0)
      return false;
    Operation *product = epilogue.product;
    Builder builder(product->getContext());
    if (product->hasAttr(rt::kScratchAttr))
      product->setAttr(rt::kScratchAttr, builder.getI64IntegerAttr(scratch));
    epilogue.ops.back()->setAttr(kEpilogueAttr, builder.getUnitAttr());
    return true;
  }

  /// Whether the sum may take over the bytes of `value`: an op of this program
  /// made it in bytes of its own, and whoever else reads it runs before.
  bool diesAt(Value value, const Epilogue &epilogue) const {
    Operation *maker = value.getDefiningOp(), *root = epilogue.ops.back();
    if (!maker || maker->hasTrait<Alias>() ||
        isa<InPlaceOpInterface, AccumulatingOpInterface>(maker))
      return false;
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (user == root)
        return true;
      if (user == epilogue.product || user->hasTrait<Alias>() ||
          user->hasTrait<Indexing>())
        return false;
      Operation *at = runsAt.lookup(user);
      return at && at->isBeforeInBlock(root);
    });
  }

  Library &library;
  SmallVector<Epilogue> found;
  llvm::DenseMap<Operation *, Operation *> runsAt;
};

struct EpilogueChoice : tts::cpu::impl::EpilogueChoicePassBase<EpilogueChoice> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(kUnfusedAttr))
      return;
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    Library library(&getContext(), plan ? plan.getThreads() : 1);
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(kProgramAttr))
        numChosen += Chooser(function.getBody().front(), library).run();
  }
};
} // namespace
